// SPDX-License-Identifier: GPL-2.0-or-later
// What Swift cannot import of x265.h (token-pasting macros), and the inner loops that belong in C.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <x265.h>

/// The function table for a bit depth, or NULL where libx265 was built without it.
static inline const x265_api *hwd_x265_api(int bit_depth) { return x265_api_get(bit_depth); }

/// X265_BUILD of the headers this was compiled with.
static inline int hwd_x265_build(void) { return X265_BUILD; }

static inline void hwd_x265_set_plane(x265_picture *picture, int index, const void *base, int stride) {
    // x265 only reads an input picture's planes; its type is shared with reconstructed pictures.
    picture->planes[index] = (void *)(uintptr_t)base;
    picture->stride[index] = stride;
}

/// Splits rows of interleaved 8-bit Cb/Cr into two planes. Strides in bytes, width in chroma samples.
static inline void hwd_deinterleave_8(
    const uint8_t *src, size_t src_stride, uint8_t *cb, uint8_t *cr, size_t dst_stride, int width, int height) {
    for (int y = 0; y < height; y++) {
        const uint8_t *restrict s = src + (size_t)y * src_stride;
        uint8_t *restrict u = cb + (size_t)y * dst_stride;
        uint8_t *restrict v = cr + (size_t)y * dst_stride;
        for (int x = 0; x < width; x++) {
            u[x] = s[2 * x];
            v[x] = s[2 * x + 1];
        }
    }
}

/// The same for 16-bit words, which keep their value.
static inline void hwd_deinterleave_16(
    const uint16_t *src, size_t src_stride, uint16_t *cb, uint16_t *cr, size_t dst_stride, int width, int height) {
    for (int y = 0; y < height; y++) {
        const uint16_t *restrict s = (const uint16_t *)((const uint8_t *)src + (size_t)y * src_stride);
        uint16_t *restrict u = (uint16_t *)((uint8_t *)cb + (size_t)y * dst_stride);
        uint16_t *restrict v = (uint16_t *)((uint8_t *)cr + (size_t)y * dst_stride);
        for (int x = 0; x < width; x++) {
            u[x] = s[2 * x];
            v[x] = s[2 * x + 1];
        }
    }
}
