// SPDX-License-Identifier: GPL-2.0-or-later
// The transforms, by even and odd halves; the loops over columns are what compilers vectorise.
#include "coder/transform.h"

#include <pthread.h>

#include "coder/clones.h"

static int16_t matrix[32][32];

static void prepare(void) {
    // 64 * sqrt(2) * cos(j * pi / 64), as the standard rounds it.
    static const int8_t cosine[33] = {
        64, 90, 90, 90, 89, 88, 87, 85, 83, 82, 80, 78, 75, 73, 70, 67, 64, 61, 57, 54, 50, 46, 43, 38, 36, 31, 25, 22,
        18, 13, 9, 4, 0,
    };
    for (int k = 0; k < 32; k++)
        for (int n = 0; n < 32; n++) {
            int angle = (2 * n + 1) * k % 128;
            if (angle > 64) angle = 128 - angle;
            matrix[k][n] = (int16_t)(angle > 32 ? -cosine[64 - angle] : cosine[angle]);
        }
    for (int log2 = 0; log2 < 4; log2++)
        for (int n = 0, i = 0, size = 1 << log2; n < 2 * size - 1; n++)
            for (int x = 0; x <= n; x++)
                if (x < size && n - x < size) diagonal_scan[log2][i++] = (uint8_t)((n - x) << 3 | x);
}

void transform_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

INLINE int16_t saturate(int32_t value) {
    return (int16_t)(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
}

// One pass along the columns, its result transposed: out[x][k] = sum over i of matrix(k, i) * in[i][x].
INLINE void forward_pass(const int16_t *in, int16_t *out, const int size, int shift) {
    int32_t part[32][32], sums[32];
    const int step = 32 / size;
    for (int i = 0; i < size; i++)
        for (int x = 0; x < size; x++) part[i][x] = in[i * size + x];
    // After each round, rows 0 to half - 1 hold the sums, and rows half to 2 * half - 1 the differences.
    for (int half = size / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
        for (int i = 0; i < half; i++)
            for (int x = 0; x < size; x++) {
                int32_t a = part[i][x], b = part[2 * half - 1 - i][x];
                part[i][x] = a + b;
                part[2 * half - 1 - i][x] = a - b;
            }
        for (int k = 0; k < half; k++) {
            int row = (2 * k + 1) * stride;
            for (int x = 0; x < size; x++) sums[x] = 1 << (shift - 1);
            for (int i = 0; i < half; i++) {
                int32_t factor = matrix[row * step][i];
                const int32_t *difference = part[2 * half - 1 - i];
                for (int x = 0; x < size; x++) sums[x] += factor * difference[x];
            }
            for (int x = 0; x < size; x++) out[x * size + row] = (int16_t)(sums[x] >> shift);
        }
    }
    for (int x = 0; x < size; x++) out[x * size] = (int16_t)((64 * part[0][x] + (1 << (shift - 1))) >> shift);
}

INLINE void forward(const int16_t *residual, int16_t *coefficients, const int log2, int depth) {
    int16_t between[MAX_TRANSFORM];
    forward_pass(residual, between, 1 << log2, log2 + depth - 9);
    forward_pass(between, coefficients, 1 << log2, log2 + 6);
}

CLONES static void forward4(const int16_t *in, int16_t *out, int depth) { forward(in, out, 2, depth); }
CLONES static void forward8(const int16_t *in, int16_t *out, int depth) { forward(in, out, 3, depth); }
CLONES static void forward16(const int16_t *in, int16_t *out, int depth) { forward(in, out, 4, depth); }
CLONES static void forward32(const int16_t *in, int16_t *out, int depth) { forward(in, out, 5, depth); }

void transform_forward(const int16_t *residual, int16_t *coefficients, int log2, int depth) {
    switch (log2) {
        case 2: forward4(residual, coefficients, depth); break;
        case 3: forward8(residual, coefficients, depth); break;
        case 4: forward16(residual, coefficients, depth); break;
        default: forward32(residual, coefficients, depth); break;
    }
}

// The other way: out[x][i] = sum over k < rows of matrix(k, i) * in[k][x]. The forward pass wrote its result
// transposed, so two such passes restore the orientation.
INLINE void inverse_pass(const int16_t *in, int16_t *out, const int size, int shift, int rows, int width) {
    int32_t even[32][32], odd[32];
    const int step = 32 / size;
    int vectors = (width + 7) & ~7;
    if (vectors > size) vectors = size;
    for (int x = 0; x < vectors; x++) even[0][x] = 64 * in[x] + (1 << (shift - 1));
    for (int half = 1; half < size; half *= 2) {
        // Rows of `in` at odd multiples of `stride` make the odd half of a transform of 2 * half.
        int stride = size / (2 * half);
        for (int i = 0; i < half; i++) {
            for (int x = 0; x < vectors; x++) odd[x] = 0;
            for (int k = stride; k < rows; k += 2 * stride) {
                int32_t factor = matrix[k * step][i];
                for (int x = 0; x < vectors; x++) odd[x] += factor * in[k * size + x];
            }
            for (int x = 0; x < vectors; x++) {
                int32_t sum = even[i][x];
                even[i][x] = sum + odd[x];
                even[2 * half - 1 - i][x] = sum - odd[x];
            }
        }
    }
    for (int x = 0; x < width; x++)
        for (int i = 0; i < size; i++) out[x * size + i] = saturate(even[i][x] >> shift);
}

INLINE void inverse(const int16_t *coefficients, int16_t *residual, const int log2, int depth, int columns, int rows) {
    int16_t between[MAX_TRANSFORM];
    const int size = 1 << log2;
    inverse_pass(coefficients, between, size, 7, rows, columns);
    // `between` has a row for each column of coefficients.
    inverse_pass(between, residual, size, 20 - depth, columns, size);
}

CLONES static void inverse4(const int16_t *in, int16_t *out, int depth, int columns, int rows) {
    inverse(in, out, 2, depth, columns, rows);
}
CLONES static void inverse8(const int16_t *in, int16_t *out, int depth, int columns, int rows) {
    inverse(in, out, 3, depth, columns, rows);
}
CLONES static void inverse16(const int16_t *in, int16_t *out, int depth, int columns, int rows) {
    inverse(in, out, 4, depth, columns, rows);
}
CLONES static void inverse32(const int16_t *in, int16_t *out, int depth, int columns, int rows) {
    inverse(in, out, 5, depth, columns, rows);
}

void transform_inverse(
    const int16_t *coefficients, int16_t *residual, int log2, int depth, int columns, int rows) {
    if (columns == 1 && rows == 1) {
        int32_t value = (64 * coefficients[0] + 64) >> 7, shift = 20 - depth;
        value = (64 * value + (1 << (shift - 1))) >> shift;
        for (int i = 0; i < 1 << (2 * log2); i++) residual[i] = (int16_t)value;
        return;
    }
    switch (log2) {
        case 2: inverse4(coefficients, residual, depth, columns, rows); break;
        case 3: inverse8(coefficients, residual, depth, columns, rows); break;
        case 4: inverse16(coefficients, residual, depth, columns, rows); break;
        default: inverse32(coefficients, residual, depth, columns, rows); break;
    }
}
