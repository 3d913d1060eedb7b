// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Sound that PipeWire plays. One thread fills and starts it; any thread may stop it and ask for its position.
typedef struct hwd_sound hwd_sound;

enum { HWD_SOUND_CHANNELS = 8, HWD_SOUND_RATE = 384000 };

// Null where there is no memory or no PipeWire library to start.
hwd_sound *hwd_sound_create(void);
// No other thread uses it any more.
void hwd_sound_destroy(hwd_sound *sound);
// Opens the stream: frames of 32-bit floats, whose channels have libavutil's numbers (0: front left, …). Returns 0 or an errno.
int hwd_sound_connect(hwd_sound *sound, const char *name, uint32_t rate, uint32_t channels, const uint8_t *positions);

// Drops what is not heard yet; the next frame belongs to an item time in nanoseconds.
void hwd_sound_reset(hwd_sound *sound, int64_t item);
// Appends frames; returns how many there was room for.
uint32_t hwd_sound_write(hwd_sound *sound, const float *samples, uint32_t frames);
// No frame follows: its end is no gap.
void hwd_sound_finish(hwd_sound *sound);
// Lets the frame of an item time be heard at a time of CLOCK_MONOTONIC, or as soon as it can be; earlier frames are dropped.
void hwd_sound_start(hwd_sound *sound, int64_t item, int64_t time);
// Silence from now on.
void hwd_sound_stop(hwd_sound *sound);
// From 0 to 1; samples are multiplied by it.
void hwd_sound_set_volume(hwd_sound *sound, float volume);

// The item time that is heard at `time` of CLOCK_MONOTONIC, the latest that is known; false while nothing is heard.
bool hwd_sound_position(hwd_sound *sound, int64_t *item, int64_t *time);
// Whether a device has taken any frame.
bool hwd_sound_was_heard(hwd_sound *sound);
// How often the frames were not there in time.
uint32_t hwd_sound_gaps(hwd_sound *sound);
// Whether PipeWire has ended the stream.
bool hwd_sound_is_lost(hwd_sound *sound);
// Waits until there is room for a quarter of a second, up to some milliseconds, or for hwd_sound_wake.
void hwd_sound_wait(hwd_sound *sound, int milliseconds);
void hwd_sound_wake(hwd_sound *sound);
