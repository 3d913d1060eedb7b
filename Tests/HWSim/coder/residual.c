// SPDX-License-Identifier: GPL-2.0-or-later
// residual_coding() (H.265, 7.3.8.11) for blocks with the diagonal scan.
#include <stdlib.h>

#include "coder/coder.h"
#include "coder/transform.h"

static const uint8_t last_group[32] = {
    0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9,
};
static const uint8_t group_start[10] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24};

// sigCtx by the position in a sub-block: for 4x4 blocks, then by which neighbouring sub-blocks have coefficients (9-40).
static const uint8_t small_significant[16] = {0, 1, 4, 5, 2, 3, 4, 5, 6, 6, 8, 8, 7, 7, 8, 8};
static const uint8_t significant[4][16] = {
    {2, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
    {2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
    {2, 1, 0, 0, 2, 1, 0, 0, 2, 1, 0, 0, 2, 1, 0, 0},
    {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
};

static void code_last_prefix(struct cabac *cabac, int contexts, int position, int log2, bool luma) {
    int offset = luma ? 3 * (log2 - 2) + ((log2 - 1) >> 2) : 15, shift = luma ? (log2 + 1) >> 2 : log2 - 2;
    int group = last_group[position], most = (log2 << 1) - 1;
    for (int i = 0; i < group; i++) cabac_encode(cabac, contexts + offset + (i >> shift), 1);
    if (group < most) cabac_encode(cabac, contexts + offset + (group >> shift), 0);
}

static void code_last_suffix(struct cabac *cabac, int position) {
    int group = last_group[position];
    if (group > 3) cabac_bypass_bits(cabac, (uint32_t)(position - group_start[group]), (group >> 1) - 1);
}

// coeff_abs_level_remaining (9.3.3.11).
static void code_remaining(struct cabac *cabac, uint32_t value, int rice) {
    if (value < 4u << rice) {
        int ones = (int)(value >> rice);
        cabac_bypass_bits(cabac, (2u << ones) - 2, ones + 1);
        cabac_bypass_bits(cabac, value & ((1u << rice) - 1), rice);
        return;
    }
    value -= 4u << rice;
    int length = rice + 1;
    while (value >= 1u << length) value -= 1u << length++;
    int ones = 4 + length - rice - 1;
    cabac_bypass_bits(cabac, (uint32_t)((2ull << ones) - 2), ones + 1);
    cabac_bypass_bits(cabac, value, length);
}

struct sub_block {
    int magnitudes[16], places[16];  // in coding order: the highest position first
    uint32_t signs;
    int count;
};

// greater1 is the standard's greater1Ctx at the end of the previous sub-block: 0 after a level above 1.
static void code_levels(
    struct cabac *cabac, const struct sub_block *block, bool first_block, bool luma, bool sign_hiding, int *greater1) {
    int set = (!first_block && luma ? 2 : 0) + (*greater1 == 0), context = 1, above = -1;
    int flags = block->count < 8 ? block->count : 8;
    for (int i = 0; i < flags; i++) {
        bool greater = block->magnitudes[i] > 1;
        cabac_encode(cabac, CONTEXT_GREATER1 + (luma ? 0 : 16) + 4 * set + context, greater);
        if (greater) {
            context = 0;
            if (above < 0) above = i;
        } else if (context > 0 && context < 3) {
            context++;
        }
    }
    *greater1 = context;
    if (above >= 0) cabac_encode(cabac, CONTEXT_GREATER2 + (luma ? 0 : 4) + set, block->magnitudes[above] > 2);
    bool hidden = sign_hiding && block->places[0] - block->places[block->count - 1] > 3;
    int signs = block->count - hidden;
    cabac_bypass_bits(cabac, hidden ? block->signs >> 1 : block->signs, signs);
    int rice = 0;
    for (int i = 0; i < block->count; i++) {
        // The part that the flags have coded: one of the first eight also has greater2.
        int magnitude = block->magnitudes[i], base = i >= 8 ? 1 : i == above ? 3 : 2;
        if (magnitude >= base) {
            code_remaining(cabac, (uint32_t)(magnitude - base), rice);
            if (magnitude > 3 << rice && rice < 4) rice++;
        }
    }
}

// A transform block's levels, and what must be known of all of it before its sub-blocks are coded.
struct residual {
    const int16_t *levels;
    int log2;
    bool luma, sign_hiding;
    // One more each way, so that neighbours right of and below the block count as not coded.
    bool coded[9][9];
    int last_block, last;  // in scan order: the last sub-block with a level, and the last level in it
};

static const int16_t *corner_of(const struct residual *residual, int bx, int by) {
    return residual->levels + by * 4 * (1 << residual->log2) + bx * 4;
}

// Marks the coded sub-blocks and finds the last significant level; returns its place as x | y << 8.
static int find_last(struct residual *residual) {
    const int size = 1 << residual->log2, blocks = residual->log2 - 2;
    int last_x = 0, last_y = 0;
    residual->last_block = residual->last = -1;
    for (int i = (1 << (2 * blocks)) - 1; i >= 0; i--) {
        int bx = diagonal_scan[blocks][i] & 7, by = diagonal_scan[blocks][i] >> 3;
        const int16_t *corner = corner_of(residual, bx, by);
        uint16_t any = 0;
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) any |= (uint16_t)corner[y * size + x];
        residual->coded[by][bx] = any != 0;
        if (!any || residual->last_block >= 0) continue;
        residual->last_block = i;
        for (residual->last = 15;; residual->last--) {
            last_x = diagonal_scan[2][residual->last] & 7, last_y = diagonal_scan[2][residual->last] >> 3;
            if (corner[last_y * size + last_x]) break;
        }
        last_x += bx * 4, last_y += by * 4;
    }
    return last_x | last_y << 8;
}

static void code_sub_block(struct cabac *cabac, const struct residual *residual, int i, int *greater1) {
    const int log2 = residual->log2, size = 1 << log2, blocks = log2 - 2;
    const bool luma = residual->luma;
    int bx = diagonal_scan[blocks][i] & 7, by = diagonal_scan[blocks][i] >> 3;
    const int16_t *corner = corner_of(residual, bx, by);
    bool coded = residual->coded[by][bx];
    int neighbours = residual->coded[by][bx + 1] | residual->coded[by + 1][bx] << 1;
    bool inferred = i == residual->last_block || i == 0;
    if (!inferred) cabac_encode(cabac, CONTEXT_SUB_BLOCK + (luma ? 0 : 2) + (neighbours != 0), coded);
    if (!inferred && !coded) return;

    struct sub_block block = {.count = 0};
    int base = luma ? (log2 == 3 ? 9 : 21) + (i ? 3 : 0) : 27 + (log2 == 3 ? 9 : 12);
    for (int n = i == residual->last_block ? residual->last : 15; n >= 0; n--) {
        int x = diagonal_scan[2][n] & 7, y = diagonal_scan[2][n] >> 3, level = corner[y * size + x];
        bool is_last = i == residual->last_block && n == residual->last;
        // The first level of a sub-block that has some is inferred when no other is significant.
        bool must = n == 0 && !inferred && !block.count;
        if (!is_last && !must) {
            int context;
            if (log2 == 2) context = (luma ? 0 : 27) + small_significant[y * 4 + x];
            else if (i == 0 && n == 0) context = luma ? 0 : 27;
            else context = base + significant[neighbours][y * 4 + x];
            cabac_encode(cabac, CONTEXT_SIGNIFICANT + context, level != 0);
        }
        if (!level) continue;
        block.places[block.count] = n;
        block.signs = block.signs << 1 | (level < 0);
        block.magnitudes[block.count++] = abs(level);
    }
    if (block.count) code_levels(cabac, &block, i == 0, luma, residual->sign_hiding, greater1);
}

void code_residual(
    struct cabac *cabac, const int16_t *levels, int log2, bool luma, bool sign_hiding, bool transform_skip) {
    if (transform_skip && log2 == 2) cabac_encode(cabac, CONTEXT_TRANSFORM_SKIP + !luma, 0);
    struct residual residual = {.levels = levels, .log2 = log2, .luma = luma, .sign_hiding = sign_hiding};
    int last = find_last(&residual), last_x = last & 255, last_y = last >> 8;
    code_last_prefix(cabac, CONTEXT_LAST_X, last_x, log2, luma);
    code_last_prefix(cabac, CONTEXT_LAST_Y, last_y, log2, luma);
    code_last_suffix(cabac, last_x);
    code_last_suffix(cabac, last_y);

    int greater1 = 1;
    for (int i = residual.last_block; i >= 0; i--) code_sub_block(cabac, &residual, i, &greater1);
}
