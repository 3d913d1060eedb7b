// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stddef.h>
#include <stdint.h>

/// A picture at half its width and height, in blocks of 8x8 samples, and what is known about its prediction from others.
///
/// A picture may be used on one thread at a time.
typedef struct hwd_lowres hwd_lowres;

/// Luma samples of a frame.
typedef struct {
    const void *base;
    ptrdiff_t stride;     ///< bytes from a row to the next
    int bytes_per_sample; ///< 1 or 2
    int shift;            ///< bits to remove from a sample for one of 8 bits
    int width, height;    ///< at least 1
} hwd_luma;

/// Halves a frame, whose last column and row are repeated up to an even coded size; NULL without memory.
hwd_lowres *hwd_lowres_new(hwd_luma luma, int coded_width, int coded_height);

void hwd_lowres_free(hwd_lowres *picture);

/// The number of blocks, which come row by row.
int hwd_lowres_blocks(const hwd_lowres *picture);

/// Finds the best prediction of each block from a picture before and one after; NULL for none.
void hwd_lowres_predict(hwd_lowres *picture, const hwd_lowres *before, const hwd_lowres *after);

/// Forgets what later pictures take from the picture.
void hwd_lowres_clear(hwd_lowres *picture);

/// Adds what the picture takes from the pictures that `hwd_lowres_predict` was called with.
void hwd_lowres_propagate(const hwd_lowres *picture, hwd_lowres *before, hwd_lowres *after);

/// The offset of each block's quantization parameter: `base`, and less the more other pictures take from the block.
void hwd_lowres_offsets(const hwd_lowres *picture, float base, float *offsets);
