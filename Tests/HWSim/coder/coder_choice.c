// SPDX-License-Identifier: GPL-2.0-or-later
// How a CTB is coded is chosen by looking at its samples once, not by trying: this is an encoder for tests, which has to
// be quick and right, not good.
#include <stdlib.h>
#include <string.h>

#include "coder/clones.h"
#include "coder/coder.h"

// Eight samples side by side; they are added to each other only at the end. They are passed by pointers, because how
// vectors are passed depends on the machine.
typedef uint16_t narrow __attribute__((vector_size(16)));
typedef int32_t wide __attribute__((vector_size(32)));

INLINE void eight(wide *out, const uint16_t *samples) {
    narrow values;
    memcpy(&values, samples, sizeof values);
    *out = __builtin_convertvector(values, wide);
}

// Four samples of a line and four of the next.
INLINE void four_and_four(wide *out, const uint16_t *samples, int stride) {
    narrow values;
    memcpy(&values, samples, sizeof values / 2);
    memcpy((char *)&values + sizeof values / 2, samples + stride, sizeof values / 2);
    *out = __builtin_convertvector(values, wide);
}

INLINE uint32_t total(const wide *values) {
    uint32_t sum = 0;
    for (int i = 0; i < 8; i++) sum += (uint32_t)(*values)[i];
    return sum;
}

// The squared differences of an 8x8 block of luma, or a 4x4 block of chroma, from the prediction by zero motion, and
// the differences' sum.
INLINE uint32_t squared_error(const struct coder *coder, const int component, int x, int y, int32_t *sum) {
    int stride = coder->source.strides[component];
    ptrdiff_t offset = (ptrdiff_t)y * stride + x;
    const uint16_t *in = coder->source.planes[component] + offset;
    const uint16_t *a = coder->slice->references[0]->planes[component] + offset;
    const uint16_t *b = coder->uni_prediction ? a : coder->slice->references[1]->planes[component] + offset;
    wide errors = {0}, sums = {0}, source, first, second;
    int rows = component ? 2 : 1, end = component ? 4 : 8;
    for (int row = 0; row < end; row += rows, in += rows * stride, a += rows * stride, b += rows * stride) {
        if (component) {
            four_and_four(&source, in, stride);
            four_and_four(&first, a, stride);
            four_and_four(&second, b, stride);
        } else {
            eight(&source, in);
            eight(&first, a);
            eight(&second, b);
        }
        wide difference = source - ((first + second + 1) >> 1);
        errors += difference * difference;
        sums += difference;
    }
    *sum = (int32_t)total(&sums);
    return total(&errors);
}

INLINE void add_up(const struct coder *coder, int x, int y, struct statistics *block) {
    int stride = coder->source.strides[0];
    const uint16_t *in = coder->source.planes[0] + (ptrdiff_t)y * stride + x;
    wide sums = {0}, squares = {0}, values;
    for (int row = 0; row < 8; row++, in += stride) {
        eight(&values, in);
        sums += values;
        squares += values * values;
    }
    block->sum = total(&sums);
    block->squares = total(&squares);
}

CLONES void look_at_ctb(struct coder *coder, int x, int y) {
    int size = 1 << coder->sps->log2_ctb;
    bool inter = coder->slice->header.type != SLICE_I;
    for (int by = 0; by < size / 8 && y + by * 8 < coder->source.height; by++)
        for (int bx = 0; bx < size / 8 && x + bx * 8 < coder->source.width; bx++) {
            struct statistics *block = &coder->statistics[by][bx];
            int left = x + bx * 8, top = y + by * 8;
            add_up(coder, left, top, block);
            block->still = false;
            if (!inter) continue;
            int32_t sum;
            block->error = squared_error(coder, 0, left, top, &sum);
            block->still = block->error <= coder->still_limit[0] && abs(sum) <= 8 * coder->mean_limit;
            for (int component = 1; block->still && component < 3; component++) {
                uint32_t error = squared_error(coder, component, left / 2, top / 2, &sum);
                block->still = error <= coder->still_limit[1] && abs(sum) <= 4 * coder->mean_limit;
            }
        }
}

struct view {
    double energy;  // squared differences from the block's mean
    double error;
    int still, blocks;
};

static struct view view_of(const struct coder *coder, int x, int y, int log2) {
    int mask = (1 << coder->sps->log2_ctb) - 1, bx = (x & mask) / 8, by = (y & mask) / 8, size = 1 << (log2 - 3);
    uint64_t sum = 0, squares = 0, error = 0;
    struct view view = {.blocks = size * size};
    for (int row = by; row < by + size; row++)
        for (int column = bx; column < bx + size; column++) {
            const struct statistics *block = &coder->statistics[row][column];
            sum += block->sum;
            squares += block->squares;
            error += block->error;
            view.still += block->still;
        }
    view.energy = (double)squares - (double)sum * (double)sum / (64.0 * view.blocks);
    view.error = (double)error;
    return view;
}

bool choose_split(const struct coder *coder, int x, int y, int log2, enum cu_mode *mode) {
    bool inter = coder->slice->header.type != SLICE_I, smallest = log2 == coder->sps->log2_min_cb;
    struct view whole = view_of(coder, x, y, log2);
    if (inter && whole.still == whole.blocks) {
        *mode = CU_SKIP;
        return false;
    }
    // Intra blocks cost more than their energy suggests, because their mean has to be coded too.
    bool merge = inter && whole.error <= 1.3 * whole.energy + 4 * coder->still_limit[0];
    *mode = merge ? CU_MERGE : CU_INTRA;
    if (smallest) return false;
    double cost = merge ? whole.error : whole.energy;
    if (whole.still == 0 && cost <= coder->still_limit[0] * whole.blocks) return false;
    if (log2 > 5) return true;
    // Large transforms suit blocks whose quarters are alike.
    double least = 0, most = 0;
    int half = 1 << (log2 - 1);
    for (int i = 0; i < 4; i++) {
        struct view quarter = view_of(coder, x + (i & 1) * half, y + (i >> 1) * half, log2 - 1);
        if (quarter.still == quarter.blocks) return true;
        bool quarter_merge = inter && quarter.error <= 1.3 * quarter.energy + 4 * coder->still_limit[0];
        if (quarter_merge != merge) return true;
        double quarter_cost = merge ? quarter.error : quarter.energy;
        if (!i || quarter_cost < least) least = quarter_cost;
        if (!i || quarter_cost > most) most = quarter_cost;
    }
    return most > 4 * least + coder->still_limit[0] * whole.blocks;
}
