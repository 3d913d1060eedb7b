// SPDX-License-Identifier: GPL-2.0-or-later
// The loops for one instruction set: a row is read into planes of floats a span at a time, its color is converted, and it is
// written. Included with WIDTH, LEVEL and ROWS defined.
#include "vectors.h"
#include <stdlib.h>

// Pixels of a span: four planes of it fit into the L1 cache.
enum { STRETCH = 1024, PAD = 32 };

typedef struct {
    float *r, *g, *b, *a;        // one span
    float *half_cb, *half_cr;    // one row of the source's chroma
    float *cb, *cr;              // the same at luma width
    float *wide_cb, *wide_cr;    // one row of the target's chroma at luma width
    float *ring_cb[4], *ring_cr[4];  // four rows of it at chroma width
} buffers;

INLINE int clamp_row(int y, int count) { return y < 0 ? 0 : y >= count ? count - 1 : y; }
INLINE int half_of(int n) { return (n + 1) / 2; }

INLINE vf load_samples(const hwd_layout *form, const uint8_t *row, int x, int left) {
    return form->words ? load_words(row + 2 * (size_t)x, left, form->shift) : load_bytes(row + x, left);
}

/// Reads Cb and Cr from interleaved pairs.
INLINE void load_pairs(const hwd_layout *form, const uint8_t *row, int x, int left, vf *cb, vf *cr) {
    if (form->words) {
        vh2 pairs = {0};
        memcpy(&pairs, row + 4 * (size_t)x, 4 * (size_t)at_hand(left));
        const vh first = __builtin_shufflevector(pairs, pairs, EVENS);
        const vh second = __builtin_shufflevector(pairs, pairs, ODDS);
        *cb = number((__builtin_convertvector(first, vi) >> form->shift) & 0x3ff);
        *cr = number((__builtin_convertvector(second, vi) >> form->shift) & 0x3ff);
    } else {
        vb2 pairs = {0};
        memcpy(&pairs, row + 2 * (size_t)x, 2 * (size_t)at_hand(left));
        *cb = __builtin_convertvector(__builtin_shufflevector(pairs, pairs, EVENS), vf);
        *cr = __builtin_convertvector(__builtin_shufflevector(pairs, pairs, ODDS), vf);
    }
}

/// Interpolates a row of chroma, at chroma width, between the two nearest rows.
static void blend_chroma(const hwd_plan *plan, const hwd_plane *source, int y, buffers *to) {
    const hwd_layout *form = &plan->source;
    const int width = half_of(plan->width), height = half_of(plan->height);
    const int near = y / 2, far = clamp_row(y % 2 ? near + 1 : near - 1, height);
    const float weight = plan->up_y[y % 2];
    for (int x = 0; x < width; x += WIDTH) {
        vf cb, cr, other_cb = splat(0), other_cr = splat(0);
        if (form->interleaved) {
            load_pairs(form, source[1].base + near * source[1].stride, x, width - x, &cb, &cr);
            if (weight != 1)
                load_pairs(form, source[1].base + far * source[1].stride, x, width - x, &other_cb, &other_cr);
        } else {
            cb = load_samples(form, source[1].base + near * source[1].stride, x, width - x);
            cr = load_samples(form, source[2].base + near * source[2].stride, x, width - x);
            if (weight != 1) {
                other_cb = load_samples(form, source[1].base + far * source[1].stride, x, width - x);
                other_cr = load_samples(form, source[2].base + far * source[2].stride, x, width - x);
            }
        }
        if (weight != 1) {
            cb = weight * cb + (1 - weight) * other_cb;
            cr = weight * cr + (1 - weight) * other_cr;
        }
        store(to->half_cb + x, cb);
        store(to->half_cr + x, cr);
    }
}

/// Interpolates chroma to luma width between the two nearest samples. Edge samples are repeated.
static void widen(float *half, float *full, int count, const float *weights) {
    half[-1] = half[0];
    half[count] = half[count - 1];
    for (int x = 0; x < count; x += WIDTH) {
        const vf near = load(half + x);
        const vf even = weights[0] * near + (1 - weights[0]) * load(half + x - 1);
        const vf odd = weights[1] * near + (1 - weights[1]) * load(half + x + 1);
        store(full + 2 * x, __builtin_shufflevector(even, odd, LOW_PAIRS));
        store(full + 2 * x + WIDTH, __builtin_shufflevector(even, odd, HIGH_PAIRS));
    }
}

INLINE vf row_of(const float *m, vf x, vf y, vf z) { return m[0] * x + (m[1] * y + (m[2] * z + m[3])); }

#include "mapping.h"

INLINE void read_samples(
    const hwd_plan *plan, const hwd_plane *source, int y, int x0, int count, const hwd_mapping *map, buffers *to) {
    const hwd_layout *form = &plan->source;
    float m[12];
    memcpy(m, plan->to_rgb, sizeof m);
    const uint8_t *luma = source[0].base + y * source[0].stride;
    const hwd_plane *alpha = form->alpha ? &source[form->interleaved ? 2 : 3] : NULL;
    const int orders = map ? orders_of(map) : 0;
    for (int x = 0; x < count; x += WIDTH) {
        vf value = load_samples(form, luma, x0 + x, count - x);
        vf cb = load(to->cb + x0 + x), cr = load(to->cr + x0 + x);
        if (map) map_codes(map, orders, &value, &cb, &cr);
        store(to->r + x, row_of(m, value, cb, cr));
        store(to->g + x, row_of(m + 4, value, cb, cr));
        store(to->b + x, row_of(m + 8, value, cb, cr));
        // Without alpha the span was initialized with 1.
        if (alpha)
            store(to->a + x, load_bytes(alpha->base + y * alpha->stride + x0 + x, count - x) * (1.f / 255));
    }
}

static void read_ycbcr(const hwd_plan *plan, const hwd_plane *source, int y, int x0, int count, buffers *to) {
    read_samples(plan, source, y, x0, count, NULL, to);
}

static void read_mapped(const hwd_plan *plan, const hwd_plane *source, int y, int x0, int count, buffers *to) {
    read_samples(plan, source, y, x0, count, plan->mapping, to);
}

static void read_bytes(const hwd_plan *plan, const hwd_plane *source, int y, int x0, int count, buffers *to) {
    const uint8_t *row = source[0].base + y * source[0].stride + 4 * (size_t)x0;
    const float scale = 1.f / 255;
    for (int x = 0; x < count; x += WIDTH) {
        vi pixels = {0};
        memcpy(&pixels, row + 4 * (size_t)x, 4 * (size_t)at_hand(count - x));
        const vf first = number(pixels & 255) * scale, third = number((pixels >> 16) & 255) * scale;
        store(to->r + x, plan->source.swaps ? third : first);
        store(to->g + x, number((pixels >> 8) & 255) * scale);
        store(to->b + x, plan->source.swaps ? first : third);
        store(to->a + x, number((pixels >> 24) & 255) * scale);
    }
}

static void read_halves(const hwd_plan *plan, const hwd_plane *source, int y, int x0, int count, buffers *to) {
    (void)plan;
    const uint8_t *row = source[0].base + y * source[0].stride + 8 * (size_t)x0;
    for (int x = 0; x < count; x += WIDTH) {
        vh2 low = {0}, high = {0};
        const size_t bytes = 8 * (size_t)at_hand(count - x);
        memcpy(&low, row + 8 * (size_t)x, bytes < sizeof low ? bytes : sizeof low);
        if (bytes > sizeof low) memcpy(&high, row + 8 * (size_t)x + sizeof low, bytes - sizeof low);
        // R G B A R G B A …: separates G and A from R and B as pairs of words, then the members of each pair.
        const vi rg = __builtin_shufflevector((vi)low, (vi)high, EVENS);
        const vi ba = __builtin_shufflevector((vi)low, (vi)high, ODDS);
        store(to->r + x, from_halves(__builtin_convertvector(rg & 0xffff, vh)));
        store(to->g + x, from_halves(__builtin_convertvector((vi)((vu)rg >> 16), vh)));
        store(to->b + x, from_halves(__builtin_convertvector(ba & 0xffff, vh)));
        store(to->a + x, within(from_halves(__builtin_convertvector((vi)((vu)ba >> 16), vh))));
    }
}

#include "colors.h"
#include "writing.h"

static bool allocate(const hwd_plan *plan, buffers *to, float **memory) {
    const size_t wide = ((size_t)plan->width + 3 * PAD + 15) & ~(size_t)15;
    const size_t half = ((size_t)half_of(plan->width) + 3 * PAD + 15) & ~(size_t)15;
    const size_t stretch = STRETCH + 2 * PAD;
    const size_t count = 4 * stretch + 10 * half + 4 * wide;
    float *next = *memory = aligned_alloc(64, count * sizeof(float));
    if (!next) return false;
    memset(next, 0, count * sizeof(float));
    float **stretches[] = {&to->r, &to->g, &to->b, &to->a};
    for (int i = 0; i < 4; i++, next += stretch) *stretches[i] = next;
    float **wides[] = {&to->cb, &to->cr, &to->wide_cb, &to->wide_cr};
    for (int i = 0; i < 4; i++, next += wide) *wides[i] = next + 16;
    for (int i = 0; i < 4; i++) {
        to->ring_cb[i] = next + 16;
        to->ring_cr[i] = next + half + 16;
        next += 2 * half;
    }
    to->half_cb = next + 16;
    to->half_cr = next + half + 16;
    return true;
}

bool ROWS(const hwd_plan *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end) {
    if (first >= end) return true;
    buffers to;
    float *memory;
    if (!allocate(plan, &to, &memory)) return false;
    for (int x = 0; x < STRETCH; x += WIDTH) store(to.a + x, splat(1));
    const bool shrinks = plan->target.form == HWD_YCBCR;
    // Rows around this share that its chroma filter also reads.
    const int before = shrinks && plan->down_y[0] != 0 ? 1 : 0;
    const int last_tap = !shrinks ? 0 : plan->down_y[3] != 0 ? 2 : plan->down_y[2] != 0 ? 1 : 0;
    const int start = first - before < 0 ? 0 : first - before;
    const int stop = last_tap > 1 ? end - 1 + last_tap : end;
    int pair = first / 2;
    for (int y = start; y < stop && y < plan->height; y++) {
        if (plan->source.form == HWD_YCBCR) {
            blend_chroma(plan, source, y, &to);
            widen(to.half_cb, to.cb, half_of(plan->width), plan->up_x);
            widen(to.half_cr, to.cr, half_of(plan->width), plan->up_x);
        }
        const bool is_own = y >= first && y < end;
        for (int x = 0; x < plan->width; x += STRETCH) {
            const int count = plan->width - x < STRETCH ? plan->width - x : STRETCH;
            switch (plan->source.form) {
            case HWD_YCBCR: (plan->mapping ? read_mapped : read_ycbcr)(plan, source, y, x, count, &to); break;
            case HWD_BYTES: read_bytes(plan, source, y, x, count, &to); break;
            case HWD_HALVES: read_halves(plan, source, y, x, count, &to); break;
            }
            convert_colors(plan, count, &to);
            switch (plan->target.form) {
            case HWD_YCBCR: write_ycbcr(plan, target, y, x, count, is_own, &to); break;
            case HWD_BYTES: write_bytes(plan, target, y, x, count, &to); break;
            case HWD_HALVES: write_halves(plan, target, y, x, count, &to); break;
            }
        }
        if (!shrinks) continue;
        narrow(plan, to.wide_cb, to.ring_cb[y & 3]);
        narrow(plan, to.wide_cr, to.ring_cr[y & 3]);
        while (2 * pair < end && y >= clamp_row(2 * pair + last_tap, plan->height))
            write_chroma(plan, target, pair++, &to);
    }
    free(memory);
    return true;
}
