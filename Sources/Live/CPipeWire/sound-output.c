// SPDX-License-Identifier: GPL-2.0-or-later
#include "sound-output.h"

#include "CHWDPipeWire.h"
#include <errno.h>
#include <pipewire/pipewire.h>
#include <pthread.h>
#include <spa/param/audio/format-utils.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t second = 1000000000;

struct hwd_sound {
    struct pw_thread_loop *loop;
    struct pw_stream *stream;
    uint32_t rate, channels;

    // PipeWire's thread holds it for the copy of a buffer.
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    float *samples;
    // Frames: the ring's size, and how many have been written and read since the reset.
    uint64_t size, written, read;
    int64_t item; // of the first frame after the reset
    // The frame that is heard at a time of CLOCK_MONOTONIC.
    uint64_t anchor_frame;
    int64_t anchor_time;
    bool is_started, is_aligned, was_aligned, is_finished, was_heard, is_lost, is_awake;
    uint32_t gaps;
    float volume;
};

static int64_t duration(const hwd_sound *sound, uint64_t frames) {
    return (int64_t)((double)frames * (double)second / sound->rate);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * second + time.tv_nsec;
}

// When the first frame of the next buffer is heard.
static int64_t heard_time(hwd_sound *sound) {
    int64_t present = now();
    struct pw_time time = {0};
    if (pw_stream_get_time_n(sound->stream, &time, sizeof time) < 0 || time.rate.denom == 0) return present;
    // A driver without a clock of its own leaves another one's time, or none.
    bool is_exact = time.now > 0 && time.now <= present + second / 10 && time.now >= present - second;
    double delay = (double)time.delay * time.rate.num / time.rate.denom;
    delay += ((double)time.queued + (double)time.buffered) / sound->rate;
    int64_t heard = is_exact ? time.now : present;
    return delay > 0 && delay < 5 ? heard + (int64_t)(delay * (double)second) : heard;
}

// Finds the frame of a buffer that is heard from `time` on; returns how many frames of silence precede it.
static uint32_t align(hwd_sound *sound, uint32_t count, int64_t time) {
    double late = (double)(time - sound->anchor_time) * sound->rate / (double)second;
    double due = (double)sound->anchor_frame + late;
    if (due < (double)sound->read) {
        double lead = (double)sound->read - due;
        return lead < count ? (uint32_t)lead : count;
    }
    // What comes first is late with its device, and heard whole; behind a gap what is late is dropped.
    if (!sound->was_aligned) return 0;
    uint64_t late_frames = (uint64_t)(due - (double)sound->read), there = sound->written - sound->read;
    sound->read += late_frames < there ? late_frames : there;
    return 0;
}

static void fill(hwd_sound *sound, float *buffer, uint32_t count, int64_t time) {
    uint32_t lead = 0, copied = 0;
    if (sound->is_started && sound->written > sound->read) {
        if (!sound->is_aligned) lead = align(sound, count, time);
        uint64_t there = sound->written - sound->read;
        copied = there < count - lead ? (uint32_t)there : count - lead;
    }
    size_t frame = sound->channels * sizeof(float);
    memset(buffer, 0, lead * frame);
    if (copied > 0) {
        sound->anchor_frame = sound->read;
        sound->anchor_time = time + duration(sound, lead);
        sound->is_aligned = sound->was_aligned = sound->was_heard = true;
    }
    float *target = buffer + (size_t)lead * sound->channels;
    for (uint32_t done = 0; done < copied;) {
        uint64_t begin = sound->read % sound->size;
        uint32_t part = copied - done;
        if (part > sound->size - begin) part = (uint32_t)(sound->size - begin);
        memcpy(target, sound->samples + begin * sound->channels, part * frame);
        target += (size_t)part * sound->channels;
        done += part;
        sound->read += part;
    }
    float *end = buffer + (size_t)count * sound->channels;
    if (sound->volume < 1)
        for (float *sample = buffer; sample < target; sample++) *sample *= sound->volume;
    if (target < end) {
        memset(target, 0, (size_t)(end - target) * sizeof(float));
        if (sound->is_aligned && !sound->is_finished) sound->gaps++;
        sound->is_aligned = false;
    }
    if (sound->size - (sound->written - sound->read) >= sound->size / 2) pthread_cond_signal(&sound->changed);
}

static void stream_process(void *data) {
    hwd_sound *sound = data;
    struct pw_buffer *buffer = pw_stream_dequeue_buffer(sound->stream);
    if (!buffer) return;
    struct spa_data *memory = buffer->buffer->n_datas > 0 ? &buffer->buffer->datas[0] : NULL;
    if (!memory || !memory->data || !memory->chunk) {
        pw_stream_queue_buffer(sound->stream, buffer);
        return;
    }
    uint32_t stride = sound->channels * sizeof(float), count = memory->maxsize / stride;
    if (buffer->requested > 0 && buffer->requested < count) count = (uint32_t)buffer->requested;
    if (count > 0) {
        int64_t time = heard_time(sound);
        pthread_mutex_lock(&sound->mutex);
        fill(sound, memory->data, count, time);
        pthread_mutex_unlock(&sound->mutex);
    }
    memory->chunk->offset = 0;
    memory->chunk->stride = (int32_t)stride;
    memory->chunk->size = count * stride;
    buffer->size = count;
    pw_stream_queue_buffer(sound->stream, buffer);
}

static void stream_state_changed(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error) {
    hwd_sound *sound = data;
    (void)error;
    bool is_gone = state == PW_STREAM_STATE_ERROR || (state == PW_STREAM_STATE_UNCONNECTED && old > state);
    pthread_mutex_lock(&sound->mutex);
    if (is_gone) sound->is_lost = true;
    // A device that stands still is heard from another time on.
    if (state != PW_STREAM_STATE_STREAMING) sound->is_aligned = false;
    pthread_cond_signal(&sound->changed);
    pthread_mutex_unlock(&sound->mutex);
}

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS, .state_changed = stream_state_changed, .process = stream_process};

hwd_sound *hwd_sound_create(void) {
    if (!hwd_pipewire_prepare()) return NULL;
    hwd_sound *sound = calloc(1, sizeof *sound);
    if (!sound) return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sound->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&sound->mutex, NULL);
    sound->volume = 1;
    return sound;
}

void hwd_sound_destroy(hwd_sound *sound) {
    if (sound->loop) pw_thread_loop_stop(sound->loop);
    if (sound->stream) pw_stream_destroy(sound->stream);
    if (sound->loop) pw_thread_loop_destroy(sound->loop);
    pthread_cond_destroy(&sound->changed);
    pthread_mutex_destroy(&sound->mutex);
    free(sound->samples);
    free(sound);
}

// libavutil's channels in PipeWire's numbers; others are auxiliary ones.
static uint32_t channel(uint8_t number) {
    static const uint32_t known[] = {SPA_AUDIO_CHANNEL_FL,  SPA_AUDIO_CHANNEL_FR, SPA_AUDIO_CHANNEL_FC,
                                     SPA_AUDIO_CHANNEL_LFE, SPA_AUDIO_CHANNEL_RL, SPA_AUDIO_CHANNEL_RR,
                                     SPA_AUDIO_CHANNEL_FLC, SPA_AUDIO_CHANNEL_FRC, SPA_AUDIO_CHANNEL_RC,
                                     SPA_AUDIO_CHANNEL_SL,  SPA_AUDIO_CHANNEL_SR};
    return number < sizeof known / sizeof known[0] ? known[number] : (uint32_t)SPA_AUDIO_CHANNEL_AUX0 + number % 64;
}

int hwd_sound_connect(hwd_sound *sound, const char *name, uint32_t rate, uint32_t channels, const uint8_t *positions) {
    if (sound->loop || rate == 0 || rate > HWD_SOUND_RATE || channels == 0 || channels > HWD_SOUND_CHANNELS)
        return EINVAL;
    sound->rate = rate, sound->channels = channels;
    sound->size = rate / 2;
    sound->samples = calloc(sound->size * channels, sizeof(float));
    sound->loop = pw_thread_loop_new("sound", NULL);
    if (!sound->samples || !sound->loop) return ENOMEM;
    struct pw_properties *properties =
        pw_properties_new(PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_CATEGORY, "Playback", PW_KEY_MEDIA_ROLE, "Movie",
                          PW_KEY_APP_NAME, "hwctl play", PW_KEY_NODE_NAME, "hwctl-play", PW_KEY_MEDIA_NAME, name, NULL);
    if (!properties) return ENOMEM;
    sound->stream = pw_stream_new_simple(pw_thread_loop_get_loop(sound->loop), "hwctl play", properties,
                                         &stream_events, sound);
    if (!sound->stream) return errno > 0 ? errno : ENOMEM;
    struct spa_audio_info_raw info = {.format = SPA_AUDIO_FORMAT_F32, .rate = rate, .channels = channels};
    for (uint32_t i = 0; i < channels; i++) info.position[i] = channel(positions[i]);
    if (channels == 1) info.position[0] = SPA_AUDIO_CHANNEL_MONO;
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *parameters[] = {spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, &info)};
    int result = pw_stream_connect(
        sound->stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
        PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_RT_PROCESS, parameters, 1);
    if (result >= 0) result = pw_thread_loop_start(sound->loop);
    return result < 0 ? -result : 0;
}

void hwd_sound_reset(hwd_sound *sound, int64_t item) {
    pthread_mutex_lock(&sound->mutex);
    sound->written = sound->read = sound->anchor_frame = 0;
    sound->item = item;
    sound->is_started = sound->is_aligned = sound->was_aligned = sound->is_finished = false;
    pthread_mutex_unlock(&sound->mutex);
}

uint32_t hwd_sound_write(hwd_sound *sound, const float *samples, uint32_t frames) {
    if (!sound->samples) return 0;
    pthread_mutex_lock(&sound->mutex);
    uint64_t room = sound->size - (sound->written - sound->read);
    if (frames > room) frames = (uint32_t)room;
    for (uint32_t done = 0; done < frames;) {
        uint64_t begin = sound->written % sound->size;
        uint32_t part = frames - done;
        if (part > sound->size - begin) part = (uint32_t)(sound->size - begin);
        memcpy(sound->samples + begin * sound->channels, samples + (size_t)done * sound->channels,
               (size_t)part * sound->channels * sizeof(float));
        done += part;
        sound->written += part;
    }
    pthread_mutex_unlock(&sound->mutex);
    return frames;
}

void hwd_sound_finish(hwd_sound *sound) {
    pthread_mutex_lock(&sound->mutex);
    sound->is_finished = true;
    pthread_mutex_unlock(&sound->mutex);
}

void hwd_sound_start(hwd_sound *sound, int64_t item, int64_t time) {
    if (!sound->samples) return;
    pthread_mutex_lock(&sound->mutex);
    double frames = (double)(item - sound->item) * sound->rate / (double)second;
    uint64_t first = frames > 0 ? (uint64_t)(frames + 0.5) : 0;
    sound->read = first < sound->written ? first : sound->written;
    // Frames that are not written yet are late.
    sound->was_aligned = first > sound->written;
    sound->anchor_frame = first;
    sound->anchor_time = frames < 0 ? time + sound->item - item : time;
    sound->is_started = true;
    sound->is_aligned = false;
    pthread_mutex_unlock(&sound->mutex);
}

void hwd_sound_stop(hwd_sound *sound) {
    pthread_mutex_lock(&sound->mutex);
    sound->is_started = sound->is_aligned = false;
    pthread_mutex_unlock(&sound->mutex);
}

void hwd_sound_set_volume(hwd_sound *sound, float volume) {
    pthread_mutex_lock(&sound->mutex);
    sound->volume = volume;
    pthread_mutex_unlock(&sound->mutex);
}

bool hwd_sound_position(hwd_sound *sound, int64_t *item, int64_t *time) {
    pthread_mutex_lock(&sound->mutex);
    bool is_heard = sound->is_started && sound->is_aligned;
    if (is_heard) {
        *item = sound->item + duration(sound, sound->anchor_frame);
        *time = sound->anchor_time;
    }
    pthread_mutex_unlock(&sound->mutex);
    return is_heard;
}

bool hwd_sound_was_heard(hwd_sound *sound) {
    pthread_mutex_lock(&sound->mutex);
    bool was_heard = sound->was_heard;
    pthread_mutex_unlock(&sound->mutex);
    return was_heard;
}

uint32_t hwd_sound_gaps(hwd_sound *sound) {
    pthread_mutex_lock(&sound->mutex);
    uint32_t gaps = sound->gaps;
    pthread_mutex_unlock(&sound->mutex);
    return gaps;
}

bool hwd_sound_is_lost(hwd_sound *sound) {
    pthread_mutex_lock(&sound->mutex);
    bool is_lost = sound->is_lost;
    pthread_mutex_unlock(&sound->mutex);
    return is_lost;
}

void hwd_sound_wait(hwd_sound *sound, int milliseconds) {
    int64_t time = now() + milliseconds * (second / 1000);
    struct timespec end = {time / second, time % second};
    pthread_mutex_lock(&sound->mutex);
    while (!sound->is_awake && !sound->is_lost &&
           (sound->size == 0 || sound->written - sound->read > sound->size / 2 || !sound->is_started ||
            sound->is_finished))
        if (pthread_cond_timedwait(&sound->changed, &sound->mutex, &end) != 0) break;
    sound->is_awake = false;
    pthread_mutex_unlock(&sound->mutex);
}

void hwd_sound_wake(hwd_sound *sound) {
    pthread_mutex_lock(&sound->mutex);
    sound->is_awake = true;
    pthread_cond_signal(&sound->changed);
    pthread_mutex_unlock(&sound->mutex);
}
