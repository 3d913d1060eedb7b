// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Video of a node of PipeWire. What comes from another process is checked here: planes lie within the memory that was mapped.

typedef struct hwd_pw_node {
    uint32_t id;
    uint64_t serial;
    // Texts of other processes; null where they are not set.
    const char *name, *description;
} hwd_pw_node;

// Calls `found` with each node that sends video. 0, or a negative errno; -EHOSTDOWN without a PipeWire.
int hwd_pw_video_list(void (*found)(void *context, const hwd_pw_node *node), void *context);

// Formats of pictures, in the order in which they are offered.
enum hwd_pw_video_kind {
    HWD_PW_NV12 = 1,
    HWD_PW_I420,
    HWD_PW_P010,
    HWD_PW_YUY2,
    HWD_PW_UYVY,
    HWD_PW_BGRX, // and BGRA: a screen's alpha means nothing
    HWD_PW_RGBX, // and RGBA
};

typedef struct hwd_pw_video_format {
    enum hwd_pw_video_kind kind;
    uint32_t width, height;
    // Frames per second; 0 of 1 where they come when something changes.
    uint32_t rate, per;
    // spa/param/video/color.h
    uint32_t range, matrix, transfer, primaries;
} hwd_pw_video_format;

typedef struct hwd_pw_video_frame {
    // Bytes that can be read; of pictures in one memory only the first.
    const uint8_t *data[3];
    uint64_t size[3];
    // Bytes of a row; 0 where the source does not say.
    uint32_t stride[3];
    // 0 for a damaged frame, and for one without a picture, whose number counts.
    int count;
    bool is_damaged;
    bool has_header;
    // By the header.
    uint64_t sequence;
    // Nanoseconds of the source's clock, by the header or the graph; 0 where neither says.
    int64_t time;
} hwd_pw_video_frame;

// Calls do not overlap. `frame` is called by a real-time thread, the others by any.
typedef struct hwd_pw_video_events {
    void *context;
    void (*formatted)(void *context, const hwd_pw_video_format *format);
    // False for one that is not usable, which does not end a silence.
    bool (*frame)(void *context, const hwd_pw_video_frame *frame);
    // The last call. `failed`: by an error, else because the node went away.
    void (*ended)(void *context, bool failed, const char *reason);
} hwd_pw_video_events;

typedef struct hwd_pw_video hwd_pw_video;

// What a node sends if it can: 0 for what does not matter.
typedef struct hwd_pw_video_request {
    uint32_t width, height;
    // Frames per second.
    uint32_t rate, per;
} hwd_pw_video_request;

// Connects to a node: by its serial, or, of a portal's connection `fd` (which this owns, -1 for the person's own), by its id.
// Null with an errno.
hwd_pw_video *hwd_pw_video_open(int fd, uint64_t serial, uint32_t id, hwd_pw_video_request request, int *error);
// Waits for a format; 0, -ETIMEDOUT, or -ECONNRESET where the stream ended before.
int hwd_pw_video_wait(hwd_pw_video *video, int milliseconds, hwd_pw_video_format *format);
// Begins to call. A frame that came before is the first one. `silence`: milliseconds without a frame after which the stream ends.
void hwd_pw_video_start(hwd_pw_video *video, hwd_pw_video_events events, int silence);
// No call follows, and none is under way.
void hwd_pw_video_stop(hwd_pw_video *video);
// Ends the stream as if its node went away, for a reason that the caller knows.
void hwd_pw_video_end(hwd_pw_video *video, const char *reason);
void hwd_pw_video_close(hwd_pw_video *video);
