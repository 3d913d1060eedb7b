// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Uncompressed pictures as cameras and PipeWire send them, copied into the memory of a session's picture. Sizes, strides and
// lengths come from a driver or another process: they are checked here before a byte is read.

typedef enum hwd_raw_layout {
    HWD_RAW_NV12 = 1, // 8-bit luma, then Cb and Cr interleaved
    HWD_RAW_YU12,     // 8-bit luma, Cb, Cr
    HWD_RAW_P010,     // as NV12, 16-bit words
    HWD_RAW_YUYV,     // 8-bit 4:2:2, Y0 Cb Y1 Cr; copied to NV12
    HWD_RAW_UYVY,     // 8-bit 4:2:2, Cb Y0 Cr Y1; copied to NV12
    HWD_RAW_RGBX,     // 8-bit RGB of four bytes, of which the fourth means nothing; it is written as 255
    HWD_RAW_RGBA,     // 8-bit RGB of four bytes with alpha
    HWD_RAW_RGBA16F,  // half floats R, G, B, alpha
} hwd_raw_layout;

enum { HWD_RAW_PLANES = 3, HWD_RAW_MAX_SIDE = 16384 };

// The planes of a picture; `size`: the bytes that may be read from `base` on.
typedef struct hwd_raw_source {
    const uint8_t *base[HWD_RAW_PLANES];
    uint64_t size[HWD_RAW_PLANES];
    uint32_t stride[HWD_RAW_PLANES];
} hwd_raw_source;

typedef struct hwd_raw_target {
    uint8_t *base[HWD_RAW_PLANES];
    uint32_t stride[HWD_RAW_PLANES];
} hwd_raw_target;

int hwd_raw_plane_count(hwd_raw_layout layout);
// Whether rows of `stride` bytes can be those of the first plane: not less than its samples, and no more than 2^20.
bool hwd_raw_can_have(hwd_raw_layout layout, uint32_t width, uint32_t stride);
// Finds the planes in `size` bytes that hold them one after the other, with rows of `stride` bytes of the first plane. A stride
// of 0 means GstVideoInfo's: rows of a multiple of 4 bytes, and luma with an even number of rows.
// False where the size is not possible or they do not fit.
bool hwd_raw_split(
    hwd_raw_layout layout, uint32_t width, uint32_t height, const void *data, uint64_t size, uint32_t stride,
    hwd_raw_source *source);
// Whether every row of every plane is within its bytes.
bool hwd_raw_fits(hwd_raw_layout layout, uint32_t width, uint32_t height, const hwd_raw_source *source);
// Copies a picture that fits. The target has planes of the size: NV12 for 4:2:2, else of the same layout.
void hwd_raw_copy(
    hwd_raw_layout layout, uint32_t width, uint32_t height, const hwd_raw_source *source, const hwd_raw_target *target);
// 4:2:2 with its components in planes (JPEG's) to YU12: chroma of two rows becomes their mean.
void hwd_raw_copy_422(
    uint32_t width, uint32_t height, const hwd_raw_source *source, const hwd_raw_target *target);
