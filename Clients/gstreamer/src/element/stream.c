// SPDX-License-Identifier: MIT
#include "element/stream.h"

#include "element/base.h"

#include <errno.h>

// A frame or packet that was sent and has not come back.
typedef struct Flight {
    guint32 frame;
    gboolean has_result, is_released;
    GstBuffer *input;
} Flight;

static void free_flight(gpointer freed) {
    Flight *flight = freed;
    gst_clear_buffer(&flight->input);
    g_free(flight);
}

HwdStream *hwd_stream_ref(HwdStream *stream) {
    g_atomic_int_inc(&stream->references);
    return stream;
}

void hwd_stream_unref(HwdStream *stream) {
    if (!g_atomic_int_dec_and_test(&stream->references)) return;
    hwd_destroy(stream->session);
    g_queue_clear_full(&stream->items, (GDestroyNotify)hwd_item_free);
    g_hash_table_destroy(stream->flights);
    g_mutex_clear(&stream->lock);
    g_cond_clear(&stream->changed);
    g_cond_clear(&stream->arrived);
    g_free(stream->reason);
    g_free(stream);
}

// ---- The receiving thread

// The flight that an event is of. The number of one that was just sent is known once its call has returned.
static Flight *find_flight(HwdStream *stream, guint64 number) {
    while (number > stream->last_number && stream->sending && !stream->stopping) g_cond_wait(&stream->changed, &stream->lock);
    return g_hash_table_lookup(stream->flights, &number);
}

static void forget_flight(HwdStream *stream, guint64 number, Flight *flight) {
    if (flight->has_result && flight->is_released) g_hash_table_remove(stream->flights, &number);
}

// Which codec frame a result belongs to; the last result of a frame ends its flight.
static guint32 take_frame(HwdStream *stream, const hwd_event *event) {
    guint32 frame = HWD_NO_FRAME;
    gboolean is_last = event->type != HWD_EVENT_REPORT || event->flags & HWD_DROPPED;
    Flight *flight = find_flight(stream, event->number);
    if (!flight) return frame;
    frame = flight->frame;
    if (!is_last || flight->has_result) return frame;
    flight->has_result = TRUE;
    stream->received++;
    if (stream->received > stream->repeated) stream->delay = MAX(stream->delay, (guint)(stream->sent - stream->received));
    forget_flight(stream, event->number, flight);
    return frame;
}

static void release_input(HwdStream *stream, guint64 number) {
    g_mutex_lock(&stream->lock);
    Flight *flight = find_flight(stream, number);
    GstBuffer *input = flight ? g_steal_pointer(&flight->input) : NULL;
    if (flight) {
        flight->is_released = TRUE;
        forget_flight(stream, number, flight);
    }
    g_mutex_unlock(&stream->lock);
    // Outside of the lock: the buffer's pool may wake another thread.
    if (input) gst_buffer_unref(input);
}

static void add_item(HwdStream *stream, HwdItem *item) {
    g_queue_push_tail(&stream->items, item);
    g_cond_signal(&stream->arrived);
    g_cond_broadcast(&stream->changed);
}

// Without waking the task, which takes as long as to encode a tenth of a small picture.
static void deliver(HwdStream *stream, HwdItem *item) {
    enum { SLOW_US = 2000 };
    gint64 start = g_get_monotonic_time();
    stream->deliver(stream->owner, stream, item);
    g_mutex_lock(&stream->lock);
    stream->handling = FALSE;
    // A sink that waits for its clock, or a network, would keep this thread from the worker's messages.
    if (g_get_monotonic_time() - start > SLOW_US) stream->deliver = NULL;
    g_cond_broadcast(&stream->changed);
    g_mutex_unlock(&stream->lock);
}

static void receive(HwdStream *stream, const hwd_event *event) {
    HwdItem *item = hwd_item_new(event);
    gboolean is_kept = stream->convert(stream, event, item);
    g_mutex_lock(&stream->lock);
    if (event->type == HWD_EVENT_PACKET || event->type == HWD_EVENT_PICTURE || event->type == HWD_EVENT_REPORT)
        item->frame = take_frame(stream, event);
    gboolean is_direct = stream->deliver && g_queue_is_empty(&stream->items) && !stream->handling && !stream->stopping;
    if (is_direct) stream->handling = TRUE;
    else add_item(stream, item);
    g_mutex_unlock(&stream->lock);
    if (is_direct) deliver(stream, item);
    // Last: the worker that wakes for it would run before the task.
    if (!is_kept && event->id && hwd_release(stream->session, event) < 0) GST_WARNING("memory is not given back: %s", hwd_last_error());
}

// Whether the session continued in another process, which the task then says.
static void look_for_restart(HwdStream *stream) {
    hwd_session_info info;
    HWD_INIT(info);
    if (hwd_get_info(stream->session, &info) < 0 || info.restart_count == stream->info.restart_count) return;
    hwd_event event = {.type = HWD_ITEM_RESTARTED};
    g_mutex_lock(&stream->lock);
    stream->info = info;
    stream->repeated = stream->sent;
    add_item(stream, hwd_item_new(&event));
    g_mutex_unlock(&stream->lock);
}

static gpointer receive_all(gpointer data) {
    HwdStream *stream = data;
    hwd_event event;
    HWD_INIT(event);
    int result;
    while ((result = hwd_next_event(stream->session, &event, HWD_DEFAULT_TIMEOUT)) >= 0) {
        look_for_restart(stream);
        if (result > 0 && event.type == HWD_EVENT_FRAME_RELEASED) release_input(stream, event.number);
        else if (result > 0) receive(stream, &event);
    }
    g_mutex_lock(&stream->lock);
    if (!stream->end) {
        stream->end = result;
        stream->reason = g_strdup(hwd_last_error());
    }
    GST_DEBUG("the session has ended: %s", stream->reason);
    // The worker is gone: it reads nothing any more.
    g_hash_table_remove_all(stream->flights);
    g_cond_signal(&stream->arrived);
    g_cond_broadcast(&stream->changed);
    g_mutex_unlock(&stream->lock);
    hwd_stream_unref(stream);
    return NULL;
}

HwdStream *hwd_stream_new(
    hwd_session *session, HwdConvert convert, guint max_items, guint max_pending, HwdDeliver deliver, gpointer owner) {
    HwdStream *stream = g_new0(HwdStream, 1);
    stream->references = 1;
    stream->session = session;
    stream->convert = convert;
    stream->max_items = max_items;
    stream->max_pending = max_pending;
    stream->deliver = deliver;
    stream->owner = owner;
    g_mutex_init(&stream->lock);
    g_cond_init(&stream->changed);
    g_cond_init(&stream->arrived);
    g_queue_init(&stream->items);
    stream->flights = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_flight);
    HWD_INIT(stream->info);
    hwd_get_info(session, &stream->info);
    stream->receiver = g_thread_new("hwdaemon", receive_all, hwd_stream_ref(stream));
    return stream;
}

void hwd_stream_stop(HwdStream *stream) {
    g_mutex_lock(&stream->lock);
    stream->stopping = TRUE;
    g_cond_signal(&stream->arrived);
    g_cond_broadcast(&stream->changed);
    g_mutex_unlock(&stream->lock);
    hwd_invalidate(stream->session);
}

void hwd_stream_join(HwdStream *stream) {
    if (stream->receiver) g_thread_join(g_steal_pointer(&stream->receiver));
}

// ---- Pictures that elements hold

gboolean hwd_stream_hold(HwdStream *stream) {
    // The decoder works on while elements hold pictures. An encoder gives them back within its time for a frame; a queue, or a
    // pipeline that is paused, does not.
    enum { SPARE = 3, WAIT_MS = 200 };
    gint64 deadline = g_get_monotonic_time() + WAIT_MS * G_TIME_SPAN_MILLISECOND;
    g_mutex_lock(&stream->lock);
    while (stream->held + SPARE >= stream->info.max_frames_in_flight && !stream->holds_long && !stream->stopping)
        if (!g_cond_wait_until(&stream->changed, &stream->lock, deadline)) stream->holds_long = TRUE;
    gboolean is_spare = stream->held + SPARE < stream->info.max_frames_in_flight;
    if (is_spare) stream->held++;
    g_mutex_unlock(&stream->lock);
    return is_spare;
}

void hwd_stream_give_back(HwdStream *stream, const hwd_event *event) {
    if (hwd_release(stream->session, event) < 0) GST_WARNING("a picture is not given back: %s", hwd_last_error());
    g_mutex_lock(&stream->lock);
    stream->held--;
    stream->holds_long = FALSE;
    g_cond_broadcast(&stream->changed);
    g_mutex_unlock(&stream->lock);
}

// ---- The sender and the task

static gboolean is_full(HwdStream *stream) {
    guint waiting = g_queue_get_length(&stream->items);
    return waiting >= stream->max_items || (waiting > 0 && stream->sent - stream->received >= stream->max_pending);
}

// Whether the encoder of a live pipeline is at work. What comes meanwhile waits in front of the element, where it can be dropped.
static gboolean is_coding(const HwdStream *stream) {
    return stream->max_coding > 0 && stream->sent - stream->received >= stream->max_coding;
}

gboolean hwd_stream_wait_room(HwdStream *stream) {
    enum { WAIT_MS = 1000 };
    gint64 deadline = g_get_monotonic_time() + WAIT_MS * G_TIME_SPAN_MILLISECOND;
    g_mutex_lock(&stream->lock);
    // An encoder that has no result for so long may hold frames until it has more.
    while (!stream->stopping && !stream->end && is_coding(stream))
        if (!g_cond_wait_until(&stream->changed, &stream->lock, deadline)) stream->max_coding = 0;
    // The task fetches what waits, so the wait ends. Where nothing waits, the next result may need more frames.
    while (!stream->stopping && !stream->end && is_full(stream)) g_cond_wait(&stream->changed, &stream->lock);
    gboolean is_open = !stream->stopping && !stream->end;
    g_mutex_unlock(&stream->lock);
    return is_open;
}

void hwd_stream_begin(HwdStream *stream) {
    g_mutex_lock(&stream->lock);
    stream->sending = TRUE;
    g_mutex_unlock(&stream->lock);
}

void hwd_stream_sent(HwdStream *stream, guint64 number, guint32 frame, GstBuffer *input) {
    g_mutex_lock(&stream->lock);
    stream->sending = FALSE;
    if (number && !stream->end) {
        Flight *flight = g_new0(Flight, 1);
        flight->frame = frame;
        flight->is_released = !input;
        flight->input = input ? gst_buffer_ref(input) : NULL;
        g_hash_table_insert(stream->flights, g_memdup2(&number, sizeof number), flight);
        stream->sent++;
        stream->last_number = number;
    }
    g_cond_broadcast(&stream->changed);
    g_mutex_unlock(&stream->lock);
}

// Whether nothing is left of a session that has ended.
static gboolean is_empty(const HwdStream *stream) { return stream->end && g_queue_is_empty((GQueue *)&stream->items) && !stream->handling; }

// The worker is silent, and it is not downstream that everything waits for.
static void give_up(HwdStream *stream) {
    stream->end = -ETIMEDOUT;
    g_free(stream->reason);
    stream->reason = g_strdup("the session did not return its frames in time");
    g_cond_signal(&stream->arrived);
    g_cond_broadcast(&stream->changed);
}

gboolean hwd_stream_complete(HwdStream *stream) {
    enum { SILENCE_S = 60 };
    g_mutex_lock(&stream->lock);
    stream->completed = FALSE;
    g_mutex_unlock(&stream->lock);
    // Where it fails, the session has ended or ends: what has come is pushed all the same.
    gboolean requested = hwd_complete(stream->session, HWD_ALL_FRAMES, HWD_DEFAULT_TIMEOUT) == 0;
    g_mutex_lock(&stream->lock);
    guint64 received = stream->received;
    gint64 deadline = g_get_monotonic_time() + SILENCE_S * G_TIME_SPAN_SECOND;
    while (!stream->completed && !stream->stopping && !is_empty(stream)) {
        gboolean in_time = g_cond_wait_until(&stream->changed, &stream->lock, deadline);
        gboolean is_busy = received != stream->received || stream->handling || !g_queue_is_empty(&stream->items);
        if (!in_time && !is_busy) give_up(stream);
        if (!in_time || is_busy) deadline = g_get_monotonic_time() + SILENCE_S * G_TIME_SPAN_SECOND;
        received = stream->received;
    }
    gboolean completed = requested && stream->completed;
    g_mutex_unlock(&stream->lock);
    return completed;
}

gboolean hwd_stream_is_stopping(HwdStream *stream) {
    g_mutex_lock(&stream->lock);
    gboolean stopping = stream->stopping;
    g_mutex_unlock(&stream->lock);
    return stopping;
}

int hwd_stream_end(HwdStream *stream, gchar **reason) {
    g_mutex_lock(&stream->lock);
    int end = stream->end;
    if (reason) *reason = g_strdup(stream->reason);
    g_mutex_unlock(&stream->lock);
    return end;
}

guint hwd_stream_delay(HwdStream *stream) {
    g_mutex_lock(&stream->lock);
    guint delay = stream->delay;
    g_mutex_unlock(&stream->lock);
    return delay;
}

void hwd_stream_completed(HwdStream *stream) {
    g_mutex_lock(&stream->lock);
    stream->completed = TRUE;
    g_cond_broadcast(&stream->changed);
    g_mutex_unlock(&stream->lock);
}

HwdItem *hwd_stream_next(HwdStream *stream) {
    g_mutex_lock(&stream->lock);
    stream->handling = FALSE;
    g_cond_broadcast(&stream->changed);
    while (!stream->stopping && !stream->end && g_queue_is_empty(&stream->items)) g_cond_wait(&stream->arrived, &stream->lock);
    HwdItem *item = stream->stopping ? NULL : g_queue_pop_head(&stream->items);
    stream->handling = item != NULL;
    g_cond_broadcast(&stream->changed);
    g_mutex_unlock(&stream->lock);
    return item;
}
