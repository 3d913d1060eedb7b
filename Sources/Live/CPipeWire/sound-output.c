// SPDX-License-Identifier: GPL-2.0-or-later
#include "sound-output.h"

#include "CHWDPipeWire.h"
#include <errno.h>
#include <pipewire/pipewire.h>
#include <poll.h>
#include <sched.h>
#include <spa/param/audio/format-utils.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;

struct hwd_sound {
    struct pw_thread_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct pw_stream *stream;
    struct spa_hook stream_hook;
    uint32_t rate, channels;
    // Wakes the thread that fills.
    int event;

    // The ring: its size in frames, and how many have been written and read since the reset.
    float *samples;
    uint64_t size;
    _Atomic uint64_t written, read;

    // PipeWire's real-time thread waits for nobody. While it fills a buffer of a sound that is started, `read` and these are
    // its own; the thread that fills the ring changes them once it is stopped.
    atomic_bool is_started, is_filling;
    int64_t item; // of the first frame after the reset
    // The frame that is heard at a time of CLOCK_MONOTONIC.
    uint64_t anchor_frame;
    int64_t anchor_time;
    bool is_aligned, was_aligned;
    uint32_t seen_interruptions;

    // What is heard: valid where the sequence is even and the same before and after the others are read.
    _Atomic uint32_t sequence;
    _Atomic int64_t heard_item, heard_at;
    atomic_bool is_heard;

    atomic_bool is_finished, was_heard, is_lost, is_awake;
    _Atomic uint32_t gaps, interruptions;
    _Atomic float volume;
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

// Finds the frame of a buffer that is heard from `time` on, and skips those before it; returns how many frames of silence
// precede it.
static uint32_t align(const hwd_sound *sound, uint64_t written, uint64_t *read, uint32_t count, int64_t time) {
    double late = (double)(time - sound->anchor_time) * sound->rate / (double)second;
    double due = (double)sound->anchor_frame + late;
    if (due < (double)*read) {
        double lead = (double)*read - due;
        return lead < count ? (uint32_t)lead : count;
    }
    // What comes first is late with its device, and heard whole; behind a gap what is late is dropped.
    if (!sound->was_aligned) return 0;
    double late_frames = due - (double)*read;
    uint64_t there = written - *read;
    *read += late_frames < (double)there ? (uint64_t)late_frames : there;
    return 0;
}

static void publish(hwd_sound *sound) {
    int64_t item;
    if (__builtin_add_overflow(sound->item, duration(sound, sound->anchor_frame), &item)) return;
    uint32_t sequence = atomic_load_explicit(&sound->sequence, memory_order_relaxed);
    atomic_store_explicit(&sound->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&sound->heard_item, item, memory_order_relaxed);
    atomic_store_explicit(&sound->heard_at, sound->anchor_time, memory_order_relaxed);
    atomic_store_explicit(&sound->sequence, sequence + 2, memory_order_release);
    atomic_store(&sound->is_heard, true);
    atomic_store(&sound->was_heard, true);
}

static void fill(hwd_sound *sound, float *buffer, uint32_t count, int64_t time) {
    uint32_t interruptions = atomic_load(&sound->interruptions);
    // A device that stood still is heard from another time on.
    if (interruptions != sound->seen_interruptions) sound->is_aligned = false;
    sound->seen_interruptions = interruptions;
    uint64_t written = atomic_load_explicit(&sound->written, memory_order_acquire);
    uint64_t read = atomic_load_explicit(&sound->read, memory_order_relaxed);
    uint32_t lead = 0, copied = 0;
    if (written > read) {
        if (!sound->is_aligned) lead = align(sound, written, &read, count, time);
        uint64_t there = written - read;
        copied = there < count - lead ? (uint32_t)there : count - lead;
    }
    size_t frame = sound->channels * sizeof(float);
    memset(buffer, 0, lead * frame);
    if (copied > 0) {
        sound->anchor_frame = read;
        sound->anchor_time = time + duration(sound, lead);
        sound->is_aligned = sound->was_aligned = true;
        publish(sound);
    }
    float *target = buffer + (size_t)lead * sound->channels;
    for (uint32_t done = 0; done < copied;) {
        uint64_t begin = read % sound->size;
        uint32_t part = copied - done;
        if (part > sound->size - begin) part = (uint32_t)(sound->size - begin);
        memcpy(target, sound->samples + begin * sound->channels, part * frame);
        target += (size_t)part * sound->channels;
        done += part;
        read += part;
    }
    atomic_store_explicit(&sound->read, read, memory_order_release);
    float *end = buffer + (size_t)count * sound->channels;
    float volume = atomic_load_explicit(&sound->volume, memory_order_relaxed);
    if (volume < 1)
        for (float *sample = buffer; sample < target; sample++) *sample *= volume;
    if (target < end) {
        memset(target, 0, (size_t)(end - target) * sizeof(float));
        if (sound->is_aligned && !atomic_load(&sound->is_finished)) atomic_fetch_add(&sound->gaps, 1);
        sound->is_aligned = false;
        atomic_store(&sound->is_heard, false);
    }
    if (sound->size - (written - read) >= sound->size / 2) eventfd_write(sound->event, 1);
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
        atomic_store(&sound->is_filling, true);
        if (atomic_load(&sound->is_started)) {
            fill(sound, memory->data, count, time);
        } else {
            memset(memory->data, 0, (size_t)count * stride);
        }
        atomic_store(&sound->is_filling, false);
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
    if (state == PW_STREAM_STATE_ERROR || (state == PW_STREAM_STATE_UNCONNECTED && old > state))
        atomic_store(&sound->is_lost, true);
    if (state != PW_STREAM_STATE_STREAMING) {
        atomic_fetch_add(&sound->interruptions, 1);
        atomic_store(&sound->is_heard, false);
    }
    eventfd_write(sound->event, 1);
}

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS, .state_changed = stream_state_changed, .process = stream_process};

hwd_sound *hwd_sound_create(void) {
    if (!hwd_pipewire_prepare()) return NULL;
    hwd_sound *sound = calloc(1, sizeof *sound);
    if (!sound) return NULL;
    sound->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sound->event < 0) {
        free(sound);
        return NULL;
    }
    atomic_init(&sound->volume, 1);
    return sound;
}

void hwd_sound_destroy(hwd_sound *sound) {
    if (sound->loop) pw_thread_loop_stop(sound->loop);
    if (sound->stream) {
        spa_hook_remove(&sound->stream_hook);
        pw_stream_destroy(sound->stream);
    }
    if (sound->core) pw_core_disconnect(sound->core);
    if (sound->context) pw_context_destroy(sound->context);
    if (sound->loop) pw_thread_loop_destroy(sound->loop);
    close(sound->event);
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

// With a real-time thread for the graph's data, where the distribution's package of its configuration is installed.
static struct pw_context *connect_context(struct pw_loop *loop) {
    struct pw_context *context = pw_context_new(loop, pw_properties_new(PW_KEY_CONFIG_NAME, "client-rt.conf", NULL), 0);
    return context ? context : pw_context_new(loop, NULL, 0);
}

int hwd_sound_connect(hwd_sound *sound, const char *name, uint32_t rate, uint32_t channels, const uint8_t *positions) {
    if (sound->loop || rate == 0 || rate > HWD_SOUND_RATE || channels == 0 || channels > HWD_SOUND_CHANNELS)
        return EINVAL;
    sound->rate = rate, sound->channels = channels;
    sound->size = rate / 2;
    sound->samples = malloc(sound->size * channels * sizeof(float));
    sound->loop = pw_thread_loop_new("sound", NULL);
    if (!sound->samples || !sound->loop) return ENOMEM;
    // Pages that are there before the real-time thread reads.
    memset(sound->samples, 0, sound->size * channels * sizeof(float));
    errno = 0;
    sound->context = connect_context(pw_thread_loop_get_loop(sound->loop));
    if (!sound->context) return errno > 0 ? errno : ENOMEM;
    sound->core = pw_context_connect(sound->context, NULL, 0);
    if (!sound->core) return errno > 0 ? errno : ECONNREFUSED;
    struct pw_properties *properties =
        pw_properties_new(PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_CATEGORY, "Playback", PW_KEY_MEDIA_ROLE, "Movie",
                          PW_KEY_APP_NAME, "hwctl play", PW_KEY_NODE_NAME, "hwctl-play", PW_KEY_MEDIA_NAME, name, NULL);
    if (!properties) return ENOMEM;
    sound->stream = pw_stream_new(sound->core, "hwctl play", properties);
    if (!sound->stream) return errno > 0 ? errno : ENOMEM;
    pw_stream_add_listener(sound->stream, &sound->stream_hook, &stream_events, sound);
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

// Stops the sound, and waits for a buffer that is being filled: some microseconds.
static void quiesce(hwd_sound *sound) {
    atomic_store(&sound->is_started, false);
    while (atomic_load(&sound->is_filling)) sched_yield();
    sound->is_aligned = sound->was_aligned = false;
    atomic_store(&sound->is_heard, false);
}

void hwd_sound_reset(hwd_sound *sound, int64_t item) {
    quiesce(sound);
    atomic_store(&sound->written, 0);
    atomic_store(&sound->read, 0);
    sound->anchor_frame = 0;
    sound->item = item;
    atomic_store(&sound->is_finished, false);
}

uint32_t hwd_sound_write(hwd_sound *sound, const float *samples, uint32_t frames) {
    if (!sound->samples) return 0;
    uint64_t written = atomic_load_explicit(&sound->written, memory_order_relaxed);
    uint64_t room = sound->size - (written - atomic_load_explicit(&sound->read, memory_order_acquire));
    if (frames > room) frames = (uint32_t)room;
    for (uint32_t done = 0; done < frames;) {
        uint64_t begin = written % sound->size;
        uint32_t part = frames - done;
        if (part > sound->size - begin) part = (uint32_t)(sound->size - begin);
        memcpy(sound->samples + begin * sound->channels, samples + (size_t)done * sound->channels,
               (size_t)part * sound->channels * sizeof(float));
        done += part;
        written += part;
    }
    atomic_store_explicit(&sound->written, written, memory_order_release);
    return frames;
}

void hwd_sound_finish(hwd_sound *sound) { atomic_store(&sound->is_finished, true); }

void hwd_sound_start(hwd_sound *sound, int64_t item, int64_t time) {
    if (!sound->samples) return;
    quiesce(sound);
    int64_t lead;
    // Items so far apart are none of this sound.
    if (__builtin_sub_overflow(item, sound->item, &lead)) return;
    double frames = (double)lead * sound->rate / (double)second;
    uint64_t first = frames > 0 ? (uint64_t)(frames + 0.5) : 0, written = atomic_load(&sound->written);
    atomic_store(&sound->read, first < written ? first : written);
    // Frames that are not written yet are late.
    sound->was_aligned = first > written;
    sound->anchor_frame = first;
    if (__builtin_sub_overflow(time, lead < 0 ? lead : 0, &sound->anchor_time)) return;
    atomic_store(&sound->is_started, true);
}

void hwd_sound_stop(hwd_sound *sound) { atomic_store(&sound->is_started, false); }

void hwd_sound_set_volume(hwd_sound *sound, float volume) { atomic_store(&sound->volume, volume); }

bool hwd_sound_position(hwd_sound *sound, int64_t *item, int64_t *time) {
    for (;;) {
        if (!atomic_load(&sound->is_started) || !atomic_load(&sound->is_heard)) return false;
        uint32_t sequence = atomic_load_explicit(&sound->sequence, memory_order_acquire);
        *item = atomic_load_explicit(&sound->heard_item, memory_order_relaxed);
        *time = atomic_load_explicit(&sound->heard_at, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (sequence % 2 == 0 && sequence == atomic_load_explicit(&sound->sequence, memory_order_relaxed)) return true;
        sched_yield();
    }
}

bool hwd_sound_was_heard(hwd_sound *sound) { return atomic_load(&sound->was_heard); }

uint32_t hwd_sound_gaps(hwd_sound *sound) { return atomic_load(&sound->gaps); }

bool hwd_sound_is_lost(hwd_sound *sound) { return atomic_load(&sound->is_lost); }

static bool has_room(hwd_sound *sound) {
    if (sound->size == 0 || !atomic_load(&sound->is_started) || atomic_load(&sound->is_finished)) return false;
    return atomic_load(&sound->written) - atomic_load(&sound->read) <= sound->size / 2;
}

void hwd_sound_wait(hwd_sound *sound, int milliseconds) {
    int64_t end = now() + milliseconds * (second / 1000);
    while (!atomic_exchange(&sound->is_awake, false) && !atomic_load(&sound->is_lost) && !has_room(sound)) {
        int64_t left = (end - now() + 999999) / 1000000;
        if (left <= 0) return;
        struct pollfd event = {.fd = sound->event, .events = POLLIN};
        eventfd_t count;
        if (poll(&event, 1, (int)left) > 0) eventfd_read(sound->event, &count);
    }
}

void hwd_sound_wake(hwd_sound *sound) {
    atomic_store(&sound->is_awake, true);
    eventfd_write(sound->event, 1);
}
