// SPDX-License-Identifier: GPL-2.0-or-later
// Copies frames to surfaces, 64 bytes at a time. The loop is limited by memory: baseline vectors are nearly as fast here as
// AVX2 and AVX-512, but non-temporal stores take two thirds of the time, since overwritten lines are not fetched.
#include "CPixels.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// The compiler splits these vectors where the machine's are shorter.
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes32 __attribute__((vector_size(32)));
typedef uint8_t bytes64 __attribute__((vector_size(64)));
typedef uint16_t words16 __attribute__((vector_size(32)));
typedef uint16_t words32 __attribute__((vector_size(64)));

#define LACE16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, \
    14, 30, 15, 31
#define LACE32 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, \
    14, 46, 15, 47, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, \
    28, 60, 29, 61, 30, 62, 31, 63

/// Source bytes, for each source plane, that become 64 target bytes.
INLINE size_t source_bytes(hwd_change change, bool joins) { return (size_t)64 >> (change == HWD_WIDEN) >> joins; }

/// Produces 64 target bytes.
INLINE void convert(hwd_change change, bool joins, const uint8_t *first, const uint8_t *second, bytes64 *to) {
    if (change == HWD_WIDEN && joins) {
        bytes16 cb, cr;
        memcpy(&cb, first, sizeof cb);
        memcpy(&cr, second, sizeof cr);
        *to = __builtin_shufflevector((bytes32){0}, __builtin_shufflevector(cb, cr, LACE16), LACE32);
    } else if (change == HWD_WIDEN) {
        bytes32 samples;
        memcpy(&samples, first, sizeof samples);
        *to = __builtin_shufflevector((bytes32){0}, samples, LACE32);
    } else if (change == HWD_KEEP_BYTES && joins) {
        bytes32 cb, cr;
        memcpy(&cb, first, sizeof cb);
        memcpy(&cr, second, sizeof cr);
        *to = __builtin_shufflevector(cb, cr, LACE32);
    } else if (joins) {
        words16 cb, cr;
        memcpy(&cb, first, sizeof cb);
        memcpy(&cr, second, sizeof cr);
        *to = (bytes64)(__builtin_shufflevector(cb, cr, LACE16) << (change == HWD_RAISE ? 6 : 0));
    } else {
        words32 samples;
        memcpy(&samples, first, sizeof samples);
        *to = (bytes64)(samples << (change == HWD_RAISE ? 6 : 0));
    }
}

/// Produces fewer than 64 target bytes; reads and writes nothing beyond them.
INLINE void convert_some(
    hwd_change change, bool joins, const uint8_t *first, const uint8_t *second, uint8_t *to, size_t count) {
    uint8_t some[2][64] = {{0}};
    bytes64 block;
    const size_t left = count * source_bytes(change, joins) / sizeof block;
    memcpy(some[0], first, left);
    if (joins) memcpy(some[1], second, left);
    convert(change, joins, some[0], some[1], &block);
    memcpy(to, &block, count);
}

/// Prefetches half a page ahead: hardware prefetchers stop at page boundaries. The address need not be mapped.
INLINE void prefetch(const uint8_t *at) { __builtin_prefetch((const void *)((uintptr_t)at + 2048)); }

INLINE void fill(
    hwd_change change, bool joins, bool streams, const hwd_filling *how, const hwd_plane *sources,
    hwd_mutable_plane target) {
    const size_t step = source_bytes(change, joins);
    const size_t unit = (size_t)(change == HWD_KEEP_BYTES ? 1 : 2) * (how->pairs ? 2 : 1);
    const size_t row = (size_t)how->width * unit, full_row = (size_t)how->full_width * unit;
    const bool copies = !streams && !joins && (change == HWD_KEEP_BYTES || change == HWD_KEEP_WORDS);
    // A single large memcpy may use non-temporal stores; copying row by row takes 1.5 times as long.
    const bool copies_all = copies && row == full_row && row == sources[0].stride && row == target.stride;
    if (copies_all) memcpy(target.base, sources[0].base, row * (size_t)how->height);
    for (int y = copies_all ? how->height : 0; y < how->full_height; y++) {
        const size_t line = (size_t)(y < how->height ? y : how->height - 1);
        const uint8_t *first = sources[0].base + line * sources[0].stride;
        const uint8_t *second = joins ? sources[1].base + line * sources[1].stride : NULL;
        uint8_t *to = target.base + (size_t)y * target.stride;
        size_t at = 0, from = 0;
        if (copies) {
            memcpy(to, first, row);
            at = row;
        }
        for (; at + 64 <= row; at += 64, from += step) {
            bytes64 block;
            if (streams) prefetch(first + from);
            if (streams && joins) prefetch(second + from);
            convert(change, joins, first + from, joins ? second + from : NULL, &block);
            if (streams) __builtin_nontemporal_store(block, (bytes64 *)(void *)(to + at));
            else memcpy(to + at, &block, sizeof block);
        }
        if (at < row) convert_some(change, joins, first + from, joins ? second + from : NULL, to + at, row - at);
        if (row == full_row) continue;
        // Reads the source again instead of the surface, which may be slow to read.
        uint8_t last[4];
        from = (row - unit) * step / 64;
        convert_some(change, joins, first + from, joins ? second + from : NULL, last, unit);
        for (at = row; at < full_row; at += unit) memcpy(to + at, last, unit);
    }
}

/// The size in bytes from which a plane is written with non-temporal stores.
static const size_t streamed_size = 256 * 1024;

void hwd_fill(const hwd_filling *how, hwd_plane first, hwd_plane second, hwd_mutable_plane target) {
    const hwd_plane sources[2] = {first, second};
    // Large planes are written with non-temporal stores, because a device reads them next; whole cache lines only, since a
    // partial line would be read and written again.
    const bool streams = ((uintptr_t)target.base & 63) == 0 && (target.stride & 63) == 0
        && target.stride * (size_t)how->full_height >= streamed_size;
#define CASE(change, joins) \
    case (change) * 2 + (joins): \
        if (streams) fill(change, joins, true, how, sources, target); \
        else fill(change, joins, false, how, sources, target); \
        break;
    switch ((int)how->change * 2 + how->joins) {
        CASE(HWD_KEEP_BYTES, 0)
        CASE(HWD_KEEP_BYTES, 1)
        CASE(HWD_KEEP_WORDS, 0)
        CASE(HWD_KEEP_WORDS, 1)
        CASE(HWD_WIDEN, 0)
        CASE(HWD_WIDEN, 1)
        CASE(HWD_RAISE, 0)
        CASE(HWD_RAISE, 1)
    }
#undef CASE
#if defined(__x86_64__)
    // Orders the non-temporal stores before later ones, such as the command that makes a device read them.
    if (streams) __builtin_ia32_sfence();
#endif
}

void hwd_fill_frame(const hwd_frame_filling *how, const hwd_plane *planes, hwd_mutable_plane luma, hwd_mutable_plane chroma) {
    const hwd_change change = how->bytes == 1 ? (how->deep ? HWD_WIDEN : HWD_KEEP_BYTES) : how->low ? HWD_RAISE : HWD_KEEP_WORDS;
    const hwd_filling samples = {change, false, false, how->width, how->height, how->full_width, how->full_height};
    const hwd_filling pairs = {
        change, true, how->planar, (how->width + 1) / 2, (how->height + 1) / 2, how->full_width / 2, how->full_height / 2};
    hwd_fill(&samples, planes[0], planes[0], luma);
    hwd_fill(&pairs, planes[1], planes[how->planar ? 2 : 1], chroma);
}
