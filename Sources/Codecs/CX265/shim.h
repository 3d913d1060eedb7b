// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of x265.h that Swift cannot import (token-pasting macros), and inner loops.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <x265.h>

/// The function table for a bit depth, or NULL where libx265 was built without it.
static inline const x265_api *hwd_x265_api(int bit_depth) { return x265_api_get(bit_depth); }

/// X265_BUILD of the headers this was compiled with.
static inline int hwd_x265_build(void) { return X265_BUILD; }

/// The value of x265's option `temporal-layers` for two levels: a switch up to build 199, and their number later.
static inline int hwd_x265_two_levels(void) { return X265_BUILD > 199 ? 2 : 1; }

/// Makes x265 use the order and types of pictures in their analysis, and nothing else of it.
///
/// `analysisLoad` must be set; x265 copies it and opens no file of that name.
static inline void hwd_x265_load_analysis(x265_param *parameters) {
#if X265_BUILD < 214
    parameters->analysisLoad = "x";
#else
    strcpy(parameters->analysisLoad, "x");
#endif
    parameters->bUseAnalysisFile = 0;
    parameters->analysisLoadReuseLevel = 1;
}

static inline void hwd_x265_set_plane(x265_picture *picture, int index, const void *base, int stride) {
    // x265_picture also describes reconstructed pictures, hence its non-const planes; those of an input are only read.
    picture->planes[index] = (void *)(uintptr_t)base;
    picture->stride[index] = stride;
}

// Explicit vectors, because the compiler does not vectorise these loops where Swift inlines them: sample by sample a 1080p
// frame took 0.6 ms on a machine that needs 0.2 ms with them.
typedef uint8_t hwd_bytes32 __attribute__((vector_size(32)));
typedef uint8_t hwd_bytes16 __attribute__((vector_size(16)));
typedef uint16_t hwd_words16 __attribute__((vector_size(32)));
typedef uint16_t hwd_words8 __attribute__((vector_size(16)));

/// Splits rows of interleaved 8-bit Cb/Cr into two planes. Strides in bytes, width in chroma samples.
static inline void hwd_deinterleave_8(
    const uint8_t *src, size_t src_stride, uint8_t *cb, uint8_t *cr, size_t dst_stride, int width, int height) {
    for (int y = 0; y < height; y++) {
        const uint8_t *s = src + (size_t)y * src_stride;
        uint8_t *u = cb + (size_t)y * dst_stride;
        uint8_t *v = cr + (size_t)y * dst_stride;
        int x = 0;
        for (; x + 16 <= width; x += 16) {
            hwd_bytes32 pairs;
            memcpy(&pairs, s + 2 * x, sizeof pairs);
            const hwd_bytes16 first = __builtin_shufflevector(
                pairs, pairs, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            const hwd_bytes16 second = __builtin_shufflevector(
                pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            memcpy(u + x, &first, sizeof first);
            memcpy(v + x, &second, sizeof second);
        }
        for (; x < width; x++) {
            u[x] = s[2 * x];
            v[x] = s[2 * x + 1];
        }
    }
}

/// Splits rows of interleaved 16-bit Cb/Cr into two planes; values are unchanged.
static inline void hwd_deinterleave_16(
    const uint16_t *src, size_t src_stride, uint16_t *cb, uint16_t *cr, size_t dst_stride, int width, int height) {
    for (int y = 0; y < height; y++) {
        const uint16_t *s = (const uint16_t *)((const uint8_t *)src + (size_t)y * src_stride);
        uint16_t *u = (uint16_t *)((uint8_t *)cb + (size_t)y * dst_stride);
        uint16_t *v = (uint16_t *)((uint8_t *)cr + (size_t)y * dst_stride);
        int x = 0;
        for (; x + 8 <= width; x += 8) {
            hwd_words16 pairs;
            memcpy(&pairs, s + 2 * x, sizeof pairs);
            const hwd_words8 first = __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6, 8, 10, 12, 14);
            const hwd_words8 second = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15);
            memcpy(u + x, &first, sizeof first);
            memcpy(v + x, &second, sizeof second);
        }
        for (; x < width; x++) {
            u[x] = s[2 * x];
            v[x] = s[2 * x + 1];
        }
    }
}
