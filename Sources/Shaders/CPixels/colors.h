// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the color of pixels in registers; included by rows.h.
#include "curves.h"

/// The coefficients of all curves of a plan.
typedef struct {
    segments decode, gain, inverse_gain, encode;
} coefficients;

INLINE coefficients load_coefficients(const hwd_plan *plan) {
    return (coefficients){
        load_segments(&plan->decode), load_segments(&plan->gain.curve), load_segments(&plan->inverse_gain.curve),
        load_segments(&plan->encode)};
}

/// Multiplies pixels by a gain. From a weighted sum it is 0 where the sum is not positive.
INLINE void amplify(const hwd_gain *gain, const segments *own, pixels *p) {
    if (is_identity(&gain->curve)) return;
    const float *w = gain->weights;
    vf factor;
    if (w[0] == 0 && w[1] == 0 && w[2] == 0) {
        factor = apply(&gain->curve, own, at_least(at_least(p->r, p->g), p->b));
    } else {
        const vf sum = w[0] * p->r + (w[1] * p->g + w[2] * p->b);
        factor = (vf)((vi)apply(&gain->curve, own, sum) & (sum > splat(0)));
    }
    p->r *= factor, p->g *= factor, p->b *= factor;
}

/// 1 / alpha; 0 where alpha is 0.
INLINE vf inverse_of(vf a) {
    const vi is_there = a > splat(0);
    return (vf)((vi)(splat(1) / choose(is_there, a, splat(1))) & is_there);
}

INLINE void clip(pixels *p) { p->r = within(p->r), p->g = within(p->g), p->b = within(p->b); }

/// Multiplies by a 3x3 matrix whose rows are `step` numbers apart.
INLINE void multiply(const float *m, int step, pixels *p) {
    const float *second = m + step, *third = second + step;
    const vf r = m[0] * p->r + (m[1] * p->g + m[2] * p->b);
    const vf g = second[0] * p->r + (second[1] * p->g + second[2] * p->b);
    p->b = third[0] * p->r + (third[1] * p->g + third[2] * p->b);
    p->r = r, p->g = g;
}

/// Applies a 3x4 matrix.
INLINE void transform(const float *m, pixels *p) {
    const vf r = row_of(m, p->r, p->g, p->b), g = row_of(m + 4, p->r, p->g, p->b);
    p->b = row_of(m + 8, p->r, p->g, p->b);
    p->r = r, p->g = g;
}

/// Darkens pixels, the first of which is at column x, and the next `step` columns further right.
INLINE void darken(const float *vignette, int x, int step, int y, pixels *p) {
    vf across;
    for (int k = 0; k < WIDTH; k++) across[k] = (float)(k * step);
    across += (float)x + 0.5f - vignette[1];
    const float down = (float)y + 0.5f - vignette[2];
    const vf cosine = reciprocal(across * (across * vignette[3]) + (1 + down * down * vignette[3]));
    const vf gain = cosine * (cosine * vignette[0]) + (1 - vignette[0]);
    p->r *= gain, p->g *= gain, p->b *= gain;
}

/// From R'G'B' to light of the target's primaries, where the plan converts through light; the first pixel is at column x of row y.
INLINE void convert_to_colors(const hwd_plan *plan, const coefficients *own, int x, int y, pixels *p) {
    if (plan->divides) {
        const vf scale = inverse_of(p->a);
        p->r *= scale, p->g *= scale, p->b *= scale;
    }
    if (plan->clips_source) clip(p);
    if (plan->converts) {
        apply_three(&plan->decode, &own->decode, p);
        if (plan->mapping) multiply(plan->mapping->light[0], 4, p);
        amplify(&plan->gain, &own->gain, p);
        // Tone mapping has a table alone.
        amplify(&plan->tone, &own->gain, p);
        transform(plan->colors, p);
        if (plan->has_vignette) darken(plan->vignette, x, 1, y, p);
    }
}

/// From there to the target's R'G'B'.
INLINE void convert_from_colors(const hwd_plan *plan, const coefficients *own, pixels *p) {
    if (plan->converts) {
        amplify(&plan->inverse_gain, &own->inverse_gain, p);
        apply_three(&plan->encode, &own->encode, p);
    }
    if (plan->clips_target) clip(p);
    if (plan->multiplies) p->r *= p->a, p->g *= p->a, p->b *= p->a;
}

INLINE void convert_colors(const hwd_plan *plan, const coefficients *own, int x, int y, pixels *p) {
    convert_to_colors(plan, own, x, y, p);
    convert_from_colors(plan, own, p);
}
