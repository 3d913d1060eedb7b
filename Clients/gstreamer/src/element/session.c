// SPDX-License-Identifier: MIT
// A session of an element, from its creation to its end, and the task that pushes its results.
#include "element/base.h"

static void set_flow(HwdBase *base, GstFlowReturn flow) {
    g_mutex_lock(&base->lock);
    if (base->flow == GST_FLOW_OK) base->flow = flow;
    g_mutex_unlock(&base->lock);
}

void hwd_base_fail(HwdBase *base, int status, const char *reason) {
    gchar *text = g_strdup(reason ? reason : hwd_last_error());
    g_mutex_lock(&base->lock);
    gboolean is_first = !base->has_failed;
    base->has_failed = TRUE;
    if (base->flow == GST_FLOW_OK) base->flow = GST_FLOW_ERROR;
    g_mutex_unlock(&base->lock);
    gboolean encodes = base->kind[0] == 'E';
    if (is_first && encodes) GST_ELEMENT_ERROR(base->element, STREAM, ENCODE, ("%s", text), ("%s", hwd_status_name(status)));
    if (is_first && !encodes) GST_ELEMENT_ERROR(base->element, STREAM, DECODE, ("%s", text), ("%s", hwd_status_name(status)));
    g_free(text);
}

GstFlowReturn hwd_base_lost(HwdBase *base, HwdStream *stream) {
    GstFlowReturn flow = hwd_base_flow(base);
    gchar *reason;
    if (flow != GST_FLOW_OK) return flow;
    if (hwd_stream_is_stopping(stream)) return GST_FLOW_FLUSHING;
    int end = hwd_stream_end(stream, &reason);
    hwd_base_fail(base, end, reason ? reason : "the session has ended");
    g_free(reason);
    return GST_FLOW_ERROR;
}

// Says that the session continued in another process, and why.
static void post_restart(HwdBase *base, HwdStream *stream) {
    enum { TIMEOUT = 2000 };
    gchar *reason = NULL;
    char *values;
    if (hwd_copy_properties(stream->session, "[\"Notices\"]", TIMEOUT, &values) == 0) {
        reason = hwd_json_find(values, "Notices");
        hwd_free(values);
    }
    hwd_session_info info;
    HWD_INIT(info);
    hwd_get_info(stream->session, &info);
    const char *codec = info.codec_id ? info.codec_id : "", *fallback = info.fallback_reason ? info.fallback_reason : "";
    const char *text = reason ? reason : "the session continued in another process";
    if (info.kind == HWD_DECOMPRESSION)
        GST_ELEMENT_WARNING(base->element, STREAM, DECODE, ("%s", text), ("%s%s%s", codec, *fallback ? ": " : "", fallback));
    else
        GST_ELEMENT_WARNING(base->element, STREAM, ENCODE, ("%s", text), ("%s%s%s", codec, *fallback ? ": " : "", fallback));
    g_free(reason);
}

// Passes one result on, in the task or in the receiving thread.
static void deliver(gpointer owner, HwdStream *stream, HwdItem *item) {
    HwdBase *base = owner;
    if (item->event.type == HWD_ITEM_RESTARTED) {
        post_restart(base, stream);
        return hwd_item_free(item);
    }
    gboolean is_last = item->event.type == HWD_EVENT_COMPLETED;
    GstFlowReturn flow = base->handle(base->element, stream, item);
    if (is_last) hwd_stream_completed(stream);
    if (flow == GST_FLOW_OK) return;
    GST_DEBUG_OBJECT(base->element, "downstream: %s", gst_flow_get_name(flow));
    set_flow(base, flow);
    // Nobody takes the results: the sender need not wait for them.
    hwd_stream_stop(stream);
    gst_pad_pause_task(base->source_pad);
}

// The task: one result, then it is called again.
static void push_next(gpointer data) {
    HwdBase *base = data;
    HwdStream *stream = hwd_base_stream(base);
    HwdItem *item = stream ? hwd_stream_next(stream) : NULL;
    if (item) {
        deliver(base, stream, item);
    } else {
        gst_pad_pause_task(base->source_pad);
        if (stream) hwd_base_lost(base, stream);
    }
    if (stream) hwd_stream_unref(stream);
}

// What the daemon says about a session that it serves otherwise than requested.
static void post_notices(HwdBase *base, HwdStream *stream) {
    // The receiving thread may change it already.
    g_mutex_lock(&stream->lock);
    const hwd_session_info info = stream->info;
    g_mutex_unlock(&stream->lock);
    const char *fallback = info.fallback_reason;
    if (fallback && g_strcmp0(fallback, base->fallback) != 0) {
        g_free(base->fallback);
        base->fallback = g_strdup(fallback);
        GST_ELEMENT_WARNING(base->element, LIBRARY, SETTINGS, ("%s in software: %s", base->kind[0] == 'E' ? "Encoding" : "Decoding", fallback),
                            ("%s", info.codec_id));
    }
    GST_INFO_OBJECT(base->element, "session %s of %s", info.session, info.codec_id);
}

void hwd_base_take_event(HwdBase *base, const GstEvent *event) {
    if (GST_EVENT_TYPE(event) != GST_EVENT_RECONFIGURE) return;
    g_mutex_lock(&base->lock);
    base->relinked = base->flow == GST_FLOW_NOT_LINKED;
    g_mutex_unlock(&base->lock);
}

gboolean hwd_base_is_relinked(HwdBase *base) {
    g_mutex_lock(&base->lock);
    gboolean relinked = base->relinked;
    g_mutex_unlock(&base->lock);
    return relinked;
}

void hwd_base_open(HwdBase *base, hwd_session *session, HwdConvert convert, guint max_items, guint max_pending) {
    HwdStream *stream = hwd_stream_new(session, convert, max_items, max_pending, base->is_direct ? deliver : NULL, base);
    stream->max_coding = base->max_coding;
    g_mutex_lock(&base->lock);
    base->stream = stream;
    base->flow = GST_FLOW_OK;
    base->has_failed = FALSE;
    base->relinked = FALSE;
    gboolean interrupted = base->interrupted;
    g_mutex_unlock(&base->lock);
    if (interrupted) hwd_stream_stop(stream);
    post_notices(base, stream);
    gst_pad_start_task(base->source_pad, push_next, base, NULL);
}

static void stop_stream(HwdBase *base) {
    HwdStream *stream = hwd_base_stream(base);
    if (!stream) return;
    hwd_stream_stop(stream);
    hwd_stream_unref(stream);
}

void hwd_base_interrupt(HwdBase *base) {
    g_mutex_lock(&base->lock);
    base->interrupted = TRUE;
    g_mutex_unlock(&base->lock);
    stop_stream(base);
}

void hwd_base_resume(HwdBase *base) {
    g_mutex_lock(&base->lock);
    base->interrupted = FALSE;
    g_mutex_unlock(&base->lock);
}

void hwd_base_close(HwdBase *base) {
    stop_stream(base);
    gst_pad_stop_task(base->source_pad);
    g_mutex_lock(&base->lock);
    HwdStream *stream = g_steal_pointer(&base->stream);
    g_mutex_unlock(&base->lock);
    if (!stream) return;
    hwd_stream_join(stream);
    hwd_stream_unref(stream);
}

void hwd_base_apply_changes(HwdBase *base, HwdStream *stream) {
    const char *late;
    gchar *changes = hwd_properties_take_changes(&base->properties, &late);
    if (late)
        GST_ELEMENT_WARNING(base->element, LIBRARY, SETTINGS, ("%s takes effect with the next session", late),
                            ("it can be set before the first frame"));
    if (!changes) return;
    int result = hwd_set_properties(stream->session, changes, HWD_DEFAULT_TIMEOUT);
    // Where the session has ended, its reason is posted as an error.
    if (result < 0 && !hwd_stream_end(stream, NULL))
        GST_ELEMENT_WARNING(base->element, LIBRARY, SETTINGS, ("%s", hwd_last_error()), ("%s: %s", hwd_status_name(result), changes));
    g_free(changes);
}

gboolean hwd_is_live(GstPad *sink_pad) {
    gboolean is_live = FALSE;
    GstQuery *query = gst_query_new_latency();
    if (gst_pad_peer_query(sink_pad, query)) gst_query_parse_latency(query, &is_live, NULL, NULL);
    gst_query_unref(query);
    return is_live;
}
