// SPDX-License-Identifier: GPL-2.0-or-later
// Applies effects to light; included by rows.h.
#include "powers.h"

static void apply_cdl(const hwd_effect *effect, const segments *to_light, pixels *p) {
    const float *slope = effect->numbers, *offset = slope + 3, *power = slope + 6, saturation = slope[9];
    encode_light(&effect->coding, p);
    vf *values[3] = {&p->r, &p->g, &p->b};
    for (int i = 0; i < 3; i++) {
        vf x = *values[i] * slope[i] + offset[i];
        if (effect->flag) x = within(x);
        if (power[i] != 1) x = choose(x > splat(0), raised(&effect->powers[i], x), x);
        *values[i] = x;
    }
    if (saturation != 1) {
        static const float luma[3] = {0.2126f, 0.7152f, 0.0722f};
        // Not by differences, in which a bright channel would lose what the others have.
        const vf y = weigh(luma, p) * (1 - saturation);
        p->r = p->r * saturation + y, p->g = p->g * saturation + y, p->b = p->b * saturation + y;
    }
    if (effect->flag) clip(p);
    decode_light(&effect->coding, to_light, p);
}

/// The numbers of a piece in a curve's row.
INLINE vf piece_number(const float *row, int size, vi piece) {
#if LEVEL == 2
    if (size <= 16) return (vf)_mm512_permutexvar_ps((__m512i)piece, _mm512_loadu_ps(row));
    return (vf)_mm512_i32gather_ps((__m512i)piece, row, 4);
#elif LEVEL == 1
    if (size <= 8) return (vf)_mm256_permutevar8x32_ps(_mm256_loadu_ps(row), (__m256i)piece);
    return (vf)_mm256_i32gather_ps(row, (__m256i)piece, 4);
#else
    (void)size;
    vf values;
    for (int k = 0; k < WIDTH; k++) values[k] = row[piece[k]];
    return values;
#endif
}

INLINE vf curve_value(const hwd_effect *effect, vf x) {
    const int size = effect->size, step = size > 16 ? size : 16;
    const float *table = effect->table;
    vi piece = {0};
    // The piece after the first one begins at the same point.
    for (int i = 1; i < size; i++) piece -= x > table[i];
    const vf above = x - piece_number(table, size, piece);
    vf value = piece_number(table + 4 * step, size, piece);
#pragma unroll
    for (int power = 3; power > 0; power--) value = value * above + piece_number(table + power * step, size, piece);
    return value;
}

static void apply_key(const hwd_effect *effect, pixels *p) {
    const float *n = effect->numbers;
    const hwd_power *power = &effect->powers[0];
    const vf r = encode_srgb(power, within(p->r)), g = encode_srgb(power, within(p->g));
    const vf b = encode_srgb(power, within(p->b));
    const vf y = 0.2126f * r + (0.7152f * g + 0.0722f * b);
    const vf cb = (b - y) * (1 / 1.8556f) - n[0], cr = (r - y) * (1 / 1.5748f) - n[1];
    const vf distance = square_root((cb * cb + cr * cr) * 0.5f);
    p->a *= effect->flag ? choose(distance > n[2], splat(1), splat(0)) : within((distance - n[2]) * n[3]);
}

static void apply_despill(const hwd_effect *effect, pixels *p) {
    vf *own = effect->size == 0 ? &p->r : effect->size == 1 ? &p->g : &p->b;
    const vf others = effect->size == 0 ? p->g + p->b : effect->size == 1 ? p->r + p->b : p->r + p->g;
    // Not by a difference, in which a bright channel would lose what the others have.
    const vf mean = others * 0.5f, limited = *own * (1 - effect->numbers[0]) + mean * effect->numbers[0];
    *own = choose(*own > mean, limited, *own);
}

/// The position of values in a table along one axis: the lower entry and the part of the way to the next.
INLINE vi position_of(const hwd_effect *effect, int channel, vf x, vf *part) {
    const float *n = effect->numbers;
    const vf steps = at_most(at_least((x - n[channel]) * n[3 + channel], splat(0)), splat((float)(effect->size - 1)));
    const vi index = least(whole(steps), (vi){0} + (effect->size - 2));
    *part = steps - number(index);
    return index;
}

INLINE vf entries(const float *table, vi index) {
#if LEVEL == 2
    return (vf)_mm512_i32gather_ps((__m512i)index, table, 4);
#elif LEVEL == 1
    return (vf)_mm256_i32gather_ps(table, (__m256i)index, 4);
#else
    vf values;
    for (int k = 0; k < WIDTH; k++) values[k] = table[index[k]];
    return values;
#endif
}

static void look_up_lines(const hwd_effect *effect, pixels *p) {
    vf *values[3] = {&p->r, &p->g, &p->b};
    for (int i = 0; i < 3; i++) {
        vf part;
        const vi index = position_of(effect, i, *values[i], &part) * 3 + i;
        const vf low = entries(effect->table, index);
        *values[i] = low + part * (entries(effect->table + 3, index) - low);
    }
}

INLINE vi select_index(vi mask, vi a, vi b) { return (mask & a) | (~mask & b); }

// R, G, B and an unused value of an entry.
typedef float entry __attribute__((vector_size(16)));

/// WIDTH / 4 entries.
INLINE vf joined(const entry *own) {
#if WIDTH == 16
    typedef float pair __attribute__((vector_size(32)));
    const pair first = __builtin_shufflevector(own[0], own[1], 0, 1, 2, 3, 4, 5, 6, 7);
    const pair second = __builtin_shufflevector(own[2], own[3], 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif WIDTH == 8
    return __builtin_shufflevector(own[0], own[1], 0, 1, 2, 3, 4, 5, 6, 7);
#else
    return own[0];
#endif
}

/// R, G and B of WIDTH entries in their order.
INLINE void separate(const entry own[WIDTH], pixels *p) {
    vf parts[4];
    for (int i = 0; i < 4; i++) parts[i] = joined(own + i * (WIDTH / 4));
    vf even[2], odd[2];
    for (int i = 0; i < 2; i++) {
        even[i] = __builtin_shufflevector(parts[2 * i], parts[2 * i + 1], EVENS);
        odd[i] = __builtin_shufflevector(parts[2 * i], parts[2 * i + 1], ODDS);
    }
    p->r = __builtin_shufflevector(even[0], even[1], EVENS);
    p->g = __builtin_shufflevector(odd[0], odd[1], EVENS);
    p->b = __builtin_shufflevector(even[0], even[1], ODDS);
}

/// Tetrahedral: from a corner of a cell along the axes, the largest part first.
static void look_up_cube(const hwd_effect *effect, pixels *p) {
    vf r, g, b;
    const int size = effect->size;
    const vi red = position_of(effect, 0, p->r, &r), green = position_of(effect, 1, p->g, &g);
    const vi blue = position_of(effect, 2, p->b, &b);
    const vi across = (vi){0} + 3, down = (vi){0} + 3 * size, deep = (vi){0} + 3 * size * size;
    const vf largest = at_least(at_least(r, g), b), smallest = at_most(at_most(r, g), b);
    const vf middle = at_least(at_most(at_least(r, g), b), at_most(r, g));
    const vi top = select_index(r == largest, across, select_index(g == largest, down, deep));
    // The axis of the smallest part, another one than `top`.
    const vi bottom = select_index(
        (b == smallest) & (top != deep), deep, select_index((g == smallest) & (top != down), down, across));
    const vf weights[4] = {1 - largest, largest - middle, middle - smallest, smallest};
    vi corners[4];
    corners[0] = red * 3 + (green * (3 * size) + blue * (3 * size * size));
    corners[1] = corners[0] + top;
    corners[3] = corners[0] + across + down + deep;
    corners[2] = corners[3] - bottom;
    // An entry is loaded as a whole: gathers of single values take several times as long.
    float values[4][WIDTH];
    int32_t at[4][WIDTH];
    memcpy(values, weights, sizeof values);
    memcpy(at, corners, sizeof at);
    entry sums[WIDTH];
#pragma unroll
    for (int k = 0; k < WIDTH; k++) {
        sums[k] = (entry){0};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            entry own;
            memcpy(&own, effect->table + at[i][k], sizeof own);
            sums[k] += own * values[i][k];
        }
    }
    separate(sums, p);
}

static void apply_table(const hwd_effect *effect, const segments *to_light, pixels *p) {
    vf headroom = splat(1);
    if (effect->flag) {
        headroom = at_least(at_least(at_least(p->r, p->g), p->b), splat(1));
        p->r /= headroom, p->g /= headroom, p->b /= headroom;
    }
    encode_light(&effect->coding, p);
    if (effect->kind == HWD_CUBE_LUT) look_up_cube(effect, p);
    else look_up_lines(effect, p);
    // PQ and HLG have no codes below 0.
    if (effect->coding.space == HWD_PQ || effect->coding.space == HWD_HLG)
        p->r = at_least(p->r, splat(0)), p->g = at_least(p->g, splat(0)), p->b = at_least(p->b, splat(0));
    decode_light(&effect->coding, to_light, p);
    p->r *= headroom, p->g *= headroom, p->b *= headroom;
}

static void apply_coded(const hwd_effect *effect, const segments *to_light, pixels *p) {
    encode_light(&effect->coding, p);
    transform(effect->numbers, p);
    decode_light(&effect->coding, to_light, p);
}

static void apply_curve(const hwd_effect *effect, pixels *p) {
    p->r = curve_value(effect, p->r), p->g = curve_value(effect, p->g), p->b = curve_value(effect, p->b);
}

static void apply_background(const hwd_effect *effect, pixels *p) {
    const float *n = effect->numbers;
    const vf rest = 1 - p->a;
    p->r = p->r * p->a + n[0] * rest, p->g = p->g * p->a + n[1] * rest, p->b = p->b * p->a + n[2] * rest;
    p->a = splat(1);
}

INLINE void darken_vector(const float *vignette, int x, int index, int y, bool alternates, pixels *p) {
    if (alternates) darken(vignette, x + index / 2 * 2 * WIDTH + index % 2, 2, y, p);
    else darken(vignette, x + index * WIDTH, 1, y, p);
}

/// Applies an effect to vectors of pixels, of which the first begins at column x of row y.
///
/// With `alternates`, the vectors are of even and of odd columns in turn.
static void apply_effect(const hwd_effect *effect, pixels *all, int count, int x, int y, bool alternates) {
    const segments to_light = load_segments(&effect->coding.to_light);
#define APPLY(call) \
    for (int i = 0; i < count; i++) call; \
    break
    switch (effect->kind) {
    case HWD_MATRIX: APPLY(transform(effect->numbers, &all[i]));
    case HWD_CODED: APPLY(apply_coded(effect, &to_light, &all[i]));
    case HWD_CDL: APPLY(apply_cdl(effect, &to_light, &all[i]));
    case HWD_VIGNETTE: APPLY(darken_vector(effect->numbers, x, i, y, alternates, &all[i]));
    case HWD_CURVE: APPLY(apply_curve(effect, &all[i]));
    case HWD_KEY: APPLY(apply_key(effect, &all[i]));
    case HWD_DESPILL: APPLY(apply_despill(effect, &all[i]));
    case HWD_LINE_LUT:
    case HWD_CUBE_LUT: APPLY(apply_table(effect, &to_light, &all[i]));
    case HWD_BACKGROUND: APPLY(apply_background(effect, &all[i]));
    }
#undef APPLY
}
