// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a span of pixels or a row of chroma to the target; included by rows.h.

/// The value added before truncation: one half, or the ordered pattern's threshold (8x8 Bayer).
static const uint8_t pattern[8][8] = {
    {0, 32, 8, 40, 2, 34, 10, 42},  {48, 16, 56, 24, 50, 18, 58, 26}, {12, 44, 4, 36, 14, 46, 6, 38},
    {60, 28, 52, 20, 62, 30, 54, 22}, {3, 35, 11, 43, 1, 33, 9, 41},  {51, 19, 59, 27, 49, 17, 57, 25},
    {15, 47, 7, 39, 13, 45, 5, 37}, {63, 31, 55, 23, 61, 29, 53, 21},
};

INLINE vf rounding(bool dithers, int x, int y) {
    vf add;
    if (!dithers) return splat(0.5f);
    for (int k = 0; k < WIDTH; k++) add[k] = ((float)pattern[y & 7][(x + k) & 7] + 0.5f) * (1.f / 64);
    return add;
}

/// Rounds to an integer in 0 … top.
INLINE vi code(vf x, vf add, float top) { return whole(at_most(at_least(x + add, splat(0)), splat(top))); }

INLINE void store_samples(const hwd_layout *form, uint8_t *row, int x, vi values, int left) {
    if (form->words) store_words(row + 2 * (size_t)x, values, left, form->shift);
    else store_bytes(row + x, values, left);
}

/// Writes luma and alpha of a row of this share; keeps chroma at luma width for every row.
INLINE void write_ycbcr(const line *own, int x, int left, const pixels *p) {
    const hwd_layout *form = &own->plan->target;
    const float *m = own->plan->from_rgb;
    store(own->wide_cb + x, row_of(m + 4, p->r, p->g, p->b));
    store(own->wide_cr + x, row_of(m + 8, p->r, p->g, p->b));
    if (!own->is_own) return;
    const vf add = rounding(own->plan->dithers, x, own->y);
    store_samples(form, own->to[0], x, code(row_of(m, p->r, p->g, p->b), add, form->top), left);
    if (!form->alpha) return;
    store_bytes(own->to[1] + x, code(p->a * 255, splat(0.5f), 255), left);
}

/// Filters a row of chroma to chroma width.
static void narrow(const hwd_plan *plan, float *wide, float *half) {
    const float *weights = plan->down_x;
    // Edge samples are repeated.
    wide[-1] = wide[0];
    wide[plan->width] = wide[plan->width - 1];
    for (int x = 0; x < half_of(plan->width); x += WIDTH) {
        const float *at = wide + 2 * x;
        const vf low = load(at), high = load(at + WIDTH);
        vf sum = weights[1] * __builtin_shufflevector(low, high, EVENS)
            + weights[2] * __builtin_shufflevector(low, high, ODDS);
        if (weights[0] != 0)
            sum += weights[0] * __builtin_shufflevector(load(at - 1), load(at + WIDTH - 1), EVENS);
        store(half + x, sum);
    }
}

/// Filters a row of the target's chroma vertically.
static void write_chroma(const hwd_plan *plan, const hwd_mutable_plane *target, int pair, buffers *at) {
    const hwd_layout *form = &plan->target;
    const int width = half_of(plan->width);
    for (int x = 0; x < width; x += WIDTH) {
        vf cb = splat(0), cr = splat(0);
        for (int tap = 0; tap < 4; tap++) {
            const float weight = plan->down_y[tap];
            if (weight == 0) continue;
            const int row = clamp_row(2 * pair - 1 + tap, plan->height) & 3;
            cb += weight * load(at->ring_cb[row] + x);
            cr += weight * load(at->ring_cr[row] + x);
        }
        const vf add = rounding(plan->dithers, x, pair);
        const vi first = code(cb, add, form->top), second = code(cr, add, form->top);
        if (!form->interleaved) {
            store_samples(form, target[1].base + pair * target[1].stride, x, first, width - x);
            store_samples(form, target[2].base + pair * target[2].stride, x, second, width - x);
        } else if (form->words) {
            const vi pairs = (first << form->shift) | (second << (form->shift + 16));
            memcpy(target[1].base + pair * target[1].stride + 4 * (size_t)x, &pairs, 4 * (size_t)at_hand(width - x));
        } else {
            const vh pairs = __builtin_convertvector(first | (second << 8), vh);
            memcpy(target[1].base + pair * target[1].stride + 2 * (size_t)x, &pairs, 2 * (size_t)at_hand(width - x));
        }
    }
}

INLINE void write_packed(const line *own, int x, int left, const pixels *p) {
    const hwd_layout *form = &own->plan->target;
    const float top = form->top, alpha_top = form->alpha_top;
    const vf add = rounding(own->plan->dithers, x, own->y);
    const vi r = code(p->r * top, add, top), g = code(p->g * top, add, top), b = code(p->b * top, add, top);
    const vi a = form->opaque ? (vi){0} + (int)alpha_top : code(p->a * alpha_top, splat(0.5f), alpha_top);
    const vi words = r << form->shifts[0] | g << form->shifts[1] | b << form->shifts[2] | a << form->shifts[3];
    memcpy(own->to[0] + 4 * (size_t)x, &words, 4 * (size_t)at_hand(left));
}

INLINE vh storable(vf x, bool is_bounded) { return to_halves(is_bounded ? x : within_halves(x)); }

INLINE void write_halves(const line *own, int x, int left, const pixels *p) {
    const bool is_bounded = own->is_bounded;
    const vh r = storable(p->r, is_bounded), g = storable(p->g, is_bounded), b = storable(p->b, is_bounded);
    const vh a = own->is_opaque ? (vh){0} + 0x3C00 : to_halves(p->a);
    const vi rg = (vi)__builtin_shufflevector(r, g, ALL_PAIRS), ba = (vi)__builtin_shufflevector(b, a, ALL_PAIRS);
    const vi both[2] = {__builtin_shufflevector(rg, ba, LOW_PAIRS), __builtin_shufflevector(rg, ba, HIGH_PAIRS)};
    memcpy(own->to[0] + 8 * (size_t)x, both, 8 * (size_t)at_hand(left));
}
