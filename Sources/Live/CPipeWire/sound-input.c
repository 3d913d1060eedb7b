// SPDX-License-Identifier: GPL-2.0-or-later
#include "sound-input.h"

#include "CHWDPipeWire.h"
#include <errno.h>
#include <poll.h>
#include <pipewire/pipewire.h>
#include <spa/param/audio/format-utils.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = HWD_SOUND_INPUT_CHANNELS * sizeof(float), RING = 1 << 21, BUFFERS = 16, CONNECT_SECONDS = 5, LIST_SECONDS = 2 };
static const int64_t second = 1000000000;

struct hwd_sound_input {
    struct pw_thread_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct pw_stream *stream;
    struct spa_hook core_hook, stream_hook;
    int event;
    // What PipeWire's real-time thread has written and the reader has read, in bytes since the start; records of a
    // hwd_sound_buffer and its samples.
    uint8_t *ring;
    _Atomic uint64_t written, read;
    atomic_bool has_ended;
    // Under the loop's lock.
    bool is_streaming;
    char reason[256];
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * second + time.tv_nsec;
}

// MARK: - The ring

static void put(hwd_sound_input *input, uint64_t at, const void *bytes, size_t size) {
    size_t offset = at % RING, first = size < RING - offset ? size : RING - offset;
    memcpy(input->ring + offset, bytes, first);
    memcpy(input->ring, (const uint8_t *)bytes + first, size - first);
}

static void get(hwd_sound_input *input, uint64_t at, void *bytes, size_t size) {
    size_t offset = at % RING, first = size < RING - offset ? size : RING - offset;
    memcpy(bytes, input->ring + offset, first);
    memcpy((uint8_t *)bytes + first, input->ring, size - first);
}

// Where there is no room, the buffer is lost, and its time shows it.
static void append(hwd_sound_input *input, const hwd_sound_buffer *buffer, const void *samples) {
    uint64_t at = atomic_load_explicit(&input->written, memory_order_relaxed);
    size_t size = sizeof *buffer + (size_t)buffer->frames * FRAME;
    if (at + size - atomic_load_explicit(&input->read, memory_order_acquire) > RING) return;
    put(input, at, buffer, sizeof *buffer);
    put(input, at + sizeof *buffer, samples, size - sizeof *buffer);
    atomic_store_explicit(&input->written, at + size, memory_order_release);
    eventfd_write(input->event, 1);
}

int hwd_sound_input_read(hwd_sound_input *input, float *samples, hwd_sound_buffer *buffer, int milliseconds) {
    for (bool has_waited = false;; has_waited = true) {
        bool has_ended = atomic_load(&input->has_ended);
        uint64_t at = atomic_load_explicit(&input->read, memory_order_relaxed);
        if (at != atomic_load_explicit(&input->written, memory_order_acquire)) {
            get(input, at, buffer, sizeof *buffer);
            get(input, at + sizeof *buffer, samples, (size_t)buffer->frames * FRAME);
            atomic_store_explicit(
                &input->read, at + sizeof *buffer + (uint64_t)buffer->frames * FRAME, memory_order_release);
            return 1;
        }
        if (has_ended) return -1;
        if (has_waited) return 0;
        struct pollfd event = {.fd = input->event, .events = POLLIN};
        eventfd_t count;
        if (poll(&event, 1, milliseconds) > 0) eventfd_read(input->event, &count);
    }
}

// MARK: - The stream

static void end(hwd_sound_input *input, const char *reason) {
    if (!input->reason[0]) snprintf(input->reason, sizeof input->reason, "%s", reason);
    atomic_store(&input->has_ended, true);
    eventfd_write(input->event, 1);
    pw_thread_loop_signal(input->loop, false);
}

// Frames of a buffer whose memory holds what its chunk says.
static uint32_t frames(const struct pw_buffer *buffer, const void **samples) {
    if (buffer->buffer->n_datas < 1) return 0;
    const struct spa_data *data = &buffer->buffer->datas[0];
    // Another process can write the chunk meanwhile: it is read once.
    const volatile struct spa_chunk *chunk = data->chunk;
    if (!data->data || !chunk || chunk->flags & SPA_CHUNK_FLAG_CORRUPTED) return 0;
    uint32_t offset = chunk->offset, size = chunk->size;
    if (offset > data->maxsize || size > data->maxsize - offset) return 0;
    *samples = SPA_PTROFF(data->data, offset, void);
    uint32_t count = size / FRAME;
    return count < HWD_SOUND_INPUT_FRAMES ? count : HWD_SOUND_INPUT_FRAMES;
}

static void process(void *context) {
    hwd_sound_input *input = context;
    int64_t arrival = now();
    struct pw_time time = {0};
    bool is_exact = pw_stream_get_time_n(input->stream, &time, sizeof time) >= 0 && time.now > 0;
    // A driver without a clock of its own leaves another one's time, or none.
    is_exact = is_exact && time.now <= arrival + second / 10 && time.now >= arrival - second;
    int64_t last = is_exact ? time.now : arrival;
    if (time.rate.denom > 0 && time.delay > 0) {
        double delay = (double)time.delay * time.rate.num / time.rate.denom;
        if (delay < 5) last -= (int64_t)(delay * (double)second);
    }
    struct pw_buffer *buffers[BUFFERS];
    int count = 0;
    while (count < BUFFERS && (buffers[count] = pw_stream_dequeue_buffer(input->stream))) count++;
    // The last one has just been recorded, and ends after the others.
    int64_t ends[BUFFERS];
    const void *samples[BUFFERS];
    uint32_t sizes[BUFFERS];
    for (int i = count - 1; i >= 0; i--) {
        ends[i] = last;
        sizes[i] = frames(buffers[i], &samples[i]);
        last -= sizes[i] * second / HWD_SOUND_INPUT_RATE;
    }
    for (int i = 0; i < count; i++) {
        hwd_sound_buffer buffer = {.frames = sizes[i], .is_exact = is_exact};
        buffer.time = ends[i] - sizes[i] * second / HWD_SOUND_INPUT_RATE;
        if (sizes[i] > 0) append(input, &buffer, samples[i]);
        pw_stream_queue_buffer(input->stream, buffers[i]);
    }
}

static void changed(void *context, enum pw_stream_state from, enum pw_stream_state to, const char *error) {
    hwd_sound_input *input = context;
    switch (to) {
    case PW_STREAM_STATE_STREAMING: input->is_streaming = true; break;
    case PW_STREAM_STATE_ERROR: end(input, error && error[0] ? error : "PipeWire ended the stream"); break;
    case PW_STREAM_STATE_UNCONNECTED:
        if (from != PW_STREAM_STATE_UNCONNECTED) end(input, "the sound's node went away");
        break;
    default: break;
    }
    pw_thread_loop_signal(input->loop, false);
}

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS, .state_changed = changed, .process = process};

static void failed(void *context, uint32_t id, int sequence, int code, const char *message) {
    (void)sequence;
    (void)message;
    if (id == PW_ID_CORE && code == -EPIPE) end(context, "PipeWire went away");
}

static const struct pw_core_events core_events = {PW_VERSION_CORE_EVENTS, .error = failed};

hwd_sound_input *hwd_sound_input_create(void) {
    if (!hwd_pipewire_prepare()) return NULL;
    hwd_sound_input *input = calloc(1, sizeof *input);
    if (!input) return NULL;
    input->ring = malloc(RING);
    input->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    input->loop = pw_thread_loop_new("hwd-sound-input", NULL);
    if (input->ring && input->event >= 0 && input->loop) {
        // Pages that are there before the real-time thread writes.
        memset(input->ring, 0, RING);
        return input;
    }
    hwd_sound_input_destroy(input);
    return NULL;
}

void hwd_sound_input_destroy(hwd_sound_input *input) {
    if (!input) return;
    hwd_sound_input_stop(input);
    if (input->loop) pw_thread_loop_destroy(input->loop);
    if (input->event >= 0) close(input->event);
    free(input->ring);
    free(input);
}

static struct pw_context *connect_context(struct pw_loop *loop) {
    // Real-time threads for the graph's data; the file is in a package that the library does not need.
    struct pw_context *context =
        pw_context_new(loop, pw_properties_new(PW_KEY_CONFIG_NAME, "client-rt.conf", NULL), 0);
    return context ? context : pw_context_new(loop, NULL, 0);
}

// With the loop's lock.
static int open_stream(hwd_sound_input *input, const char *node, bool is_monitor) {
    input->context = connect_context(pw_thread_loop_get_loop(input->loop));
    if (!input->context) return errno ? errno : ENOMEM;
    input->core = pw_context_connect(input->context, NULL, 0);
    if (!input->core) return errno ? errno : ECONNREFUSED;
    pw_core_add_listener(input->core, &input->core_hook, &core_events, input);
    struct pw_properties *properties = pw_properties_new(
        PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_CATEGORY, "Capture", PW_KEY_MEDIA_ROLE, "Production",
        PW_KEY_NODE_NAME, "hwctl-capture", PW_KEY_NODE_DESCRIPTION, "hwctl capture", PW_KEY_NODE_LATENCY, "1024/48000",
        NULL);
    if (!properties) return ENOMEM;
    if (node) pw_properties_set(properties, PW_KEY_TARGET_OBJECT, node);
    if (is_monitor) pw_properties_set(properties, PW_KEY_STREAM_CAPTURE_SINK, "true");
    input->stream = pw_stream_new(input->core, "hwctl-capture", properties);
    if (!input->stream) return errno ? errno : ENOMEM;
    pw_stream_add_listener(input->stream, &input->stream_hook, &stream_events, input);
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    struct spa_audio_info_raw format = {
        .format = SPA_AUDIO_FORMAT_F32, .rate = HWD_SOUND_INPUT_RATE, .channels = HWD_SOUND_INPUT_CHANNELS,
        .position = {SPA_AUDIO_CHANNEL_FL, SPA_AUDIO_CHANNEL_FR}};
    const struct spa_pod *parameters = spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, &format);
    // A node of a name is that one: another one in its stead would be recorded without a word.
    enum pw_stream_flags flags = PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_RT_PROCESS
        | (node ? PW_STREAM_FLAG_DONT_RECONNECT : 0);
    int code = pw_stream_connect(input->stream, PW_DIRECTION_INPUT, PW_ID_ANY, flags, &parameters, 1);
    return code < 0 ? -code : 0;
}

int hwd_sound_input_connect(hwd_sound_input *input, const char *node, bool is_monitor) {
    int code = pw_thread_loop_start(input->loop);
    if (code < 0) return -code;
    pw_thread_loop_lock(input->loop);
    errno = 0;
    code = open_stream(input, node, is_monitor);
    struct timespec limit;
    pw_thread_loop_get_time(input->loop, &limit, CONNECT_SECONDS * second);
    while (code == 0 && !input->is_streaming && !atomic_load(&input->has_ended)) {
        if (pw_thread_loop_timed_wait_full(input->loop, &limit) < 0) code = ETIMEDOUT;
    }
    if (code == 0 && !input->is_streaming) code = ENODEV;
    pw_thread_loop_unlock(input->loop);
    return code;
}

void hwd_sound_input_stop(hwd_sound_input *input) {
    if (input->loop) pw_thread_loop_lock(input->loop);
    if (input->stream) {
        spa_hook_remove(&input->stream_hook);
        pw_stream_destroy(input->stream);
    }
    if (input->core) {
        spa_hook_remove(&input->core_hook);
        pw_core_disconnect(input->core);
    }
    if (input->context) pw_context_destroy(input->context);
    input->stream = NULL;
    input->core = NULL;
    input->context = NULL;
    atomic_store(&input->has_ended, true);
    if (input->event >= 0) eventfd_write(input->event, 1);
    if (!input->loop) return;
    pw_thread_loop_unlock(input->loop);
    pw_thread_loop_stop(input->loop);
}

void hwd_sound_input_reason(hwd_sound_input *input, char *text, size_t size) {
    pw_thread_loop_lock(input->loop);
    snprintf(text, size, "%s", input->reason);
    pw_thread_loop_unlock(input->loop);
}

// MARK: - The list

struct listing {
    struct pw_thread_loop *loop;
    void (*found)(void *context, const hwd_sound_node *node);
    void *context;
    int pending;
    bool is_done;
    // What ended the connection, or 0.
    int code;
};

static void global(
    void *context, uint32_t id, uint32_t permissions, const char *type, uint32_t version,
    const struct spa_dict *properties) {
    (void)id;
    (void)permissions;
    (void)version;
    struct listing *listing = context;
    if (!properties || strcmp(type, PW_TYPE_INTERFACE_Node) != 0) return;
    const char *class = spa_dict_lookup(properties, PW_KEY_MEDIA_CLASS);
    hwd_sound_node node = {.name = spa_dict_lookup(properties, PW_KEY_NODE_NAME)};
    if (!class || !node.name) return;
    node.is_monitor = strcmp(class, "Audio/Sink") == 0;
    bool is_source = strncmp(class, "Audio/Source", 12) == 0 || strcmp(class, "Audio/Duplex") == 0;
    if (!node.is_monitor && !is_source) return;
    node.description = spa_dict_lookup(properties, PW_KEY_NODE_DESCRIPTION);
    if (!node.description) node.description = node.name;
    listing->found(listing->context, &node);
}

static const struct pw_registry_events registry_events = {PW_VERSION_REGISTRY_EVENTS, .global = global};

static void done(void *context, uint32_t id, int sequence) {
    struct listing *listing = context;
    if (id != PW_ID_CORE || sequence != listing->pending) return;
    listing->is_done = true;
    pw_thread_loop_signal(listing->loop, false);
}

static void list_failed(void *context, uint32_t id, int sequence, int code, const char *message) {
    (void)sequence;
    (void)message;
    struct listing *listing = context;
    if (id != PW_ID_CORE || code >= 0) return;
    listing->code = -code;
    pw_thread_loop_signal(listing->loop, false);
}

static const struct pw_core_events list_events = {PW_VERSION_CORE_EVENTS, .done = done, .error = list_failed};

static int list(struct listing *listing, struct pw_core *core) {
    struct spa_hook core_hook, registry_hook;
    struct pw_registry *registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
    if (!registry) return ENOMEM;
    pw_core_add_listener(core, &core_hook, &list_events, listing);
    pw_registry_add_listener(registry, &registry_hook, &registry_events, listing);
    listing->pending = pw_core_sync(core, PW_ID_CORE, 0);
    struct timespec limit;
    pw_thread_loop_get_time(listing->loop, &limit, LIST_SECONDS * second);
    while (!listing->is_done && listing->code == 0
           && pw_thread_loop_timed_wait_full(listing->loop, &limit) >= 0) {}
    spa_hook_remove(&registry_hook);
    spa_hook_remove(&core_hook);
    pw_proxy_destroy((struct pw_proxy *)registry);
    return listing->is_done ? 0 : listing->code ? listing->code : ETIMEDOUT;
}

int hwd_sound_nodes(void (*found)(void *context, const hwd_sound_node *node), void *context) {
    if (!hwd_pipewire_prepare()) return ENOMEM;
    struct listing listing = {.found = found, .context = context};
    listing.loop = pw_thread_loop_new("hwd-sound-list", NULL);
    if (!listing.loop) return ENOMEM;
    struct pw_context *pipewire = pw_context_new(pw_thread_loop_get_loop(listing.loop), NULL, 0);
    int code = pipewire ? 0 : ENOMEM;
    if (code == 0 && pw_thread_loop_start(listing.loop) < 0) code = ENOMEM;
    if (code == 0) {
        pw_thread_loop_lock(listing.loop);
        errno = 0;
        struct pw_core *core = pw_context_connect(pipewire, NULL, 0);
        code = core ? list(&listing, core) : errno ? errno : ECONNREFUSED;
        if (core) pw_core_disconnect(core);
        pw_thread_loop_unlock(listing.loop);
        pw_thread_loop_stop(listing.loop);
    }
    if (pipewire) pw_context_destroy(pipewire);
    pw_thread_loop_destroy(listing.loop);
    return code;
}
