// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_TRANSFORM_H
#define HWSIM_TRANSFORM_H

#include <stdbool.h>
#include <stdint.h>

// HEVC's DCT of 4x4 to 32x32 (H.265, 8.6.4) and flat quantisation (8.6.3). Blocks are rows of 1 << log2 values.

enum { MAX_TRANSFORM = 32 * 32 };

void transform_prepare(void);  // before anything else
void transform_forward(const int16_t *residual, int16_t *coefficients, int log2, int depth);
// `columns` and `rows`: behind them all coefficients are 0.
void transform_inverse(
    const int16_t *coefficients, int16_t *residual, int log2, int depth, int columns, int rows);

struct quantiser {
    int qp;  // with QpBdOffset added
    int depth;
    bool intra, sign_hiding;
};

// Returns how many levels are not 0. With sign hiding the levels' parities carry the hidden signs.
int quantise(const struct quantiser *, const int16_t *coefficients, int16_t *levels, int log2);
// Also returns how many columns and rows contain all levels.
void dequantise(
    const struct quantiser *, const int16_t *levels, int16_t *coefficients, int log2, int *columns, int *rows);

// The up-right diagonal scan (6.5.3) of a square of 2, 4 or 8: position n is at x = entry & 7, y = entry >> 3.
extern uint8_t diagonal_scan[4][64];

#endif
