// SPDX-License-Identifier: GPL-2.0-or-later
// The loops for one instruction set: pixels are read, their color is converted and they are written without leaving the
// registers. Included with WIDTH, LEVEL and ROWS defined.
#include "vectors.h"
#include <stdlib.h>

// Floats before and after a row that may be read.
enum { PAD = 32 };

/// A vector of pixels: R, G and B, or Y', Cb and Cr, and alpha.
typedef struct {
    vf r, g, b, a;
} pixels;

typedef struct {
    // What the source's chroma adds to R', G' and B', or Cb and Cr for a mapping: rows 2i and 2i + 1 of chroma and their numbers,
    // and a row between two of them.
    float *chroma[2][3], *between[3];
    int held[2];
    float *wide_cb, *wide_cr;        // one row of the target's chroma at luma width
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
        vu pairs = {0};
        memcpy(&pairs, row + 4 * (size_t)x, 4 * (size_t)at_hand(left));
        *cb = number((vi)(pairs >> form->shift) & 0x3ff);
        *cr = number((vi)(pairs >> (16 + form->shift)) & 0x3ff);
    } else {
        vh both = {0};
        memcpy(&both, row + 2 * (size_t)x, 2 * (size_t)at_hand(left));
        const vi pairs = __builtin_convertvector(both, vi);
        *cb = number(pairs & 0xff);
        *cr = number(pairs >> 8);
    }
}

INLINE vf row_of(const float *m, vf x, vf y, vf z) { return m[0] * x + (m[1] * y + (m[2] * z + m[3])); }

/// Reads a row of chroma and multiplies it by `to_rgb`, unless it is at hand.
static float *const *read_chroma(
    const hwd_plan *plan, const float *to_rgb, const hwd_plane *source, int row, buffers *to) {
    const hwd_layout *form = &plan->source;
    float *const *own = to->chroma[row & 1];
    if (to->held[row & 1] == row) return own;
    to->held[row & 1] = row;
    float m[12];
    memcpy(m, to_rgb, sizeof m);
    const int width = half_of(plan->width);
    const uint8_t *first = source[1].base + row * source[1].stride;
    const uint8_t *second = form->interleaved ? NULL : source[2].base + row * source[2].stride;
    for (int x = 0; x < width; x += WIDTH) {
        vf cb, cr;
        if (form->interleaved) {
            load_pairs(form, first, x, width - x, &cb, &cr);
        } else {
            cb = load_samples(form, first, x, width - x);
            cr = load_samples(form, second, x, width - x);
        }
        if (plan->mapping) {
            store(own[0] + x, cb);
            store(own[1] + x, cr);
        } else {
            for (int i = 0; i < 3; i++) store(own[i] + x, m[4 * i + 1] * cb + (m[4 * i + 2] * cr + m[4 * i + 3]));
        }
    }
    // Edge samples are repeated.
    for (int i = 0; i < 3; i++) own[i][-1] = own[i][0], own[i][width] = own[i][width - 1];
    return own;
}

/// A row of chroma, at chroma width, interpolated between the two nearest rows.
static float *const *blend_chroma(
    const hwd_plan *plan, const float *to_rgb, const hwd_plane *source, int y, buffers *to) {
    const int width = half_of(plan->width), height = half_of(plan->height), row = y / 2;
    const float weight = plan->up_y[y % 2];
    float *const *near = read_chroma(plan, to_rgb, source, row, to);
    const int other = clamp_row(y % 2 ? row + 1 : row - 1, height);
    if (weight == 1 || other == row) return near;
    float *const *far = read_chroma(plan, to_rgb, source, other, to);
    for (int i = 0; i < 3; i++)
        for (int x = -WIDTH; x < width + 1; x += WIDTH)
            store(to->between[i] + x, weight * load(near[i] + x) + (1 - weight) * load(far[i] + x));
    return to->between;
}

#include "mapping.h"
#include "colors.h"
#include "effects.h"

/// A row that is converted.
typedef struct {
    const hwd_plan *plan;
    const uint8_t *from[2];  // luma or the only plane, and alpha
    uint8_t *to[2];
    float *const *chroma;
    float *wide_cb, *wide_cr;
    float luma;      // what a step of luma adds to R', G' and B', or in light.h to the curve's argument
    int y;
    bool is_own;     // in this share; otherwise only chroma is kept
    bool is_opaque;  // the source has no alpha
    bool is_bounded; // half floats cannot overflow
    int orders;      // of the mapping's regressions
} line;

#include "reading.h"
#include "writing.h"

INLINE void read_chroma_pair(const line *own, int x, vf chroma[3][2]) {
    for (int i = 0; i < 3; i++) widen(own->chroma[i] + x / 2, own->plan->up_x, chroma[i]);
}

INLINE pixels read_pixels(const line *own, hwd_form from, int x, int left, vf first, vf second, vf third) {
    switch (from) {
    case HWD_YCBCR: return read_ycbcr(own, x, left, first, second, third);
    case HWD_PACKED: return read_packed(own, x, left);
    case HWD_HALVES: return read_halves(own, x, left);
    }
}

INLINE void write_pixels(const line *own, hwd_form to, int x, int left, const pixels *p) {
    switch (to) {
    case HWD_YCBCR: write_ycbcr(own, x, left, p); break;
    case HWD_PACKED: write_packed(own, x, left, p); break;
    case HWD_HALVES: write_halves(own, x, left, p); break;
    }
}

/// Converts up to two vectors; `left` pixels of them exist.
INLINE void convert_pair(
    const line *own, const coefficients *curves, hwd_form from, hwd_form to, int x, int left) {
    vf chroma[3][2] = {0};
    if (from == HWD_YCBCR) read_chroma_pair(own, x, chroma);
#pragma unroll
    for (int k = 0; k < 2; k++, x += WIDTH, left -= WIDTH) {
        if (left <= 0) return;
        pixels p = read_pixels(own, from, x, left, chroma[0][k], chroma[1][k], chroma[2][k]);
        convert_colors(own->plan, curves, x, own->y, &p);
        write_pixels(own, to, x, left, &p);
    }
}

// Vectors of a stretch; fewer with effects, each of which passes over all of them.
enum { STRETCH = 128, EFFECT_STRETCH = 32 };

/// Converts the color of a stretch; a function of its own leaves the compiler all registers.
__attribute__((noinline)) static void convert_colors_of(const hwd_plan *shared, pixels *all, int count, int x, int y) {
    const hwd_plan plan = *shared;
    const coefficients curves = load_coefficients(&plan);
    for (int i = 0; i < count; i++) {
        pixels p = all[i];
        convert_colors(&plan, &curves, x + i * WIDTH, y, &p);
        all[i] = p;
    }
}

/// The same with effects.
__attribute__((noinline)) static void convert_effects_of(const hwd_plan *shared, pixels *all, int count, int x, int y) {
    const hwd_plan plan = *shared;
    const coefficients curves = load_coefficients(&plan);
    for (int i = 0; i < count; i++) {
        pixels p = all[i];
        convert_to_colors(&plan, &curves, x + i * WIDTH, y, &p);
        all[i] = p;
    }
    for (int i = 0; i < plan.effect_count; i++) apply_effect(&plan.effects[i], all, count, x, y, false);
    for (int i = 0; i < count; i++) {
        pixels p = all[i];
        convert_from_colors(&plan, &curves, &p);
        all[i] = p;
    }
}

/// Converts a stretch in three passes, where there are effects, or the instruction set has too few registers for one.
INLINE void convert_stretch(const line *own, hwd_form from, hwd_form to, int x, int left) {
    pixels all[STRETCH];
    const int count = (left + WIDTH - 1) / WIDTH;
    for (int i = 0; i < count; i += 2) {
        const int at = i * WIDTH;
        vf chroma[3][2] = {0};
        if (from == HWD_YCBCR) read_chroma_pair(own, x + at, chroma);
        all[i] = read_pixels(own, from, x + at, left - at, chroma[0][0], chroma[1][0], chroma[2][0]);
        if (i + 1 < count)
            all[i + 1] = read_pixels(
                own, from, x + at + WIDTH, left - at - WIDTH, chroma[0][1], chroma[1][1], chroma[2][1]);
    }
    if (own->plan->effect_count > 0) convert_effects_of(own->plan, all, count, x, own->y);
    else convert_colors_of(own->plan, all, count, x, own->y);
    for (int i = 0; i < count; i++) write_pixels(own, to, x + i * WIDTH, left - i * WIDTH, &all[i]);
}

INLINE void convert_row(const line *shared, hwd_form from, hwd_form to) {
    // Local copies can stay in registers, because no store may alias them.
    hwd_plan plan = *shared->plan;
    line own = *shared;
    own.plan = &plan;
    float *chroma[3] = {NULL};
    if (from == HWD_YCBCR) memcpy(chroma, shared->chroma, sizeof chroma);
    own.chroma = chroma;
    const coefficients curves = load_coefficients(&plan);
    int x = 0;
    const bool has_effects = plan.effect_count > 0;
    if (has_effects || LEVEL == 0 || (LEVEL == 1 && to != HWD_HALVES)) {
        const int most = (has_effects ? EFFECT_STRETCH : STRETCH) * WIDTH;
        for (; x < plan.width; x += most) {
            const int left = plan.width - x;
            convert_stretch(&own, from, to, x, left < most ? left : most);
        }
        return;
    }
    for (; x + 2 * WIDTH <= plan.width; x += 2 * WIDTH) convert_pair(&own, &curves, from, to, x, 2 * WIDTH);
    if (x < plan.width) convert_pair(&own, &curves, from, to, x, plan.width - x);
}

typedef void convert_line(const line *own);

#define LINE(name, from, to) \
    static void name(const line *own) { convert_row(own, from, to); }
LINE(ycbcr_to_ycbcr, HWD_YCBCR, HWD_YCBCR)
LINE(ycbcr_to_packed, HWD_YCBCR, HWD_PACKED)
LINE(ycbcr_to_halves, HWD_YCBCR, HWD_HALVES)
LINE(packed_to_ycbcr, HWD_PACKED, HWD_YCBCR)
LINE(packed_to_packed, HWD_PACKED, HWD_PACKED)
LINE(packed_to_halves, HWD_PACKED, HWD_HALVES)
LINE(halves_to_ycbcr, HWD_HALVES, HWD_YCBCR)
LINE(halves_to_packed, HWD_HALVES, HWD_PACKED)
LINE(halves_to_halves, HWD_HALVES, HWD_HALVES)
#undef LINE

#if LEVEL > 0
#include "light.h"
#endif

static convert_line *line_of(const hwd_plan *plan) {
    static convert_line *const lines[3][3] = {
        [HWD_YCBCR] = {ycbcr_to_ycbcr, ycbcr_to_packed, ycbcr_to_halves},
        [HWD_PACKED] = {packed_to_ycbcr, packed_to_packed, packed_to_halves},
        [HWD_HALVES] = {halves_to_ycbcr, halves_to_packed, halves_to_halves},
    };
#if LEVEL > 0
    if (makes_light(plan)) return light_line_of(plan);
#endif
    return lines[plan->source.form][plan->target.form];
}

static bool allocate(const hwd_plan *plan, buffers *to, float **memory) {
    const size_t wide = ((size_t)plan->width + 3 * PAD + 15) & ~(size_t)15;
    const size_t half = ((size_t)half_of(plan->width) + 3 * PAD + 15) & ~(size_t)15;
    const size_t count = 17 * half + 2 * wide;
    float *next = *memory = aligned_alloc(64, count * sizeof(float));
    if (!next) return false;
    memset(next, 0, count * sizeof(float));
    float **wides[] = {&to->wide_cb, &to->wide_cr};
    for (int i = 0; i < 2; i++, next += wide) *wides[i] = next + 16;
    for (int i = 0; i < 4; i++) {
        to->ring_cb[i] = next + 16;
        to->ring_cr[i] = next + half + 16;
        next += 2 * half;
    }
    for (int i = 0; i < 9; i++, next += half) *(i < 6 ? &to->chroma[i / 3][i % 3] : &to->between[i - 6]) = next + 16;
    to->held[0] = to->held[1] = -1;
    return true;
}

bool ROWS(const hwd_plan *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end) {
    if (first >= end) return true;
    buffers to;
    float *memory;
    if (!allocate(plan, &to, &memory)) return false;
    const bool shrinks = plan->target.form == HWD_YCBCR;
    // Rows around this share that its chroma filter also reads.
    const int before = shrinks && plan->down_y[0] != 0 ? 1 : 0;
    const int last_tap = !shrinks ? 0 : plan->down_y[3] != 0 ? 2 : plan->down_y[2] != 0 ? 1 : 0;
    const int start = first - before < 0 ? 0 : first - before;
    const int stop = last_tap > 1 ? end - 1 + last_tap : end;
    convert_line *const convert = line_of(plan);
    float to_rgb[12];
    memcpy(to_rgb, plan->to_rgb, sizeof to_rgb);
#if LEVEL > 0
    if (makes_light(plan)) adjust_for_light(plan, to_rgb);
#endif
    line own = {.plan = plan, .wide_cb = to.wide_cb, .wide_cr = to.wide_cr, .is_bounded = plan->is_bounded};
    // Rows of the matrix have the same factor of luma.
    own.luma = to_rgb[0];
    const int from_alpha = plan->source.interleaved ? 2 : 3, to_alpha = plan->target.interleaved ? 2 : 3;
    own.is_opaque = (plan->source.form == HWD_YCBCR ? !plan->source.alpha : plan->source.opaque) && !plan->makes_alpha;
    own.orders = plan->mapping ? orders_of(plan->mapping) : 0;
    int pair = first / 2;
    for (int y = start; y < stop && y < plan->height; y++) {
        if (plan->source.form == HWD_YCBCR) own.chroma = blend_chroma(plan, to_rgb, source, y, &to);
        own.y = y;
        own.from[0] = source[0].base + y * source[0].stride;
        own.to[0] = target[0].base + y * target[0].stride;
        if (plan->source.alpha) own.from[1] = source[from_alpha].base + y * source[from_alpha].stride;
        if (plan->target.alpha) own.to[1] = target[to_alpha].base + y * target[to_alpha].stride;
        own.is_own = y >= first && y < end;
        convert(&own);
        if (!shrinks) continue;
        narrow(plan, to.wide_cb, to.ring_cb[y & 3]);
        narrow(plan, to.wide_cr, to.ring_cr[y & 3]);
        while (2 * pair < end && y >= clamp_row(2 * pair + last_tap, plan->height))
            write_chroma(plan, target, pair++, &to);
    }
    free(memory);
    return true;
}
