// SPDX-License-Identifier: GPL-2.0-or-later
// Flat quantisation, with sign data hiding (H.265, 7.4.9.11 and 9.3.4.3's "signHidden").
#include <stdlib.h>
#include <string.h>

#include "coder/clones.h"
#include "coder/transform.h"

uint8_t diagonal_scan[4][64];

static const int32_t forward_scale[6] = {26214, 23302, 20560, 18396, 16384, 14564};
static const int32_t inverse_scale[6] = {40, 45, 51, 57, 64, 72};

static int shift_of(const struct quantiser *quantiser, int log2) {
    return 14 + quantiser->qp / 6 + 15 - quantiser->depth - log2;
}

// What rounds: a third in intra blocks, a sixth in others, which is about what costs least.
static int64_t rounding_of(const struct quantiser *quantiser, int shift) {
    return (int64_t)(quantiser->intra ? 171 : 85) << (shift - 9);
}

// Makes the parity of a sub-block's sum signal the sign of its first coefficient, by the cheapest change. `low` is
// how much each level is below what it stands for, in 256ths.
static void hide_sign(int16_t *levels, const int16_t *coefficients, const int32_t *low, const int *places) {
    int first = -1, last = -1, sum = 0;
    for (int n = 0; n < 16; n++) {
        int level = levels[places[n]];
        if (!level) continue;
        if (first < 0) first = n;
        last = n;
        sum += abs(level);
    }
    if (first < 0 || last - first <= 3) return;
    if ((sum & 1) == (levels[places[first]] < 0)) return;
    // Nothing may become 0 at the ends, or begin outside them: the decoder looks at both. So nothing becomes 0 at all.
    int best = -1, change = 0, least = 1 << 30;
    for (int n = first; n <= last; n++) {
        int magnitude = abs(levels[places[n]]);
        int32_t up = -low[n], down = low[n];
        if (magnitude < 32767 && (up < least)) best = n, change = 1, least = up;
        if (magnitude > 1 && down < least) best = n, change = -1, least = down;
    }
    int place = places[best];
    bool negative = levels[place] ? levels[place] < 0 : coefficients[place] < 0;
    levels[place] = (int16_t)(levels[place] + (negative ? -change : change));
}

CLONES int quantise(const struct quantiser *quantiser, const int16_t *coefficients, int16_t *levels, int log2) {
    int shift = shift_of(quantiser, log2), size = 1 << log2, count = 0;
    int32_t scale = forward_scale[quantiser->qp % 6];
    int64_t rounding = rounding_of(quantiser, shift);
    // 32 bits do: a 16-bit coefficient times a 15-bit scale, plus less than half a step.
    uint32_t add = (uint32_t)rounding, most = 0;
    for (int i = 0; i < size * size; i++) {
        int32_t coefficient = coefficients[i];
        uint32_t magnitude = (uint32_t)(coefficient < 0 ? -coefficient : coefficient);
        int32_t level = (int32_t)((magnitude * (uint32_t)scale + add) >> shift);
        level = level > 32767 ? 32767 : level;
        most |= (uint32_t)level;
        levels[i] = (int16_t)(coefficient < 0 ? -level : level);
    }
    if (!most) return 0;
    if (quantiser->sign_hiding) {
        int blocks = log2 - 2;
        for (int block = 0; block < 1 << (2 * blocks); block++) {
            int x = (block & ((1 << blocks) - 1)) * 4, y = (block >> blocks) * 4, places[16];
            int32_t low[16];
            uint32_t any = 0;
            for (int n = 0; n < 16; n++) {
                int entry = diagonal_scan[2][n];
                places[n] = (y + (entry >> 3)) * size + x + (entry & 7);
                any |= (uint16_t)levels[places[n]];
            }
            if (!any) continue;
            for (int n = 0; n < 16; n++) {
                int64_t exact = (int64_t)abs(coefficients[places[n]]) * scale;
                low[n] = (int32_t)((exact - ((int64_t)abs(levels[places[n]]) << shift)) >> (shift - 8));
            }
            hide_sign(levels, coefficients, low, places);
        }
    }
    for (int i = 0; i < size * size; i++) count += levels[i] != 0;
    return count;
}

CLONES void dequantise(
    const struct quantiser *quantiser, const int16_t *levels, int16_t *coefficients, int log2, int *columns, int *rows) {
    int size = 1 << log2, shift = quantiser->depth + log2 - 9;  // flat scaling is 16
    int32_t scale = inverse_scale[quantiser->qp % 6] << (quantiser->qp / 6), add = 1 << (shift - 1);
    // Larger levels scale to the largest coefficient anyway; clipped, they fit 32 bits.
    int32_t most = (32767 << shift) / scale + 1;
    uint16_t over[32] = {0};
    *rows = 0;
    for (int y = 0; y < size; y++) {
        uint16_t any = 0;
        for (int x = 0; x < size; x++) {
            over[x] |= (uint16_t)levels[y * size + x];
            any |= (uint16_t)levels[y * size + x];
        }
        if (!any) {
            memset(coefficients + y * size, 0, (size_t)size * sizeof *coefficients);
            continue;
        }
        *rows = y + 1;
        for (int x = 0; x < size; x++) {
            int32_t level = levels[y * size + x];
            level = level > most ? most : level < -most ? -most : level;
            int32_t value = (level * scale + add) >> shift;
            coefficients[y * size + x] = (int16_t)(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
        }
    }
    *columns = 0;
    for (int x = 0; x < size; x++)
        if (over[x]) *columns = x + 1;
}
