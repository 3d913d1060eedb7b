// SPDX-License-Identifier: GPL-2.0-or-later
// The loops that compare pictures, for one instruction set: their names are COMPARED and MEANS. They are plain, so that
// the compiler makes vectors of them.
#include <stdlib.h>
#include <string.h>

/// Sums over columns of four rows, or over blocks of 4x4 samples; those of 64 samples of 12 bits stay below 2^31, and
/// those of longer samples wrap.
typedef struct {
    uint32_t *a, *b;
    uint32_t *squares;   ///< of both
    uint32_t *products;
} sums;

/// Whether a row's samples are words that need no conversion.
INLINE bool is_plain(const hwd_samples *samples) {
    return samples->words && samples->step == 2 && samples->shift == 0 && samples->scale == 0
        && (uintptr_t)samples->base % 2 == 0 && samples->stride % 2 == 0;
}

/// A row with each sample in a word: in place, or in `line`.
INLINE const uint16_t *read_row(const hwd_samples *samples, int row, int width, uint16_t *line) {
    const uint8_t *from = samples->base + (size_t)row * samples->stride;
    const int step = samples->step, shift = samples->shift, scale = samples->scale;
    if (is_plain(samples)) return (const uint16_t *)(const void *)from;
    if (!samples->words && step == 1) {
        for (int x = 0; x < width; x++) line[x] = (uint16_t)(from[x] << scale);
    } else if (!samples->words) {
        for (int x = 0; x < width; x++) line[x] = (uint16_t)(from[(size_t)x * step] << scale);
    } else if (step == 2) {
        memcpy(line, from, 2 * (size_t)width);
        for (int x = 0; x < width; x++) line[x] = (uint16_t)(line[x] >> shift << scale);
    } else {
        for (int x = 0; x < width; x++) {
            uint16_t value;
            memcpy(&value, from + (size_t)x * step, sizeof value);
            line[x] = (uint16_t)(value >> shift << scale);
        }
    }
    return line;
}

/// Adds a row of both pictures to the sums of its columns, whose arrays do not overlap.
INLINE void add_row(
    const uint16_t *restrict a, const uint16_t *restrict b, int width, uint32_t *restrict sum_a,
    uint32_t *restrict sum_b, uint32_t *restrict squares, uint32_t *restrict products) {
    for (int x = 0; x < width; x++) {
        const uint32_t first = a[x], second = b[x];
        sum_a[x] += first;
        sum_b[x] += second;
        squares[x] += first * first + second * second;
        products[x] += first * second;
    }
}

/// Of samples of up to 16 bits, which a file may have although its depth is less.
INLINE uint64_t squared_difference(const uint16_t *a, const uint16_t *b, int width) {
    uint64_t total = 0;
    for (int x = 0; x < width; x++) {
        const uint32_t difference = (uint32_t)a[x] - (uint32_t)b[x];
        total += (uint32_t)(difference * difference);
    }
    return total;
}

/// The sums of blocks, each of four columns.
INLINE void join_columns(const uint32_t *restrict columns, int count, uint32_t *restrict blocks) {
    for (int block = 0; block < count; block++) {
        const uint32_t *four = columns + 4 * block;
        blocks[block] = four[0] + four[1] + four[2] + four[3];
    }
}

/// The sum of SSIM of the windows of 64 samples between two rows of blocks; its constants are 0.01 and 0.03 of the peak.
INLINE double add_similarities(
    const sums *above, const sums *below, int windows, double peak, double *restrict found) {
    const uint32_t *a0 = above->a, *a1 = below->a, *b0 = above->b, *b1 = below->b, *s0 = above->squares,
                   *s1 = below->squares, *p0 = above->products, *p1 = below->products;
    const double count = 64, c1 = 0.0001 * peak * peak, c2 = 0.0009 * peak * peak;
    for (int block = 0; block < windows; block++) {
        const double a = (int32_t)(a0[block] + a0[block + 1] + a1[block] + a1[block + 1]);
        const double b = (int32_t)(b0[block] + b0[block + 1] + b1[block] + b1[block + 1]);
        const double squares = (int32_t)(s0[block] + s0[block + 1] + s1[block] + s1[block + 1]);
        const double products = (int32_t)(p0[block] + p0[block + 1] + p1[block] + p1[block + 1]);
        const double mean_a = a / count, mean_b = b / count;
        // Unbiased: divided by one less than there are samples.
        const double variances = (squares - count * (mean_a * mean_a + mean_b * mean_b)) / (count - 1);
        const double covariance = (products - count * mean_a * mean_b) / (count - 1);
        found[block] = (2 * mean_a * mean_b + c1) * (2 * covariance + c2) /
            ((mean_a * mean_a + mean_b * mean_b + c1) * (variances + c2));
    }
    double total = 0;
    for (int block = 0; block < windows; block++) total += found[block];
    return total;
}

/// Sums of `count` elements each at the start of `memory`; returns its end.
INLINE uint32_t *place_sums(sums *own, uint32_t *memory, int count) {
    *own = (sums){memory, memory + count, memory + 2 * (size_t)count, memory + 3 * (size_t)count};
    return memory + 4 * (size_t)count;
}

bool COMPARED(const hwd_samples *a, const hwd_samples *b, int width, int height, double peak, hwd_difference *found) {
    const int blocks = width / 4;
    const size_t column_bytes = 4 * (size_t)width * sizeof(uint32_t);
    uint32_t *memory = malloc(column_bytes + 8 * (size_t)blocks * sizeof(uint32_t));
    double *similarities = malloc(((size_t)blocks + 1) * sizeof(double));
    uint16_t *lines = malloc(2 * ((size_t)width + 1) * sizeof(uint16_t));
    const bool has_memory = memory && similarities && lines;
    sums columns, rows[2];
    double total = 0;
    uint64_t squared = 0, windows = 0;
    if (has_memory) place_sums(&rows[1], place_sums(&rows[0], place_sums(&columns, memory, width), blocks), blocks);
    for (int row = 0, strip = 0; has_memory && row < height; strip++) {
        const int end = height - row < 4 ? height : row + 4;
        const bool is_whole = end - row == 4;
        memset(memory, 0, column_bytes);
        for (; row < end; row++) {
            const uint16_t *first = read_row(a, row, width, lines), *second = read_row(b, row, width, lines + width);
            squared += squared_difference(first, second, width);
            add_row(first, second, width, columns.a, columns.b, columns.squares, columns.products);
        }
        if (!is_whole) break;
        const sums *below = &rows[strip % 2], *above = &rows[(strip + 1) % 2];
        join_columns(columns.a, blocks, below->a);
        join_columns(columns.b, blocks, below->b);
        join_columns(columns.squares, blocks, below->squares);
        join_columns(columns.products, blocks, below->products);
        if (strip == 0 || blocks < 2) continue;
        total += add_similarities(above, below, blocks - 1, peak, similarities);
        windows += (uint64_t)(blocks - 1);
    }
    free(memory);
    free(similarities);
    free(lines);
    if (!has_memory) return false;
    found->squared = squared;
    // A plane smaller than a window has no structure to compare.
    found->similarity = windows > 0 ? total / (double)windows : 1;
    return true;
}

/// Columns of samples that are added up at a time: a multiple of all vectors.
enum { CELL_PIECE = 512 };

/// Adds samples of a row from column `x` on to the sums of their columns.
INLINE void add_samples(const hwd_samples *samples, int row, int x, int count, uint32_t *restrict sum) {
    const int step = samples->step, shift = samples->shift;
    const uint8_t *from = samples->base + (size_t)row * samples->stride + (size_t)x * step;
    if (!samples->words && step == 1) {
        for (int i = 0; i < count; i++) sum[i] += from[i];
    } else if (!samples->words) {
        for (int i = 0; i < count; i++) sum[i] += from[(size_t)i * step];
    } else if (step == 2) {
        uint16_t words[CELL_PIECE];
        memcpy(words, from, 2 * (size_t)count);
        for (int i = 0; i < count; i++) sum[i] += (uint32_t)(words[i] >> shift);
    } else {
        for (int i = 0; i < count; i++) {
            uint16_t value;
            memcpy(&value, from + (size_t)i * step, sizeof value);
            sum[i] += (uint32_t)(value >> shift);
        }
    }
}

void MEANS(const hwd_samples *samples, int width, int height, int columns, int rows, float *means) {
    for (int row = 0; row < rows; row++) {
        const int top = (int)((int64_t)height * row / rows), bottom = (int)((int64_t)height * (row + 1) / rows);
        int column = 0, left = 0, right = columns > 0 ? width / columns : 0;
        uint64_t total = 0;
        for (int x = 0; column < columns; x += CELL_PIECE) {
            const int rest = width - x, count = rest < CELL_PIECE ? rest : CELL_PIECE;
            uint32_t piece[CELL_PIECE] = {0};
            for (int y = top; y < bottom; y++) add_samples(samples, y, x, count, piece);
            for (int next = x; column < columns;) {
                for (; next < right && next < x + count; next++) total += piece[next - x];
                if (next < right) break;
                // A picture with fewer samples than the grid has cells leaves some empty.
                const int in_cell = (bottom - top) * (right - left);
                means[row * columns + column++] = in_cell > 0 ? (float)(total << samples->scale) / (float)in_cell : 0;
                left = right;
                right = (int)((int64_t)width * (column + 1) / columns);
                total = 0;
            }
        }
    }
}
