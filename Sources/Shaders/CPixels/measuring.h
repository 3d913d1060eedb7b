// SPDX-License-Identifier: GPL-2.0-or-later
// Counts PQ codes of the light of max(R, G, B) over a picture, a vector of sites of chroma at a time. Included after rows.h
// with MEASURED_LIGHT defined.

/// The samples of luma at even columns, of which `left` exist; the last one may be the last of its row.
INLINE vf load_even(bool words, int shift, const uint8_t *row, int x, int left) {
    const size_t size = words ? 2 : 1, at = 2 * size * (size_t)x;
    if (words) {
        vi pairs = {0};
        if (left > WIDTH) memcpy(&pairs, row + at, sizeof pairs);
        else memcpy(&pairs, row + at, size * (size_t)(2 * left - 1));
        return number((pairs >> shift) & 0x3ff);
    }
    vh pairs = {0};
    if (left > WIDTH) memcpy(&pairs, row + at, sizeof pairs);
    else memcpy(&pairs, row + at, size * (size_t)(2 * left - 1));
    return number(__builtin_convertvector(pairs, vi) & 0xff);
}

/// The scene's light of HLG's values 0 … 1, to about 3e-6 of it.
INLINE vf light_of_hlg(vf value) {
    const vf power = value * (1.44269504f / HLG_A) - HLG_C * (1.44269504f / HLG_A);
    // Adding a number that large leaves the nearest integer in the low bits.
    const vf large = power + 0x1.8p23f;
    const vf t = power - (large - 0x1.8p23f);
    vf sum = t * 0.00968571f + 0.05592203f;
    sum = sum * t + 0.24021865f;
    sum = sum * t + 0.69312104f;
    sum = sum * t + 1.00000015f;
    const vf high = (vf)((vi)sum + ((vi)large << 23)) * (1 / 12.f) + HLG_B / 12;
    return choose(value <= 0.5f, value * value * (1 / 3.f), high);
}

/// The logarithm to base 2 of normal positive numbers, to about 1e-4.
INLINE vf rough_log2(vf x) {
    const vf t = (vf)(((vi)x & 0x7fffff) | 0x3f800000) - 1;
    vf sum = t * -0.0816158085f + 0.318679130f;
    sum = sum * t - 0.674942891f;
    sum = sum * t + 1.43770439f;
    return number(((vi)x >> 23) - 127) + (sum * t + 8.75919242e-5f);
}

/// The planes at a row of sites.
typedef struct {
    const uint8_t *luma, *first, *second;
} light_rows;

/// Counts the codes of WIDTH sites from x on, of which `left` exist.
INLINE void measure_sites(
    const hwd_light_plan *plan, hwd_layout form, const light_rows *rows, int x, int left, uint32_t *counts) {
    const vf y = load_even(form.words, form.shift, rows->luma, x, left);
    vf cb, cr;
    if (form.interleaved) {
        load_pairs(&form, rows->first, x, left, &cb, &cr);
    } else {
        cb = load_samples(&form, rows->first, x, left);
        cr = load_samples(&form, rows->second, x, left);
    }
    const float *m = plan->to_rgb;
    const vf r = within(row_of(m, y, cb, cr)), g = within(row_of(m + 4, y, cb, cr));
    const vf b = within(row_of(m + 8, y, cb, cr));
    vf value;
    if (plan->codes) {
        const vf red = light_of_hlg(r), green = light_of_hlg(g), blue = light_of_hlg(b), least = splat(plan->least);
        const vf sum = plan->weights[0] * red + (plan->weights[1] * green + plan->weights[2] * blue);
        const vf largest = at_least(at_least(at_least(red, green), blue), least);
        value = rough_log2(largest) * plan->scale + (rough_log2(at_least(sum, least)) * plan->gain + plan->offset);
    } else {
        value = at_least(at_least(r, g), b) * plan->scale + plan->offset;
    }
    const vi index = whole(at_most(at_least(value, splat(0)), splat((float)plan->top)));
    uint32_t at[WIDTH];
    memcpy(at, &index, sizeof at);
    const int count = at_hand(left);
    const uint16_t *codes = plan->codes;
    // Neighbors often have the same code: two sets of counts avoid waiting for the last sum.
    if (codes) {
#pragma unroll
        for (int i = 0; i < count; i++) counts[(i & 1) * HWD_LIGHT_CODES + codes[at[i]]]++;
    } else {
#pragma unroll
        for (int i = 0; i < count; i++) counts[(size_t)(i & 1) * HWD_LIGHT_CODES + at[i]]++;
    }
}

INLINE void measure_light(
    const hwd_light_plan *shared, const hwd_plane *planes, bool words, bool interleaved, uint32_t *counts) {
    // A local copy can stay in registers, because no store may alias it.
    const hwd_light_plan plan = *shared;
    const hwd_layout form = {.words = words, .shift = plan.source.shift, .interleaved = interleaved};
    for (int row = 0; row < plan.height; row++) {
        const light_rows rows = {
            planes[0].base + 2 * (size_t)row * planes[0].stride, planes[1].base + (size_t)row * planes[1].stride,
            interleaved ? NULL : planes[2].base + (size_t)row * planes[2].stride};
        int x = 0;
        for (; x + WIDTH < plan.width; x += WIDTH) measure_sites(&plan, form, &rows, x, WIDTH + 1, counts);
        measure_sites(&plan, form, &rows, x, plan.width - x, counts);
    }
}

void MEASURED_LIGHT(const hwd_light_plan *plan, const hwd_plane *planes, uint32_t *counts) {
    const bool interleaved = plan->source.interleaved;
    if (plan->width <= 0) return;
    if (plan->source.words) {
        if (interleaved) measure_light(plan, planes, true, true, counts);
        else measure_light(plan, planes, true, false, counts);
    } else {
        if (interleaved) measure_light(plan, planes, false, true, counts);
        else measure_light(plan, planes, false, false, counts);
    }
}
