// SPDX-License-Identifier: GPL-2.0-or-later
// Reads vectors of pixels; included by rows.h.

/// Interpolates WIDTH samples of chroma to luma width between the two nearest samples.
INLINE void widen(const float *half, const float *weights, vf *full) {
    const vf near = load(half);
    const vf even = weights[0] * near + (1 - weights[0]) * load(half - 1);
    const vf odd = weights[1] * near + (1 - weights[1]) * load(half + 1);
    full[0] = __builtin_shufflevector(even, odd, LOW_PAIRS);
    full[1] = __builtin_shufflevector(even, odd, HIGH_PAIRS);
}

/// R'G'B' of Y'CbCr, from what chroma adds to them at luma's positions; with a mapping from Cb and Cr.
INLINE pixels read_ycbcr(const line *own, int x, int left, vf first, vf second, vf third) {
    const hwd_plan *plan = own->plan;
    const hwd_layout *form = &plan->source;
    vf value = load_samples(form, own->from[0], x, left);
    pixels p = {.a = splat(1)};
    if (plan->mapping) {
        const float *m = plan->to_rgb;
        map_codes(plan->mapping, own->orders, &value, &first, &second);
        p.r = row_of(m, value, first, second);
        p.g = row_of(m + 4, value, first, second);
        p.b = row_of(m + 8, value, first, second);
    } else {
        value *= own->luma;
        p.r = value + first, p.g = value + second, p.b = value + third;
    }
    if (form->alpha) p.a = load_bytes(own->from[1] + x, left) * (1.f / 255);
    return p;
}

/// The values of a component of words.
INLINE vf field(vi words, int shift, float top) { return number((words >> shift) & (int)top) * (1 / top); }

INLINE pixels read_packed(const line *own, int x, int left) {
    const hwd_layout *form = &own->plan->source;
    const float top = form->top;
    vi words = {0};
    memcpy(&words, own->from[0] + 4 * (size_t)x, 4 * (size_t)at_hand(left));
    return (pixels){
        field(words, form->shifts[0], top), field(words, form->shifts[1], top), field(words, form->shifts[2], top),
        form->opaque ? splat(1) : field(words, form->shifts[3], form->alpha_top)};
}

INLINE pixels read_halves(const line *own, int x, int left) {
    const uint8_t *at = own->from[0] + 8 * (size_t)x;
    vh2 low = {0}, high = {0};
    const size_t bytes = 8 * (size_t)at_hand(left);
    memcpy(&low, at, bytes < sizeof low ? bytes : sizeof low);
    if (bytes > sizeof low) memcpy(&high, at + sizeof low, bytes - sizeof low);
    // R G B A R G B A …: separates G and A from R and B as pairs of words, then the members of each pair.
    const vi rg = __builtin_shufflevector((vi)low, (vi)high, EVENS);
    const vi ba = __builtin_shufflevector((vi)low, (vi)high, ODDS);
    return (pixels){
        from_halves(__builtin_convertvector(rg & 0xffff, vh)), from_halves(__builtin_convertvector((vi)((vu)rg >> 16), vh)),
        from_halves(__builtin_convertvector(ba & 0xffff, vh)),
        within(from_halves(__builtin_convertvector((vi)((vu)ba >> 16), vh)))};
}
