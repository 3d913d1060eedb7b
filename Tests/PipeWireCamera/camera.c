// SPDX-License-Identifier: GPL-2.0-or-later
// A camera of PipeWire with numbered frames: hwd-pipewire-camera NAME [KEY=VALUE ...]
//
// Keys: format (NV12, I420, YUY2, BGRx), width, height, rate, frames (then it ends), resize (number of the frame from which on both
// sides are halved), other=1 (behind its format also one of half the width, height and rate), drop (every how many frames one is lost), headless=1 (no header with number and time), own=1 (memory of its own, which can be shortened), empty (every how many frames a buffer
// without a picture has a number), screen=1 (states no rate, as a screen does), still (number of the frame after which nothing changes), evil
// (a way to lie).
#define _GNU_SOURCE
#include <pipewire/pipewire.h>
#include <signal.h>
#include <spa/param/video/format-utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct pw_main_loop *loop;
static struct pw_stream *stream;
static struct spa_source *timer;
static char **arguments;
static uint32_t format, width, height, rate, number, sent, late;

static const char *option(const char *key, const char *other) {
    const size_t length = strlen(key);
    for (char **argument = arguments; *argument; argument++)
        if (strncmp(*argument, key, length) == 0 && (*argument)[length] == '=') return *argument + length + 1;
    return other;
}

static uint32_t number_option(const char *key, uint32_t other) {
    const char *text = option(key, NULL);
    return text ? (uint32_t)strtoul(text, NULL, 10) : other;
}

static bool is_evil(const char *way) { return strcmp(option("evil", ""), way) == 0; }

static uint32_t bytes(void) { return format == SPA_VIDEO_FORMAT_BGRx ? 4 : format == SPA_VIDEO_FORMAT_YUY2 ? 2 : 1; }

static uint32_t size(void) { return bytes() == 1 ? width * height * 3 / 2 : width * height * bytes(); }

static const struct spa_pod *offer(struct spa_pod_builder *builder, uint32_t divisor) {
    return spa_pod_builder_add_object(
        builder, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video),
        SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(format),
        SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&SPA_RECTANGLE(width / divisor, height / divisor)), SPA_FORMAT_VIDEO_framerate,
        SPA_POD_Fraction(&SPA_FRACTION(number_option("screen", 0) ? 0 : rate / divisor, 1)));
}

static void on_state(void *data, enum pw_stream_state before, enum pw_stream_state state, const char *error) {
    (void)data, (void)before, (void)error;
    const bool streams = state == PW_STREAM_STATE_STREAMING;
    struct timespec first = {0, 1}, period = {0, 1000000000 / rate};
    pw_loop_update_timer(
        pw_main_loop_get_loop(loop), timer, streams ? &first : NULL, streams ? &period : NULL, false);
}

static void on_param(void *data, uint32_t id, const struct spa_pod *pod) {
    (void)data;
    if (id != SPA_PARAM_Format || !pod) return;
    struct spa_video_info_raw chosen = {0};
    if (spa_format_video_raw_parse(pod, &chosen) < 0) return;
    width = chosen.size.width;
    height = chosen.size.height;
    if (chosen.framerate.num) rate = chosen.framerate.num;
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[2] = {
        spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(8, 2, 16), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size,
            SPA_POD_Int((int)size()), SPA_PARAM_BUFFERS_stride, SPA_POD_Int((int)(width * bytes())),
            SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd)),
        spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
            SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_header)))};
    pw_stream_update_params(stream, params, number_option("headless", 0) ? 1 : 2);
}

static void on_add_buffer(void *data, struct pw_buffer *buffer) {
    (void)data;
    if (!number_option("own", 0)) return;
    struct spa_data *target = &buffer->buffer->datas[0];
    target->type = SPA_DATA_MemFd;
    target->flags = SPA_DATA_FLAG_READABLE | SPA_DATA_FLAG_WRITABLE;
    target->fd = memfd_create("own", MFD_CLOEXEC);
    target->mapoffset = 0;
    target->maxsize = size();
    if (target->fd < 0 || ftruncate((int)target->fd, size()) != 0) abort();
    target->data = mmap(NULL, size(), PROT_READ | PROT_WRITE, MAP_SHARED, (int)target->fd, 0);
    if (target->data == MAP_FAILED) abort();
}

// The frame's number as 16 blocks of 16x16 samples at the upper left.
static void draw(uint8_t *target) {
    memset(target, 0x60 + (int)(number % 64), size());
    for (uint32_t y = 0; y < 16 && y < height; y++)
        for (uint32_t x = 0; x < 256 && x < width; x++)
            memset(target + (y * width + x) * bytes(), number >> (x / 16) & 1 ? 0xeb : 0x10, bytes());
}

static void on_process(void *data) {
    (void)data;
    struct pw_buffer *buffer = pw_stream_dequeue_buffer(stream);
    if (!buffer) {
        late++;
        return;
    }
    struct spa_data *target = &buffer->buffer->datas[0];
    const bool is_cut = is_evil("cut") && number >= 10;
    if (is_cut && ftruncate((int)target->fd, 0) != 0) abort();
    if (!is_cut && target->data && target->maxsize >= size()) draw(target->data);
    *target->chunk = (struct spa_chunk){0, size(), (int32_t)(width * bytes()), 0};
    if (is_evil("size")) target->chunk->size = UINT32_MAX;
    if (is_evil("offset")) target->chunk->offset = UINT32_MAX - 8;
    if (is_evil("stride")) target->chunk->stride = INT32_MIN;
    if (is_evil("rows")) target->chunk->stride = INT32_MAX;
    if (is_evil("corrupted") && number % 2) target->chunk->flags = SPA_CHUNK_FLAG_CORRUPTED;
    if (number_option("empty", 0) && number % number_option("empty", 0) == 0) target->chunk->size = 0;
    if (is_evil("empty")) target->chunk->size = 0;
    struct spa_meta_header *header = spa_buffer_find_meta_data(buffer->buffer, SPA_META_Header, sizeof *header);
    if (header) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        *header = (struct spa_meta_header){.seq = number, .pts = now.tv_sec * 1000000000LL + now.tv_nsec};
        if (is_evil("times")) header->pts = number % 2 ? INT64_MAX : INT64_MIN;
    }
    sent++;
    number++;
    const uint32_t drop = number_option("drop", 0);
    if (drop && number % drop == 0) number++;
    pw_stream_queue_buffer(stream, buffer);
    if (number == number_option("resize", 0)) {
        width /= 2;
        height /= 2;
        uint8_t memory[1024];
        struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
        const struct spa_pod *params[] = {offer(&builder, 1)};
        pw_stream_update_params(stream, params, 1);
    }
    if (number == number_option("still", 0))
        pw_loop_update_timer(pw_main_loop_get_loop(loop), timer, NULL, NULL, false);
    if (number >= number_option("frames", UINT32_MAX)) pw_main_loop_quit(loop);
}

static void on_tick(void *data, uint64_t count) {
    (void)data, (void)count;
    pw_stream_trigger_process(stream);
}

static void on_signal(void *data, int signal) {
    (void)data, (void)signal;
    pw_main_loop_quit(loop);
}

int main(int count, char **values) {
    pw_init(&count, &values);
    if (count < 2) return 64;
    arguments = values + 2;
    const char *name = option("format", "NV12");
    format = strcmp(name, "I420") == 0 ? SPA_VIDEO_FORMAT_I420
        : strcmp(name, "YUY2") == 0   ? SPA_VIDEO_FORMAT_YUY2
        : strcmp(name, "BGRx") == 0   ? SPA_VIDEO_FORMAT_BGRx
        : strcmp(name, "GRAY") == 0   ? SPA_VIDEO_FORMAT_GRAY8
                                      : SPA_VIDEO_FORMAT_NV12;
    width = number_option("width", 1280);
    height = number_option("height", 720);
    rate = number_option("rate", 30);
    loop = pw_main_loop_new(NULL);
    struct pw_loop *own = pw_main_loop_get_loop(loop);
    timer = pw_loop_add_timer(own, on_tick, NULL);
    pw_loop_add_signal(own, SIGTERM, on_signal, NULL);
    struct pw_context *connection = pw_context_new(own, NULL, 0);
    struct pw_core *core = pw_context_connect(connection, NULL, 0);
    if (!core) return 69;
    static const struct pw_stream_events events = {
        PW_VERSION_STREAM_EVENTS, .state_changed = on_state, .param_changed = on_param, .add_buffer = on_add_buffer,
        .process = on_process};
    struct spa_hook hook = {0};
    stream = pw_stream_new(
        core, values[1], pw_properties_new(PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_NODE_NAME, values[1], NULL));
    pw_stream_add_listener(stream, &hook, &events, NULL);
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[] = {offer(&builder, 1), offer(&builder, 2)};
    pw_stream_connect(
        stream, PW_DIRECTION_OUTPUT, PW_ID_ANY, PW_STREAM_FLAG_DRIVER
            | (number_option("own", 0) ? PW_STREAM_FLAG_ALLOC_BUFFERS : PW_STREAM_FLAG_MAP_BUFFERS),
        params,
        number_option("other", 0) ? 2 : 1);
    pw_main_loop_run(loop);
    // What an outside count is compared with.
    printf("sent %u to %u late %u\n", sent, number, late);
    pw_stream_destroy(stream);
    pw_context_destroy(connection);
    pw_main_loop_destroy(loop);
    pw_deinit();
    return 0;
}
