// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "video.h"

#include "CHWDPipeWire.h"
#include "video_formats.h"

#include <errno.h>
#include <fcntl.h>
#include <pipewire/pipewire.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Bytes of a plane at most: four of each sample.
#define MAX_BYTES (4u * MAX_SIDE * MAX_SIDE)
// Milliseconds between two looks whether frames come.
enum { PERIOD = 200 };

struct hwd_pw_video {
    struct pw_thread_loop *loop;
    struct pw_context *connection;
    struct pw_core *core;
    struct pw_stream *stream;
    struct spa_hook hook;
    struct spa_source *timer;
    // Held by the real-time thread for as long as a picture is copied, by others for a few instructions or the first picture.
    pthread_mutex_t lock;
    bool has_format, is_told, has_ended, is_started;
    // Whether it is a portal's screen or window.
    bool is_screen;
    hwd_pw_video_format format;
    hwd_pw_video_events events;
    // The newest buffer that came before the start.
    struct pw_buffer *held;
    // Milliseconds: those that end the stream, and those since the last frame.
    int silence, silent;
    uint64_t frames;
    char reason[256];
    bool failed;
};

static int64_t monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Ends the stream once; the lock is held.
static void end(hwd_pw_video *video, bool failed, const char *reason) {
    if (video->has_ended) return;
    video->has_ended = true;
    video->failed = failed;
    snprintf(video->reason, sizeof video->reason, "%s", reason);
    if (video->is_started) video->events.ended(video->events.context, failed, video->reason);
    video->is_started = false;
}

static void on_state(void *data, enum pw_stream_state before, enum pw_stream_state state, const char *error) {
    hwd_pw_video *video = data;
    pthread_mutex_lock(&video->lock);
    if (state == PW_STREAM_STATE_ERROR) {
        char text[200];
        snprintf(text, sizeof text, "PipeWire: %s", error ? error : "an error without a text");
        // A node that is removed while it is connected is no error of the recording.
        end(video, before != PW_STREAM_STATE_STREAMING, text);
    } else if (state == PW_STREAM_STATE_UNCONNECTED && before >= PW_STREAM_STATE_PAUSED) {
        end(video, false, "the PipeWire node was removed");
    }
    pthread_mutex_unlock(&video->lock);
}

static void on_param(void *data, uint32_t id, const struct spa_pod *pod) {
    hwd_pw_video *video = data;
    if (id != SPA_PARAM_Format || !pod) return;
    pthread_mutex_lock(&video->lock);
    const bool is_known = hwd_pw_video_read_format(pod, &video->format);
    video->has_format = is_known;
    video->is_told = false;
    if (!is_known) end(video, true, "the PipeWire node chose a format that cannot be recorded");
    pthread_mutex_unlock(&video->lock);
    if (!is_known) return;
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[] = {
        spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(8, 2, 16), SPA_PARAM_BUFFERS_dataType,
            SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd | 1 << SPA_DATA_MemPtr)),
        spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
            SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_header))),
    };
    pw_stream_update_params(video->stream, params, 2);
}

// The memory of a buffer, as the stream's user data.
struct memory {
    bool is_usable;
    // Where planes are copied whose memory another process could cut off meanwhile, which would end this one.
    uint8_t *copies[3];
};

// Whether a file is so long, and cannot be shortened.
static bool is_fixed(const struct spa_data *data) {
    struct stat status;
    const int seals = fcntl((int)data->fd, F_GET_SEALS);
    return seals >= 0 && seals & F_SEAL_SHRINK && fstat((int)data->fd, &status) == 0
        && (uint64_t)status.st_size >= (uint64_t)data->mapoffset + data->maxsize;
}

static void on_add_buffer(void *data, struct pw_buffer *buffer) {
    (void)data;
    struct memory *memory = calloc(1, sizeof *memory);
    buffer->user_data = memory;
    if (!memory) return;
    memory->is_usable = true;
    for (uint32_t i = 0; i < buffer->buffer->n_datas && i < 3; i++) {
        const struct spa_data *plane = &buffer->buffer->datas[i];
        if (plane->type != SPA_DATA_MemFd || plane->fd < 0 || is_fixed(plane)) continue;
        memory->copies[i] = plane->maxsize <= MAX_BYTES ? malloc(plane->maxsize) : NULL;
        memory->is_usable &= memory->copies[i] != NULL;
    }
}

static void free_memory(struct pw_buffer *buffer) {
    struct memory *memory = buffer->user_data;
    buffer->user_data = NULL;
    for (int i = 0; memory && i < 3; i++) free(memory->copies[i]);
    free(memory);
}

static void on_remove_buffer(void *data, struct pw_buffer *buffer) {
    hwd_pw_video *video = data;
    pthread_mutex_lock(&video->lock);
    if (video->held == buffer) video->held = NULL;
    free_memory(buffer);
    pthread_mutex_unlock(&video->lock);
}

// Whether a buffer has no picture, such as one that only moves a pointer. Chunks are in memory that another process can write.
static bool is_empty(const struct spa_buffer *content) {
    return content->n_datas == 0 || *(const volatile uint32_t *)&content->datas[0].chunk->size == 0;
}

// Finds a plane; false where its memory does not hold it.
static bool read_plane(const struct spa_data *data, const struct memory *memory, uint32_t index, hwd_pw_video_frame *frame) {
    // The chunk is read once.
    const struct spa_chunk *chunk = data->chunk;
    const uint32_t offset = *(const volatile uint32_t *)&chunk->offset, size = *(const volatile uint32_t *)&chunk->size;
    const int32_t stride = *(const volatile int32_t *)&chunk->stride, flags = *(const volatile int32_t *)&chunk->flags;
    if (flags & SPA_CHUNK_FLAG_CORRUPTED || !memory || !memory->is_usable || !data->data || stride < 0
        || offset > data->maxsize || size > data->maxsize - offset)
        return false;
    uint8_t *copy = memory->copies[index];
    if (copy && pread((int)data->fd, copy, size, (off_t)data->mapoffset + offset) != (ssize_t)size) return false;
    frame->data[index] = copy ? copy : (const uint8_t *)data->data + offset;
    frame->size[index] = size;
    frame->stride[index] = (uint32_t)stride;
    frame->count = (int)index + 1;
    return true;
}

// Delivers a buffer's picture, with a time of `oldest` at least; false for one that is not usable, and without a picture. The lock is
// held.
static bool deliver(hwd_pw_video *video, struct pw_buffer *buffer, int64_t oldest) {
    struct spa_buffer *content = buffer->buffer;
    hwd_pw_video_frame frame = {0};
    if (!is_empty(content))
        for (uint32_t i = 0; i < content->n_datas && i < 3 && !frame.is_damaged; i++)
            frame.is_damaged = !read_plane(&content->datas[i], buffer->user_data, i, &frame);
    const struct spa_meta_header *header = spa_buffer_find_meta_data(content, SPA_META_Header, sizeof *header);
    if (header) {
        frame.has_header = true;
        frame.sequence = *(const volatile uint64_t *)&header->seq;
        frame.time = *(const volatile int64_t *)&header->pts;
        frame.is_damaged |= (*(const volatile uint32_t *)&header->flags & SPA_META_HEADER_FLAG_CORRUPTED) != 0;
    } else {
        struct pw_time time = {0};
        if (pw_stream_get_time_n(video->stream, &time, sizeof time) == 0) frame.time = time.now;
    }
    if (frame.time < oldest) frame.time = oldest;
    if (!video->is_told) video->events.formatted(video->events.context, &video->format);
    video->is_told = true;
    return video->events.frame(video->events.context, &frame);
}

static void on_process(void *data) {
    hwd_pw_video *video = data;
    pthread_mutex_lock(&video->lock);
    // So many buffers a stream has at most; a source that sends without end does not hold this thread.
    for (int i = 0; i < 16; i++) {
        struct pw_buffer *buffer = pw_stream_dequeue_buffer(video->stream);
        if (!buffer) break;
        if (!video->is_started && !video->has_ended) {
            struct pw_buffer *other = video->held;
            if (other && is_empty(buffer->buffer)) other = buffer;
            else video->held = buffer;
            if (other) pw_stream_queue_buffer(video->stream, other);
            continue;
        }
        if (video->is_started && video->has_format && deliver(video, buffer, 0)) {
            video->silent = 0;
            video->frames++;
        }
        pw_stream_queue_buffer(video->stream, buffer);
    }
    pthread_mutex_unlock(&video->lock);
}

static void on_timer(void *data, uint64_t count) {
    (void)count;
    hwd_pw_video *video = data;
    pthread_mutex_lock(&video->lock);
    // By calls, not by the clock: while this process was stopped, nobody could take a frame.
    if (video->silent <= video->silence) video->silent += PERIOD;
    // Where frames come only when something changes, silence behind the first is none.
    const bool must_come = video->format.rate > 0 || video->frames == 0;
    if (video->is_started && must_come && video->silent > video->silence) {
        char text[160];
        snprintf(text, sizeof text, "the %s sent no picture for %d s%s", video->is_screen ? "screen or window" : "PipeWire node",
                 video->silence / 1000, video->is_screen ? ": the first comes when something changes, so move something in it" : "");
        end(video, true, text);
    }
    pthread_mutex_unlock(&video->lock);
}

// Connects with the loop's lock; 0 or a negative errno. The connection takes `fd`.
static int connect_stream(
    hwd_pw_video *video, int fd, uint64_t serial, uint32_t id, const hwd_pw_video_request *request) {
    static const struct pw_stream_events events = {
        PW_VERSION_STREAM_EVENTS,
        .state_changed = on_state,
        .param_changed = on_param,
        .add_buffer = on_add_buffer,
        .remove_buffer = on_remove_buffer,
        .process = on_process,
    };
    video->core = fd >= 0 ? pw_context_connect_fd(video->connection, fd, NULL, 0)
                          : pw_context_connect(video->connection, NULL, 0);
    if (!video->core) return -EHOSTDOWN;
    struct pw_properties *properties = pw_properties_new(
        PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CATEGORY, "Capture", PW_KEY_MEDIA_ROLE, fd < 0 ? "Camera" : "Screen",
        PW_KEY_NODE_DONT_RECONNECT, "true", NULL);
    if (fd < 0) pw_properties_setf(properties, PW_KEY_TARGET_OBJECT, "%llu", (unsigned long long)serial);
    video->stream = pw_stream_new(video->core, "hwctl capture", properties);
    if (!video->stream) return -ENOMEM;
    pw_stream_add_listener(video->stream, &video->hook, &events, video);
    uint8_t memory[16384];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[MAX_OFFERS];
    const uint32_t count = hwd_pw_video_offers(&builder, request, params);
    return pw_stream_connect(
        video->stream, PW_DIRECTION_INPUT, fd < 0 ? PW_ID_ANY : id,
        PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_RT_PROCESS | PW_STREAM_FLAG_DONT_RECONNECT,
        params, count);
}

hwd_pw_video *hwd_pw_video_open(int fd, uint64_t serial, uint32_t id, hwd_pw_video_request request, int *error) {
    *error = ENOMEM;
    hwd_pw_video *video = calloc(1, sizeof *video);
    if (!video || !hwd_pipewire_prepare()) {
        free(video);
        if (fd >= 0) close(fd);
        return NULL;
    }
    // The main thread may not hold up the real-time thread for longer than it needs.
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    // A call may stop the stream.
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&video->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    video->loop = pw_thread_loop_new("pipewire-video", NULL);
    if (video->loop) {
        struct pw_loop *loop = pw_thread_loop_get_loop(video->loop);
        // Its data thread is a real-time thread, where the machine allows that.
        video->connection = pw_context_new(loop, pw_properties_new(PW_KEY_CONFIG_NAME, "client-rt.conf", NULL), 0);
        if (!video->connection) video->connection = pw_context_new(loop, NULL, 0);
        video->timer = pw_loop_add_timer(loop, on_timer, video);
    }
    if (!video->connection || !video->timer || pw_thread_loop_start(video->loop) < 0) {
        if (fd >= 0) close(fd);
        hwd_pw_video_close(video);
        return NULL;
    }
    video->is_screen = fd >= 0;
    pw_thread_loop_lock(video->loop);
    const int result = connect_stream(video, fd, serial, id, &request);
    struct timespec period = {0, PERIOD * 1000000};
    pw_loop_update_timer(pw_thread_loop_get_loop(video->loop), video->timer, &period, &period, false);
    pw_thread_loop_unlock(video->loop);
    if (result >= 0) return video;
    *error = -result;
    hwd_pw_video_close(video);
    return NULL;
}

int hwd_pw_video_wait(hwd_pw_video *video, int milliseconds, hwd_pw_video_format *format) {
    const int64_t limit = monotonic() + milliseconds * 1000000LL;
    for (;;) {
        pthread_mutex_lock(&video->lock);
        const bool has_format = video->has_format, has_ended = video->has_ended;
        *format = video->format;
        pthread_mutex_unlock(&video->lock);
        if (has_ended) return -ECONNRESET;
        if (has_format) return 0;
        if (monotonic() >= limit) return -ETIMEDOUT;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

void hwd_pw_video_start(hwd_pw_video *video, hwd_pw_video_events events, int silence) {
    pthread_mutex_lock(&video->lock);
    video->events = events;
    video->silence = silence;
    video->silent = 0;
    video->frames = 0;
    video->is_told = false;
    if (video->has_ended) {
        events.ended(events.context, video->failed, video->reason);
    } else {
        video->is_started = true;
        if (video->held) {
            // A screen may have sent it long before the recording; a camera sent it within its last period.
            const hwd_pw_video_format *format = &video->format;
            const int64_t oldest = monotonic() - (format->rate ? 1000000000LL * format->per / format->rate : 0);
            if (video->has_format && deliver(video, video->held, oldest)) video->frames++;
            pw_stream_queue_buffer(video->stream, video->held);
            video->held = NULL;
        }
    }
    pthread_mutex_unlock(&video->lock);
}

void hwd_pw_video_stop(hwd_pw_video *video) {
    pthread_mutex_lock(&video->lock);
    video->is_started = false;
    pthread_mutex_unlock(&video->lock);
}

void hwd_pw_video_end(hwd_pw_video *video, const char *reason) {
    pthread_mutex_lock(&video->lock);
    end(video, false, reason);
    pthread_mutex_unlock(&video->lock);
}

void hwd_pw_video_close(hwd_pw_video *video) {
    if (!video) return;
    if (video->loop) pw_thread_loop_lock(video->loop);
    if (video->stream) pw_stream_destroy(video->stream);
    if (video->core) pw_core_disconnect(video->core);
    if (video->timer) pw_loop_destroy_source(pw_thread_loop_get_loop(video->loop), video->timer);
    if (video->loop) {
        pw_thread_loop_unlock(video->loop);
        pw_thread_loop_stop(video->loop);
    }
    if (video->connection) pw_context_destroy(video->connection);
    if (video->loop) pw_thread_loop_destroy(video->loop);
    pthread_mutex_destroy(&video->lock);
    free(video);
}
