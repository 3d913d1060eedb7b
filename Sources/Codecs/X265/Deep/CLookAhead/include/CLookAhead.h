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

/// Sets the propagated costs of the picture's blocks to 0.
void hwd_lowres_clear(hwd_lowres *picture);

/// Adds the propagated costs of the picture's blocks to those of the blocks that they are predicted from.
///
/// `before` and `after` are those of `hwd_lowres_predict`.
void hwd_lowres_propagate(const hwd_lowres *picture, hwd_lowres *before, hwd_lowres *after);

/// Writes an offset of the quantization parameter for each block, at most `count`.
///
/// It is `base` for a block that no other picture is predicted from, and less the higher the block's propagated cost is.
void hwd_lowres_offsets(const hwd_lowres *picture, float base, float *offsets, int count);
