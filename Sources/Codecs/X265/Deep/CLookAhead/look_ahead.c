// SPDX-License-Identifier: GPL-2.0-or-later
// Which blocks of a picture other pictures are predicted from: x265's cu-tree for a structure of pictures that the caller
// chooses.
//
// Costs, propagation and offsets are those of x265 3.5 (slicetype.cpp: lowresIntraEstimate, estimateCUCost,
// estimateCUPropagate, cuTreeFinish), with these differences: intra prediction tries five modes; propagation is weighted neither
// by the offset of adaptive quantization nor by the frame's duration; weighted prediction is not tried. Costs are sums of
// absolute transformed differences, divided by 4.
#include "CLookAhead.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 8,
    // Samples around the picture, which vectors may point to.
    PAD = 40,
    // What a prediction costs in addition to its residual, in bits; a bit costs 1, as in x265's look-ahead.
    COST_OF_INTER = 4, COST_OF_TWO = 10, COST_OF_INTRA = 5, COST_OF_MODE = 4,
    FROM_BEFORE = 1, FROM_AFTER = 2,
    MOST_STEPS = 16,
};

/// In half samples.
typedef struct { int16_t x, y; } vector;

struct hwd_lowres {
    int width, height, stride, columns, rows;
    uint8_t *memory, *samples; // the latter: of the first block
    int *intra, *cost;
    uint8_t *directions;
    vector *vectors[2];
    float *propagated; // what later pictures lose if the block does, in the unit of costs
};

static int at_most(int value, int most) { return value < most ? value : most; }
static int clamp(int value, int least, int most) { return value < least ? least : at_most(value, most); }

static const uint8_t *sample(const hwd_lowres *p, int x, int y) { return p->samples + (ptrdiff_t)y * p->stride + x; }

// Halving.

static int luma_at(const hwd_luma *luma, int x, int y) {
    const uint8_t *row = (const uint8_t *)luma->base + (ptrdiff_t)at_most(y, luma->height - 1) * luma->stride;
    x = at_most(x, luma->width - 1);
    if (luma->bytes_per_sample == 1) return row[x] >> luma->shift;
    uint16_t value;
    memcpy(&value, row + 2 * (ptrdiff_t)x, sizeof value);
    const int sample = value >> luma->shift;
    return at_most(sample, 255);
}

static void halve_row(hwd_lowres *p, const hwd_luma *luma, int y) {
    uint8_t *to = p->samples + (ptrdiff_t)y * p->stride;
    int x = 0;
    if (luma->bytes_per_sample == 1 && luma->shift == 0 && 2 * y + 1 < luma->height) {
        const uint8_t *a = (const uint8_t *)luma->base + 2 * (ptrdiff_t)y * luma->stride, *b = a + luma->stride;
        for (; x < at_most(p->width, luma->width / 2); x++)
            to[x] = (uint8_t)((a[2 * x] + a[2 * x + 1] + b[2 * x] + b[2 * x + 1] + 2) >> 2);
    }
    for (; x < p->width; x++) {
        const int sum = luma_at(luma, 2 * x, 2 * y) + luma_at(luma, 2 * x + 1, 2 * y)
            + luma_at(luma, 2 * x, 2 * y + 1) + luma_at(luma, 2 * x + 1, 2 * y + 1);
        to[x] = (uint8_t)((sum + 2) >> 2);
    }
    memset(to - PAD, to[0], PAD);
    memset(to + p->width, to[p->width - 1], PAD);
}

static void halve(hwd_lowres *p, const hwd_luma *luma) {
    for (int y = 0; y < p->height; y++) halve_row(p, luma, y);
    uint8_t *first = p->samples - PAD, *last = first + (ptrdiff_t)(p->height - 1) * p->stride;
    for (int y = 1; y <= PAD; y++) {
        memcpy(first - (ptrdiff_t)y * p->stride, first, (size_t)p->stride);
        memcpy(last + (ptrdiff_t)y * p->stride, last, (size_t)p->stride);
    }
}

// Differences of blocks.

/// The sum of absolute differences after a Hadamard transform, a quarter of it.
static int transformed_difference(const uint8_t *a, int a_stride, const uint8_t *b, int b_stride) {
    int16_t rows[BLOCK][BLOCK];
    int sum = 0;
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++) rows[y][x] = (int16_t)(a[y * a_stride + x] - b[y * b_stride + x]);
    for (int step = 1; step < BLOCK; step *= 2)
        for (int y = 0; y < BLOCK; y++) {
            if (y & step) continue;
            for (int x = 0; x < BLOCK; x++) {
                const int16_t u = rows[y][x], v = rows[y + step][x];
                rows[y][x] = (int16_t)(u + v);
                rows[y + step][x] = (int16_t)(u - v);
            }
        }
    int16_t columns[BLOCK][BLOCK];
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++) columns[x][y] = rows[y][x];
    for (int step = 1; step < BLOCK; step *= 2)
        for (int y = 0; y < BLOCK; y++) {
            if (y & step) continue;
            for (int x = 0; x < BLOCK; x++) {
                const int16_t u = columns[y][x], v = columns[y + step][x];
                columns[y][x] = (int16_t)(u + v);
                columns[y + step][x] = (int16_t)(u - v);
            }
        }
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++) sum += abs(columns[y][x]);
    return (sum + 2) >> 2;
}

static int difference(const uint8_t *a, const uint8_t *b, int stride) {
    int sum = 0;
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++) sum += abs(a[y * stride + x] - b[y * stride + x]);
    return sum;
}

// Prediction.

/// A block at half samples by the mean of up to four samples.
static void predicted(const hwd_lowres *from, int x, int y, vector v, uint8_t to[BLOCK * BLOCK]) {
    const int right = v.x & 1, down = (v.y & 1) * from->stride;
    // A block and the samples right and below lie within the memory.
    x = clamp(x + (v.x >> 1), -PAD, from->width + PAD - BLOCK - 2);
    y = clamp(y + (v.y >> 1), -PAD, from->height + PAD - BLOCK - 2);
    const uint8_t *s = sample(from, x, y);
    for (int j = 0; j < BLOCK; j++, s += from->stride)
        for (int i = 0; i < BLOCK; i++)
            to[j * BLOCK + i] = (uint8_t)((s[i] + s[i + right] + s[i + down] + s[i + right + down] + 2) >> 2);
}

enum { DC, VERTICAL, HORIZONTAL, PLANAR, DIAGONAL, MODES };

static int intra_sample(const uint8_t *s, int stride, int mode, int mean, int x, int y) {
    switch (mode) {
    case DC: return mean;
    case VERTICAL: return s[x - stride];
    case HORIZONTAL: return s[y * stride - 1];
    case PLANAR:
        return ((7 - x) * s[y * stride - 1] + (x + 1) * s[BLOCK - stride] + (7 - y) * s[x - stride]
                + (y + 1) * s[BLOCK * stride - 1] + 8) >> 4;
    default: return x > y ? s[x - y - 1 - stride] : x < y ? s[(y - x - 1) * stride - 1] : s[-stride - 1];
    }
}

/// The cost of a block without other pictures.
static int intra_cost(const hwd_lowres *p, int column, int row) {
    const uint8_t *s = sample(p, column * BLOCK, row * BLOCK);
    uint8_t block[BLOCK * BLOCK];
    int mean = BLOCK, best = INT32_MAX;
    for (int i = 0; i < BLOCK; i++) mean += s[i - p->stride] + s[i * p->stride - 1];
    mean >>= 4;
    for (int mode = 0; mode < MODES; mode++) {
        for (int y = 0; y < BLOCK; y++)
            for (int x = 0; x < BLOCK; x++)
                block[y * BLOCK + x] = (uint8_t)intra_sample(s, p->stride, mode, mean, x, y);
        const int cost = transformed_difference(s, p->stride, block, BLOCK) + COST_OF_MODE + (mode != DC);
        best = at_most(best, cost);
    }
    return best + COST_OF_INTRA;
}

static int bits(int difference) {
    int count = 1;
    for (int left = abs(difference); left > 0; left >>= 1) count += 2;
    return count;
}

/// The search of a block in another picture.
typedef struct {
    const hwd_lowres *picture, *from;
    int x, y;            ///< of the block
    int x0, y0, x1, y1;  ///< of vectors in whole samples
    vector expected;
    int best, best_x, best_y;
} block_search;

static void try_whole(block_search *s, int x, int y) {
    if (x < s->x0 || x > s->x1 || y < s->y0 || y > s->y1) return;
    const int cost = difference(
        sample(s->picture, s->x, s->y), sample(s->from, s->x + x, s->y + y), s->picture->stride)
        + bits(2 * x - s->expected.x) + bits(2 * y - s->expected.y);
    if (cost >= s->best) return;
    s->best = cost;
    s->best_x = x;
    s->best_y = y;
}

/// Whole samples: a hexagon that moves to its best corner, then the samples around it.
static void search_whole(block_search *s, const vector *candidates, int count) {
    static const int corners[6][2] = {{2, 0}, {1, 2}, {-1, 2}, {-2, 0}, {-1, -2}, {1, -2}};
    s->best = INT32_MAX;
    for (int i = 0; i < count; i++) try_whole(s, candidates[i].x >> 1, candidates[i].y >> 1);
    for (int step = 0; step < MOST_STEPS; step++) {
        const int x = s->best_x, y = s->best_y;
        for (int i = 0; i < 6; i++) try_whole(s, x + corners[i][0], y + corners[i][1]);
        if (x == s->best_x && y == s->best_y) break;
    }
    const int x = s->best_x, y = s->best_y;
    for (int j = -1; j < 2; j++)
        for (int i = -1; i < 2; i++)
            if (i != 0 || j != 0) try_whole(s, x + i, y + j);
}

/// The best half sample around the best whole one, and its cost.
static int search_half(const block_search *s, vector *result) {
    uint8_t block[BLOCK * BLOCK];
    int best = INT32_MAX;
    for (int j = -1; j < 2; j++)
        for (int i = -1; i < 2; i++) {
            const vector v = {(int16_t)(2 * s->best_x + i), (int16_t)(2 * s->best_y + j)};
            predicted(s->from, s->x, s->y, v, block);
            const int cost = transformed_difference(
                sample(s->picture, s->x, s->y), s->picture->stride, block, BLOCK)
                + bits(v.x - s->expected.x) + bits(v.y - s->expected.y);
            if (cost >= best) continue;
            best = cost;
            *result = v;
        }
    return best + COST_OF_INTER;
}

/// Finds a block's vector, from those of its neighbours, which were found before: right, and of the row below.
static int search_block(
    const hwd_lowres *p, const hwd_lowres *from, int column, int row, vector *vectors) {
    vector *own = vectors + row * p->columns + column;
    vector candidates[5] = {{0, 0}};
    int count = 1;
    const bool has_right = column < p->columns - 1;
    if (has_right) candidates[count++] = own[1];
    if (row < p->rows - 1) {
        candidates[count++] = own[p->columns];
        if (has_right) candidates[count++] = own[p->columns + 1];
        if (column > 0) candidates[count++] = own[p->columns - 1];
    }
    const int x = column * BLOCK, y = row * BLOCK;
    block_search search = {
        .picture = p, .from = from, .x = x, .y = y,
        .x0 = -x - PAD / 2, .x1 = p->width - x + PAD / 2 - BLOCK - 2,
        .y0 = -y - PAD / 2, .y1 = p->height - y + PAD / 2 - BLOCK - 2,
        .expected = candidates[count > 3 ? 2 : count - 1],
    };
    search_whole(&search, candidates, count);
    return search_half(&search, own);
}

/// Decides between both pictures, their mean, and none.
static void decide(
    hwd_lowres *p, const hwd_lowres *before, const hwd_lowres *after, int block, const int costs[2]) {
    const int x = block % p->columns * BLOCK, y = block / p->columns * BLOCK;
    int cost = costs[0], direction = before ? FROM_BEFORE : 0;
    if (costs[1] < cost) {
        cost = costs[1];
        direction = FROM_AFTER;
    }
    if (before && after) {
        uint8_t first[BLOCK * BLOCK], second[BLOCK * BLOCK];
        predicted(before, x, y, p->vectors[0][block], first);
        predicted(after, x, y, p->vectors[1][block], second);
        for (int i = 0; i < BLOCK * BLOCK; i++) first[i] = (uint8_t)((first[i] + second[i] + 1) >> 1);
        const int both = transformed_difference(sample(p, x, y), p->stride, first, BLOCK) + COST_OF_INTER + COST_OF_TWO;
        if (both < cost) {
            cost = both;
            direction = FROM_BEFORE | FROM_AFTER;
        }
    }
    const bool is_intra = p->intra[block] <= cost;
    p->cost[block] = is_intra ? p->intra[block] : cost;
    p->directions[block] = (uint8_t)(is_intra ? 0 : direction);
}

// Propagation.

/// Adds an amount to the blocks that a block is predicted from, by the area that it covers of each.
static void spread(hwd_lowres *to, int column, int row, vector v, float amount) {
    const int side = 2 * BLOCK, x = column * side + v.x, y = row * side + v.y; // in half samples
    const int left = x >= 0 ? x / side : -((side - 1 - x) / side), top = y >= 0 ? y / side : -((side - 1 - y) / side);
    const int right_part = x - left * side, lower_part = y - top * side;
    for (int i = 0; i < 4; i++) {
        const int c = left + (i & 1), r = top + (i >> 1);
        if (c < 0 || c >= to->columns || r < 0 || r >= to->rows) continue;
        const int area = (i & 1 ? right_part : side - right_part) * (i >> 1 ? lower_part : side - lower_part);
        to->propagated[r * to->columns + c] += amount * (float)area / (float)(side * side);
    }
}

void hwd_lowres_propagate(const hwd_lowres *p, hwd_lowres *before, hwd_lowres *after) {
    for (int row = 0; row < p->rows; row++)
        for (int column = 0; column < p->columns; column++) {
            const int block = row * p->columns + column, direction = p->directions[block];
            const float own = (float)p->intra[block];
            float amount = (p->propagated[block] + own) * (own - (float)p->cost[block]) / own;
            if (direction == 0 || amount <= 0) continue;
            if (direction == (FROM_BEFORE | FROM_AFTER)) amount /= 2;
            if (before && direction & FROM_BEFORE) spread(before, column, row, p->vectors[0][block], amount);
            if (after && direction & FROM_AFTER) spread(after, column, row, p->vectors[1][block], amount);
        }
}

void hwd_lowres_offsets(const hwd_lowres *p, float base, float *offsets, int count) {
    // x265's strength of cu-tree is 5 * (1 - qcomp), with qcomp at 0.6.
    const float strength = 2;
    for (int block = 0; block < at_most(hwd_lowres_blocks(p), count); block++) {
        const float own = (float)p->intra[block];
        offsets[block] = base - strength * log2f((own + p->propagated[block]) / own);
    }
}

void hwd_lowres_clear(hwd_lowres *p) {
    memset(p->propagated, 0, (size_t)hwd_lowres_blocks(p) * sizeof *p->propagated);
}

void hwd_lowres_predict(hwd_lowres *p, const hwd_lowres *before, const hwd_lowres *after) {
    const hwd_lowres *sources[2] = {before, after};
    for (int row = p->rows - 1; row >= 0; row--)
        for (int column = p->columns - 1; column >= 0; column--) {
            int costs[2] = {INT32_MAX, INT32_MAX};
            for (int i = 0; i < 2; i++)
                if (sources[i]) costs[i] = search_block(p, sources[i], column, row, p->vectors[i]);
            decide(p, before, after, row * p->columns + column, costs);
        }
}

int hwd_lowres_blocks(const hwd_lowres *p) { return p->columns * p->rows; }

void hwd_lowres_free(hwd_lowres *p) {
    if (!p) return;
    free(p->memory);
    free(p->intra);
    free(p->cost);
    free(p->directions);
    free(p->vectors[0]);
    free(p->vectors[1]);
    free(p->propagated);
    free(p);
}

hwd_lowres *hwd_lowres_new(hwd_luma luma, int coded_width, int coded_height) {
    hwd_lowres *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->width = coded_width / 2;
    p->height = coded_height / 2;
    p->columns = (p->width + BLOCK - 1) / BLOCK;
    p->rows = (p->height + BLOCK - 1) / BLOCK;
    p->stride = p->width + 2 * PAD;
    const size_t count = (size_t)hwd_lowres_blocks(p);
    p->memory = malloc((size_t)p->stride * (size_t)(p->height + 2 * PAD));
    p->intra = calloc(count, sizeof *p->intra);
    p->cost = calloc(count, sizeof *p->cost);
    p->directions = calloc(count, sizeof *p->directions);
    for (int i = 0; i < 2; i++) p->vectors[i] = calloc(count, sizeof *p->vectors[i]);
    p->propagated = calloc(count, sizeof *p->propagated);
    if (!p->memory || !p->intra || !p->cost || !p->directions || !p->vectors[0] || !p->vectors[1] || !p->propagated) {
        hwd_lowres_free(p);
        return NULL;
    }
    p->samples = p->memory + (ptrdiff_t)PAD * p->stride + PAD;
    halve(p, &luma);
    for (int row = 0; row < p->rows; row++)
        for (int column = 0; column < p->columns; column++)
            p->intra[row * p->columns + column] = intra_cost(p, column, row);
    return p;
}
