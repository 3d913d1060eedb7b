// SPDX-License-Identifier: GPL-2.0-or-later
// Counts PQ codes of max(R, G, B) over a picture. Rows are done in short pieces: what vectors can compute first, then the
// table lookups, which they cannot.
#include "CPixels.h"

#define INLINE static inline __attribute__((always_inline))

enum { piece = 256 };

/// Codes of up to `piece` sites; luma has two samples for each.
typedef struct {
    float y[piece], cb[piece], cr[piece];
} codes;

/// Indexes of R', G' and B', and the largest of them.
typedef struct {
    int32_t r[piece], g[piece], b[piece], largest[piece];
} indexes;

INLINE void load_bytes(const uint8_t *luma, const uint8_t *cb, const uint8_t *cr, int step, int count, codes *to) {
    for (int i = 0; i < count; i++) {
        to->y[i] = luma[2 * i];
        to->cb[i] = cb[step * i];
        to->cr[i] = cr[step * i];
    }
}

INLINE void load_words(
    const uint16_t *luma, const uint16_t *cb, const uint16_t *cr, int step, int shift, int count, codes *to) {
    for (int i = 0; i < count; i++) {
        to->y[i] = (float)(luma[2 * i] >> shift);
        to->cb[i] = (float)(cb[step * i] >> shift);
        to->cr[i] = (float)(cr[step * i] >> shift);
    }
}

/// Loads a piece from the site at column `x`.
INLINE void load(
    const hwd_light_plan *plan, const uint8_t *luma, const uint8_t *cb, const uint8_t *cr, int x, int count, codes *to) {
    const bool joined = plan->source.interleaved;
    if (plan->source.words) {
        const uint16_t *first = (const uint16_t *)(const void *)cb, *second = (const uint16_t *)(const void *)cr;
        const uint16_t *words = (const uint16_t *)(const void *)luma + 2 * x;
        const int shift = plan->source.shift;
        if (joined) load_words(words, first + 2 * x, second + 2 * x, 2, shift, count, to);
        else load_words(words, first + x, second + x, 1, shift, count, to);
    } else {
        if (joined) load_bytes(luma + 2 * x, cb + 2 * x, cr + 2 * x, 2, count, to);
        else load_bytes(luma + 2 * x, cb + x, cr + x, 1, count, to);
    }
}

INLINE float clamp(float value, float top) {
    value = value > 0 ? value : 0;
    return value < top ? value : top;
}

INLINE void find_indexes(const hwd_light_plan *plan, const codes *from, int count, indexes *to) {
    const float *m = plan->to_index, top = (float)plan->top;
    const float ry = m[0], rb = m[1], rr = m[2], r0 = m[3], gy = m[4], gb = m[5], gr = m[6], g0 = m[7];
    const float by = m[8], bb = m[9], br = m[10], b0 = m[11];
    for (int i = 0; i < count; i++) {
        const float y = from->y[i], cb = from->cb[i], cr = from->cr[i];
        const float r = clamp(ry * y + rb * cb + rr * cr + r0, top);
        const float g = clamp(gy * y + gb * cb + gr * cr + g0, top);
        const float b = clamp(by * y + bb * cb + br * cr + b0, top);
        const float rg = r > g ? r : g;
        to->r[i] = (int32_t)r;
        to->g[i] = (int32_t)g;
        to->b[i] = (int32_t)b;
        to->largest[i] = (int32_t)(rg > b ? rg : b);
    }
}

INLINE void count_light(const hwd_light_plan *plan, const indexes *at, int count, uint32_t *counts) {
    const float *light = plan->light, wr = plan->weights[0], wg = plan->weights[1], wb = plan->weights[2];
    const uint16_t *largest = plan->largest, *luminance = plan->luminance, *pq = plan->codes;
    for (int i = 0; i < count; i++) {
        const float y = wr * light[at->r[i]] + wg * light[at->g[i]] + wb * light[at->b[i]];
        uint32_t bits;
        __builtin_memcpy(&bits, &y, sizeof bits);
        const uint16_t code = pq[largest[at->largest[i]] + luminance[(bits >> 16) - plan->first]];
        // Neighbors often have the same code: two sets of counts avoid waiting for the last sum.
        counts[(i & 1) * HWD_LIGHT_CODES + code]++;
    }
}

INLINE void count_codes(const uint16_t *pq, const indexes *at, int count, uint32_t *counts) {
    for (int i = 0; i < count; i++) counts[(i & 1) * HWD_LIGHT_CODES + pq[at->largest[i]]]++;
}

void hwd_measure_light(const hwd_light_plan *plan, const hwd_plane *planes, uint32_t *counts) {
    codes from;
    indexes at;
    const hwd_layout *layout = &plan->source;
    for (int row = 0; row < plan->height; row++) {
        const uint8_t *luma = planes[0].base + 2 * (size_t)row * planes[0].stride;
        const uint8_t *cb = planes[1].base + (size_t)row * planes[1].stride;
        const uint8_t *cr = layout->interleaved ? cb + (layout->words ? 2 : 1)
                                                : planes[2].base + (size_t)row * planes[2].stride;
        for (int x = 0; x < plan->width; x += piece) {
            const int count = plan->width - x < piece ? plan->width - x : piece;
            load(plan, luma, cb, cr, x, count, &from);
            find_indexes(plan, &from, count, &at);
            if (plan->light) count_light(plan, &at, count, counts);
            else count_codes(plan->codes, &at, count, counts);
        }
    }
    for (int i = 0; i < HWD_LIGHT_CODES; i++) counts[i] += counts[HWD_LIGHT_CODES + i];
}
