// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sound that PipeWire records: interleaved 32-bit floats of HWD_SOUND_INPUT_CHANNELS channels. One thread reads it.
typedef struct hwd_sound_input hwd_sound_input;

enum { HWD_SOUND_INPUT_CHANNELS = 2, HWD_SOUND_INPUT_RATE = 48000, HWD_SOUND_INPUT_FRAMES = 65536 };

// A node that sound is recorded from; the texts are valid during the call.
typedef struct {
    const char *name, *description;
    // Whether it plays sound, and what it plays is recorded.
    bool is_monitor;
} hwd_sound_node;

// Lists the nodes; returns 0, or an errno where there is no PipeWire or it does not answer in 2 s.
int hwd_sound_nodes(void (*found)(void *context, const hwd_sound_node *node), void *context);

// Null where there is no memory or no PipeWire library to start.
hwd_sound_input *hwd_sound_input_create(void);
// No other thread uses it any more.
void hwd_sound_input_destroy(hwd_sound_input *input);
// Records a node, or the default one where `node` is null; `is_monitor`: what a node plays. Returns 0, or an errno where there is
// no PipeWire, or no sound from the node in 5 s (ETIMEDOUT).
int hwd_sound_input_connect(hwd_sound_input *input, const char *node, bool is_monitor);
// Ends the recording: reads return -1 once they have returned what came before.
void hwd_sound_input_stop(hwd_sound_input *input);

typedef struct {
    // Frames, when the first was heard by CLOCK_MONOTONIC in nanoseconds, and whether the graph's clock says so.
    uint32_t frames;
    bool is_exact;
    int64_t time;
} hwd_sound_buffer;

// Reads a buffer of at most HWD_SOUND_INPUT_FRAMES frames. Returns 1, 0 where none comes in some milliseconds, -1 at the end.
int hwd_sound_input_read(hwd_sound_input *input, float *samples, hwd_sound_buffer *buffer, int milliseconds);
// Why PipeWire ended the stream, in a line; empty while it has not, and where hwd_sound_input_stop did.
void hwd_sound_input_reason(hwd_sound_input *input, char *text, size_t size);
