// SPDX-License-Identifier: GPL-2.0-or-later
// Compares pictures: squared differences, structural similarity (Wang and others, 2004) and mean values of cells.
#include "CPixels.h"
#include <stdlib.h>
#include <string.h>

/// The sums over a 4x4 block; four of them make those of an 8x8 window. 16 samples of 12 bits stay below 2^30.
typedef struct {
    uint32_t a, b;
    uint32_t squares;   ///< of both
    uint32_t products;
} sums;

/// Reads a row, each sample in a word.
static void read_row(const hwd_samples *samples, int row, int width, uint16_t *line) {
    const uint8_t *from = samples->base + (size_t)row * samples->stride;
    if (!samples->words) {
        for (int x = 0; x < width; x++) line[x] = (uint16_t)(from[(size_t)x * samples->step] << samples->scale);
        return;
    }
    for (int x = 0; x < width; x++) {
        uint16_t value;
        memcpy(&value, from + (size_t)x * samples->step, sizeof value);
        line[x] = (uint16_t)(value >> samples->shift << samples->scale);
    }
}

static uint64_t squared_difference(const uint16_t *a, const uint16_t *b, int width) {
    uint64_t total = 0;
    for (int x = 0; x < width; x++) {
        int32_t difference = (int32_t)a[x] - (int32_t)b[x];
        total += (uint64_t)((int64_t)difference * difference);
    }
    return total;
}

/// Adds a row of both pictures to the sums of its 4x4 blocks.
static void add_row(const uint16_t *a, const uint16_t *b, sums *blocks, int columns) {
    for (int block = 0; block < columns; block++) {
        for (int x = 4 * block; x < 4 * block + 4; x++) {
            uint32_t first = a[x], second = b[x];
            blocks[block].a += first;
            blocks[block].b += second;
            blocks[block].squares += first * first + second * second;
            blocks[block].products += first * second;
        }
    }
}

/// SSIM of one window of 64 samples, with the constants 0.01 and 0.03 of the peak.
static double similarity(const sums *above, const sums *below, double peak) {
    const double count = 64;
    double a = 0, b = 0, squares = 0, products = 0;
    for (int block = 0; block < 2; block++) {
        a += (double)above[block].a + below[block].a;
        b += (double)above[block].b + below[block].b;
        squares += (double)above[block].squares + below[block].squares;
        products += (double)above[block].products + below[block].products;
    }
    double mean_a = a / count, mean_b = b / count;
    // Unbiased: divided by one less than there are samples.
    double variances = (squares - count * (mean_a * mean_a + mean_b * mean_b)) / (count - 1);
    double covariance = (products - count * mean_a * mean_b) / (count - 1);
    double c1 = 0.0001 * peak * peak, c2 = 0.0009 * peak * peak;
    return (2 * mean_a * mean_b + c1) * (2 * covariance + c2) /
        ((mean_a * mean_a + mean_b * mean_b + c1) * (variances + c2));
}

bool hwd_compare(const hwd_samples *a, const hwd_samples *b, int width, int height, double peak, hwd_difference *found) {
    int columns = width / 4;
    size_t row_bytes = (size_t)width * sizeof(uint16_t), block_bytes = (size_t)columns * sizeof(sums);
    uint16_t *first = malloc(2 * row_bytes);
    sums *above = calloc(2, block_bytes + sizeof(sums));
    if (!first || !above) {
        free(first);
        free(above);
        return false;
    }
    uint16_t *second = first + width;
    sums *below = above + columns + 1;
    double total = 0;
    uint64_t squared = 0, windows = 0;
    for (int row = 0; row < height; row++) {
        read_row(a, row, width, first);
        read_row(b, row, width, second);
        squared += squared_difference(first, second, width);
        add_row(first, second, below, columns);
        if (row % 4 != 3) continue;
        for (int block = 0; row > 4 && block + 1 < columns; block++) {
            total += similarity(above + block, below + block, peak);
            windows++;
        }
        sums *swapped = above;
        above = below;
        below = swapped;
        memset(below, 0, block_bytes);
    }
    free(first);
    free(above < below ? above : below);
    found->squared = squared;
    // A plane smaller than a window has no structure to compare.
    found->similarity = windows > 0 ? total / (double)windows : 1;
    return true;
}

void hwd_cell_means(const hwd_samples *samples, int width, int height, int columns, int rows, float *means) {
    for (int row = 0; row < rows; row++) {
        int top = (int)((int64_t)height * row / rows), bottom = (int)((int64_t)height * (row + 1) / rows);
        for (int column = 0; column < columns; column++) {
            int left = (int)((int64_t)width * column / columns), right = (int)((int64_t)width * (column + 1) / columns);
            uint64_t total = 0;
            for (int y = top; y < bottom; y++) {
                const uint8_t *from = samples->base + (size_t)y * samples->stride + (size_t)left * samples->step;
                for (int x = left; x < right; x++, from += samples->step) {
                    uint16_t value = *from;
                    if (samples->words) memcpy(&value, from, sizeof value);
                    total += (uint64_t)(value >> samples->shift << samples->scale);
                }
            }
            // A picture with fewer samples than the grid has cells leaves some empty.
            int count = (bottom - top) * (right - left);
            means[row * columns + column] = count > 0 ? (float)total / (float)count : 0;
        }
    }
}
