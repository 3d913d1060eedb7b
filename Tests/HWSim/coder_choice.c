// SPDX-License-Identifier: GPL-2.0-or-later
// How a CTB is coded is chosen by looking at its samples once, not by trying: this is an encoder for tests, which has to
// be quick and right, not good.
#include "coder.h"

static uint32_t squared_error(const struct coder *coder, int component, int x, int y, int size) {
    int stride = coder->source.strides[component];
    ptrdiff_t offset = (ptrdiff_t)y * stride + x;
    const uint16_t *in = coder->source.planes[component] + offset;
    const uint16_t *a = coder->slice->references[0]->planes[component] + offset;
    const uint16_t *b = coder->uni_prediction ? a : coder->slice->references[1]->planes[component] + offset;
    uint32_t error = 0;
    for (int row = 0; row < size; row++, in += stride, a += stride, b += stride)
        for (int i = 0; i < size; i++) {
            int32_t difference = in[i] - ((a[i] + b[i] + 1) >> 1);
            error += (uint32_t)(difference * difference);
        }
    return error;
}

void look_at_ctb(struct coder *coder, int x, int y) {
    int size = 1 << coder->sps->log2_ctb;
    bool inter = coder->slice->header.type != SLICE_I;
    for (int by = 0; by < size / 8 && y + by * 8 < coder->source.height; by++)
        for (int bx = 0; bx < size / 8 && x + bx * 8 < coder->source.width; bx++) {
            struct statistics *block = &coder->statistics[by][bx];
            int left = x + bx * 8, top = y + by * 8, stride = coder->source.strides[0];
            const uint16_t *in = coder->source.planes[0] + (ptrdiff_t)top * stride + left;
            uint32_t sum = 0, squares = 0;
            for (int row = 0; row < 8; row++, in += stride)
                for (int i = 0; i < 8; i++) {
                    sum += in[i];
                    squares += (uint32_t)in[i] * in[i];
                }
            block->sum = sum;
            block->squares = squares;
            block->still = false;
            if (!inter) continue;
            block->error = squared_error(coder, 0, left, top, 8);
            if (block->error > coder->still_limit[0]) continue;
            block->still = squared_error(coder, 1, left / 2, top / 2, 4) <= coder->still_limit[1] &&
                           squared_error(coder, 2, left / 2, top / 2, 4) <= coder->still_limit[1];
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
    // Intra blocks cost more than their energy says, because their mean has to be coded too.
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
