// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the color of a span of pixels in place; included by rows.h.

/// Evaluates a curve.
INLINE vf apply(const hwd_curve *curve, vf x) {
    if (!curve->pairs) return x;
    const vi sign = (vi)x & (curve->odd ? (int32_t)0x80000000 : 0);
    x = curve->odd ? (vf)((vi)x & 0x7fffffff) : at_least(x, splat(0));
    x = at_most(x, splat(curve->limit));
    vi index;
    vf part;
    if (curve->scale > 0) {
        const vf steps = x * curve->scale;
        index = whole(steps);
        part = steps - number(index);
    } else {
        const vi bits = (vi)x;
        index = (bits >> 17) - (curve->first - 1);
        const vi is_tiny = index < 1;
        part = choose(is_tiny, x * curve->tiny, number(bits & 0x1ffff) * 0x1p-17f);
        index &= ~is_tiny;
    }
    return (vf)((vi)look_up(curve->pairs, index, part) ^ sign);
}

/// A pixel's gain. For a weighted sum it is 0 where the sum is not positive.
INLINE vf gain_of(const hwd_gain *gain, vf r, vf g, vf b) {
    const float *w = gain->weights;
    if (w[0] == 0 && w[1] == 0 && w[2] == 0) return apply(&gain->curve, at_least(at_least(r, g), b));
    const vf sum = w[0] * r + (w[1] * g + w[2] * b);
    return (vf)((vi)apply(&gain->curve, sum) & (sum > splat(0)));
}

/// 1 / alpha; 0 where alpha is 0.
INLINE vf inverse_of(vf a) {
    const vi is_there = a > splat(0);
    return (vf)((vi)(splat(1) / choose(is_there, a, splat(1))) & is_there);
}

static void convert_colors(const hwd_plan *shared, int count, buffers *at) {
    // A local copy can stay in registers, because no store to a float may alias it.
    const hwd_plan own = *shared, *plan = &own;
    const float *m = plan->colors;
    if (!plan->clips_source && !plan->divides && !plan->converts && !plan->clips_target && !plan->multiplies) return;
    for (int x = 0; x < count; x += WIDTH) {
        vf r = load(at->r + x), g = load(at->g + x), b = load(at->b + x);
        if (plan->divides) {
            const vf scale = inverse_of(load(at->a + x));
            r *= scale, g *= scale, b *= scale;
        }
        if (plan->clips_source) r = within(r), g = within(g), b = within(b);
        if (plan->converts) {
            r = apply(&plan->decode, r), g = apply(&plan->decode, g), b = apply(&plan->decode, b);
            if (plan->mapping) {
                const float(*rows)[4] = plan->mapping->light;
                const vf red = rows[0][0] * r + (rows[0][1] * g + rows[0][2] * b);
                const vf green = rows[1][0] * r + (rows[1][1] * g + rows[1][2] * b);
                b = rows[2][0] * r + (rows[2][1] * g + rows[2][2] * b);
                r = red, g = green;
            }
            if (plan->gain.curve.pairs) {
                const vf gain = gain_of(&plan->gain, r, g, b);
                r *= gain, g *= gain, b *= gain;
            }
            if (plan->tone.curve.pairs) {
                const vf gain = gain_of(&plan->tone, r, g, b);
                r *= gain, g *= gain, b *= gain;
            }
            const vf red = m[0] * r + (m[1] * g + m[2] * b);
            const vf green = m[3] * r + (m[4] * g + m[5] * b);
            b = m[6] * r + (m[7] * g + m[8] * b);
            r = red, g = green;
            if (plan->inverse_gain.curve.pairs) {
                const vf gain = gain_of(&plan->inverse_gain, r, g, b);
                r *= gain, g *= gain, b *= gain;
            }
            r = apply(&plan->encode, r), g = apply(&plan->encode, g), b = apply(&plan->encode, b);
        }
        if (plan->clips_target) r = within(r), g = within(g), b = within(b);
        if (plan->multiplies) {
            const vf scale = load(at->a + x);
            r *= scale, g *= scale, b *= scale;
        }
        store(at->r + x, r);
        store(at->g + x, g);
        store(at->b + x, b);
    }
}
