// SPDX-License-Identifier: GPL-2.0-or-later
#include "click-source.h"

#include <math.h>
#include <pipewire/pipewire.h>
#include <spa/param/audio/format-utils.h>
#include <time.h>

enum { RATE = 48000, CHANNELS = 2, QUANTUM = 1024 };
static struct pw_stream *stream;

static float click(double time) {
    double distance = time * 2 - floor(time * 2) - 0.5;
    return fabs(distance) < 0.001 ? (float)(0.9 * cos(distance * M_PI / 0.002)) : 0;
}

static void process(void *context) {
    (void)context;
    struct pw_buffer *buffer = pw_stream_dequeue_buffer(stream);
    if (!buffer) return;
    struct pw_time time;
    pw_stream_get_time_n(stream, &time, sizeof time);
    struct spa_data *data = &buffer->buffer->datas[0];
    uint32_t count = buffer->requested ? (uint32_t)buffer->requested : QUANTUM, stride = CHANNELS * sizeof(float);
    if (count > data->maxsize / stride) count = data->maxsize / stride;
    float *samples = data->data;
    for (uint32_t i = 0; i < count; i++) {
        float value = click((double)time.now / 1e9 - (double)(count - i) / RATE);
        for (int channel = 0; channel < CHANNELS; channel++) samples[i * CHANNELS + channel] = value;
    }
    *data->chunk = (struct spa_chunk){.size = count * stride, .stride = (int32_t)stride};
    pw_stream_queue_buffer(stream, buffer);
}

static const struct pw_stream_events events = {PW_VERSION_STREAM_EVENTS, .process = process};

int hwd_click_source(const char *name) {
    pw_init(NULL, NULL);
    struct pw_main_loop *loop = pw_main_loop_new(NULL);
    struct pw_context *context = pw_context_new(
        pw_main_loop_get_loop(loop), pw_properties_new(PW_KEY_CONFIG_NAME, "client-rt.conf", NULL), 0);
    struct pw_core *core = context ? pw_context_connect(context, NULL, 0) : NULL;
    if (!core) return 69;
    stream = pw_stream_new(
        core, name,
        pw_properties_new(
            PW_KEY_MEDIA_CLASS, "Audio/Source", PW_KEY_NODE_NAME, name, PW_KEY_NODE_LATENCY, "1024/48000", NULL));
    struct spa_hook hook;
    pw_stream_add_listener(stream, &hook, &events, NULL);
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    struct spa_audio_info_raw format = {.format = SPA_AUDIO_FORMAT_F32, .rate = RATE, .channels = CHANNELS};
    const struct spa_pod *parameters = spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, &format);
    int code = pw_stream_connect(
        stream, PW_DIRECTION_OUTPUT, PW_ID_ANY, PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_RT_PROCESS, &parameters, 1);
    if (code < 0) return 70;
    pw_main_loop_run(loop);
    return 0;
}
