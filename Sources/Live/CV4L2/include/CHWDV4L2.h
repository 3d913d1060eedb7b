// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Video4Linux2's requests (linux/videodev2.h), which Swift cannot import. Functions return 0, or a count, or a negative errno. What
// a driver wrote is returned as it is, but texts end.

typedef struct hwd_v4l2_camera {
    char driver[17], card[33], bus[33];
    // Sends video by mapped buffers, and takes none.
    bool captures;
    // Only by buffers of several memories.
    bool is_multiplanar;
} hwd_v4l2_camera;

// Opens a device for reading without waiting.
int hwd_v4l2_open(const char *path);
int hwd_v4l2_query(int device, hwd_v4l2_camera *camera);

// The fourcc of a format; -EINVAL after the last one.
int hwd_v4l2_format(int device, uint32_t index, uint32_t *fourcc);

typedef struct hwd_v4l2_range {
    // One value (`least`), else all from `least` to `most`, `step` apart.
    bool is_one;
    // Of a size: width and height. Of an interval between frames: numerator and denominator of seconds.
    uint32_t least[2], most[2], step[2];
} hwd_v4l2_range;

int hwd_v4l2_size(int device, uint32_t fourcc, uint32_t index, hwd_v4l2_range *size);
int hwd_v4l2_interval(
    int device, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index, hwd_v4l2_range *interval);

typedef struct hwd_v4l2_setting {
    uint32_t fourcc, width, height;
    // Bytes of a row and of a picture.
    uint32_t stride, size;
    // Whether each buffer holds a single field.
    bool is_field;
    // V4L2_COLORSPACE_*, V4L2_XFER_FUNC_*, V4L2_YCBCR_ENC_*, V4L2_QUANTIZATION_*
    uint32_t colorspace, transfer, encoding, quantization;
    // Seconds between frames; 0/0 where the driver does not say.
    uint32_t numerator, denominator;
} hwd_v4l2_setting;

// Asks for a format, a size and a rate; `setting` becomes what the driver chose.
int hwd_v4l2_set(int device, hwd_v4l2_setting *setting);

// Allocates buffers, and returns how many the driver says there are.
int hwd_v4l2_allocate(int device, uint32_t count);
// Where a buffer can be mapped.
int hwd_v4l2_buffer(int device, uint32_t index, uint32_t *offset, uint32_t *length);
int hwd_v4l2_queue(int device, uint32_t index);
int hwd_v4l2_start(int device);
int hwd_v4l2_stop(int device);

typedef struct hwd_v4l2_frame {
    uint32_t index, bytes, sequence;
    bool is_damaged;
    // Nanoseconds of CLOCK_MONOTONIC; only where `is_timed`.
    int64_t time;
    bool is_timed;
} hwd_v4l2_frame;

// Takes the next filled buffer; -EAGAIN where there is none yet.
int hwd_v4l2_dequeue(int device, hwd_v4l2_frame *frame);
