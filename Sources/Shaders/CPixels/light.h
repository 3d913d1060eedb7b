// SPDX-License-Identifier: GPL-2.0-or-later
// Converts Y'CbCr to half floats of linear light where only matrices, one curve by segments and effects are applied. Even and
// odd columns are kept in separate vectors, so that interpolating chroma needs no shuffles. Included by rows.h for AVX2 and
// AVX-512.

// The most rows of coefficients of a curve, the squarings of a curve that is squared, and the origin of its variable.
#if LEVEL == 2
enum { LIGHT_ROWS = 4, LIGHT_SQUARES = 1, LIGHT_ORIGIN = 0 };
#else
enum { LIGHT_ROWS = 6, LIGHT_SQUARES = 2, LIGHT_ORIGIN = 1 };
#endif

/// What differs between the loops for light, constant in each of them.
typedef struct {
    bool words;        // samples are 16-bit words
    bool is_squared;   // the curve's value is squared LIGHT_SQUARES times
    bool is_cosited;   // chroma samples are at even columns
    bool is_darkened;  // by a vignette
    bool has_effects;
} light_form;

/// Whether only matrices, one curve by segments and effects that keep pixels opaque separate Y'CbCr from light.
///
/// `clips_source` does not matter: the curve clamps its argument.
static bool makes_light(const hwd_plan *plan) {
    const hwd_segments *decode = &plan->decode.segments;
    // Loops with effects take any segments.
    const bool is_usual = decode->rows <= LIGHT_ROWS && (decode->squares == 0 || decode->squares == LIGHT_SQUARES)
        && decode->origin == LIGHT_ORIGIN;
    const bool decodes = has_segments(&plan->decode) && !plan->decode.odd && !decode->root
        && (is_usual || plan->effect_count > 0);
    const bool is_bounded = plan->effect_count > 0 ? !plan->makes_alpha : plan->is_bounded;
    const bool has_more = plan->divides || plan->multiplies || plan->mapping || plan->clips_target
        || !is_identity(&plan->gain.curve) || !is_identity(&plan->tone.curve)
        || !is_identity(&plan->inverse_gain.curve) || !is_identity(&plan->encode);
    return plan->source.form == HWD_YCBCR && plan->target.form == HWD_HALVES && !plan->source.alpha
        && plan->converts && is_bounded && decodes && !has_more;
}

/// Bits of a sample. They become the upper bits of a mantissa, so that a code is read as 1 + code / 2^bits.
INLINE int sample_bits(bool words) { return words ? 10 : 8; }

/// Lets the matrix include the curve's scale and offset.
static void adjust_for_light(const hwd_plan *plan, float *to_rgb) {
    const hwd_segments *decode = &plan->decode.segments;
    for (int i = 0; i < 12; i++) to_rgb[i] = to_rgb[i] * decode->scale + (i % 4 == 3 ? decode->offset : 0);
}

/// Reads luma of even and of odd columns, as its part of the curve's argument.
INLINE void read_luma(light_form form, const line *own, const uint8_t *at, vf luma[2]) {
    const int shift = form.words ? own->plan->source.shift : 0;
    vu pairs;
    if (form.words) {
        memcpy(&pairs, at, sizeof pairs);
    } else {
        vb2 samples;
        memcpy(&samples, at, sizeof samples);
        pairs = (vu)__builtin_convertvector(samples, vh2);
    }
    const int below = 23 - sample_bits(form.words);
    const vi bits = (vi){0} + (((1 << sample_bits(form.words)) - 1) << below);
    luma[0] = (vf)(((vi)(pairs << (below - shift)) & bits) | 0x3f800000);
    luma[1] = (vf)(((vi)(pairs >> (16 + shift - below)) & bits) | 0x3f800000);
    // The 1 is subtracted here, because chroma's sums would lose bits by a number that large.
    const float factor = own->luma * (float)(1 << sample_bits(form.words));
    for (int k = 0; k < 2; k++) luma[k] = luma[k] * factor - factor;
}

/// Computes a component's curve arguments at even and odd columns from luma and WIDTH samples of chroma.
INLINE void read_columns(
    light_form form, const vf luma[2], const float *half, const float *weights, vf values[2]) {
    const vf near = load(half), next = load(half + 1);
    if (form.is_cosited) {
        values[0] = luma[0] + near;
        values[1] = (near + next) * 0.5f + luma[1];
    } else {
        values[0] = luma[0] + (weights[0] * near + (1 - weights[0]) * load(half - 1));
        values[1] = luma[1] + (weights[1] * near + (1 - weights[1]) * next);
    }
}

#if LEVEL == 2
INLINE vh2 join(vh even, vh odd) {
    return (vh2)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)even), (__m256i)odd, 1);
}
INLINE vi low_pairs(vh2 x, vh2 y) { return (vi)_mm512_unpacklo_epi16((__m512i)x, (__m512i)y); }
INLINE vi high_pairs(vh2 x, vh2 y) { return (vi)_mm512_unpackhi_epi16((__m512i)x, (__m512i)y); }
// low_pairs leaves columns 0, 2, 4, 6 | 16, 18, 20, 22 | 1, 3, 5, 7 | 17, 19, 21, 23 in its 128-bit lanes; high_pairs leaves
// the columns 8 further right. These indices put the columns in order.
#define FIRST_COLUMNS 0, 16, 8, 24, 1, 17, 9, 25, 2, 18, 10, 26, 3, 19, 11, 27
#define LATER_COLUMNS 4, 20, 12, 28, 5, 21, 13, 29, 6, 22, 14, 30, 7, 23, 15, 31
// Where write_columns stores the result of each shuffle.
enum { LATER_LOW = 2, FIRST_HIGH = 1 };
#else
INLINE vh2 join(vh even, vh odd) {
    return (vh2)_mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)even), (__m128i)odd, 1);
}
INLINE vi low_pairs(vh2 x, vh2 y) { return (vi)_mm256_unpacklo_epi16((__m256i)x, (__m256i)y); }
INLINE vi high_pairs(vh2 x, vh2 y) { return (vi)_mm256_unpackhi_epi16((__m256i)x, (__m256i)y); }
// low_pairs leaves columns 0, 2, 4, 6 | 1, 3, 5, 7 in its 128-bit lanes; high_pairs leaves the columns 8 further right. These
// indices put the columns in order.
#define FIRST_COLUMNS 0, 8, 4, 12, 1, 9, 5, 13
#define LATER_COLUMNS 2, 10, 6, 14, 3, 11, 7, 15
// Where write_columns stores the result of each shuffle.
enum { LATER_LOW = 1, FIRST_HIGH = 2 };
#endif

/// Writes pixels of even and of odd columns.
INLINE void write_columns(uint8_t *to, const pixels *even, const pixels *odd) {
    const vh2 r = join(to_halves(even->r), to_halves(odd->r)), g = join(to_halves(even->g), to_halves(odd->g));
    const vh2 b = join(to_halves(even->b), to_halves(odd->b));
    vh2 a = (vh2){0} + 0x3C00;
    // Hides the constant from the compiler, which would otherwise choose a slower shuffle.
    __asm__("" : "+v"(a));
    const vi rg[2] = {low_pairs(r, g), high_pairs(r, g)}, ba[2] = {low_pairs(b, a), high_pairs(b, a)};
    vi all[4];
    all[0] = __builtin_shufflevector(rg[0], ba[0], FIRST_COLUMNS);
    all[LATER_LOW] = __builtin_shufflevector(rg[0], ba[0], LATER_COLUMNS);
    all[FIRST_HIGH] = __builtin_shufflevector(rg[1], ba[1], FIRST_COLUMNS);
    all[3] = __builtin_shufflevector(rg[1], ba[1], LATER_COLUMNS);
    memcpy(to, all, sizeof all);
}

// Makes the compiler interleave the three components. Otherwise it computes them one after the other, and the dependent
// operations of each are too many for the processor to overlap with the next.
#define SIDE_BY_SIDE(v) __asm__("" : "+v"(v[0]), "+v"(v[1]), "+v"(v[2]))

/// Replaces three components by the curve's values.
INLINE void polynomials(const hwd_segments *how, const segments *own, int rows, vf values[3]) {
    const vi rest = (1 << how->shift) - 1 + (vi){0};
    vi index[3];
    vf part[3];
    for (int i = 0; i < 3; i++) {
        index[i] = (vi)((vu)values[i] >> how->shift);
        part[i] = (vf)(((vi)values[i] & rest) | 0x3f800000) - how->origin;
        values[i] = coefficient(own->rows[rows - 1], index[i]);
    }
    SIDE_BY_SIDE(part);
#pragma unroll
    for (int power = rows - 2; power >= 0; power--) {
        for (int i = 0; i < 3; i++) values[i] = values[i] * part[i] + coefficient(own->rows[power], index[i]);
        SIDE_BY_SIDE(values);
    }
#pragma unroll
    for (int square = 0; square < how->squares; square++)
        for (int i = 0; i < 3; i++) values[i] *= values[i];
}

/// Reads 2 WIDTH pixels as light, at even and at odd columns; `at` is their first sample of chroma.
INLINE void read_light(
    const line *own, const segments *curve, light_form form, int at, const uint8_t *from, pixels both[2]) {
    const hwd_plan *plan = own->plan;
    const hwd_segments *decode = &plan->decode.segments;
    vf luma[2], values[3][2];
    read_luma(form, own, from, luma);
    for (int i = 0; i < 3; i++) read_columns(form, luma, own->chroma[i] + at, plan->up_x, values[i]);
#pragma unroll
    for (int k = 0; k < 2; k++) {
        vf light[3];
        for (int i = 0; i < 3; i++) light[i] = bounded(decode, values[i][k]);
        polynomials(decode, curve, form.has_effects ? POWERS : LIGHT_ROWS, light);
        both[k] = (pixels){.r = light[0], .g = light[1], .b = light[2], .a = splat(1)};
        transform(plan->colors, &both[k]);
        if (form.is_darkened) darken(plan->vignette, 2 * at + k, 2, own->y, &both[k]);
    }
}

INLINE void convert_columns(
    const line *own, const segments *curve, light_form form, int at, const uint8_t *from, uint8_t *to) {
    pixels both[2];
    read_light(own, curve, form, at, from, both);
    write_columns(to, &both[0], &both[1]);
}

/// Converts `left` pixels from column x on, with effects, which pass over all of them.
INLINE void convert_stretch_of_light(const line *own, const segments *curve, light_form form, int x, int left) {
    const size_t sample = form.words ? 2 : 1;
    const uint8_t *from = own->from[0] + sample * (size_t)x;
    uint8_t *to = own->to[0] + 8 * (size_t)x;
    pixels all[EFFECT_STRETCH];
    // Whole vectors would reach beyond the rows.
    const int whole_count = left / (2 * WIDTH), rest = left % (2 * WIDTH);
    uint8_t last[2 * 2 * WIDTH] = {0}, converted[8 * 2 * WIDTH];
    for (int i = 0; i < whole_count; i++)
        read_light(own, curve, form, x / 2 + i * WIDTH, from + sample * (size_t)(i * 2 * WIDTH), all + 2 * i);
    if (rest > 0) {
        memcpy(last, from + sample * (size_t)(left - rest), sample * (size_t)rest);
        read_light(own, curve, form, x / 2 + whole_count * WIDTH, last, all + 2 * whole_count);
    }
    const int count = 2 * (whole_count + (rest > 0));
    const float *vignette = own->plan->vignette;
    for (int i = 0; i < count && own->plan->has_vignette; i++) darken_vector(vignette, x, i, own->y, true, &all[i]);
    for (int i = 0; i < own->plan->effect_count; i++)
        apply_effect(&own->plan->effects[i], all, count, x, own->y, true);
    for (int i = 0; i < count; i++) EACH(&all[i], within_halves);
    for (int i = 0; i < whole_count; i++)
        write_columns(to + 8 * (size_t)(i * 2 * WIDTH), all + 2 * i, all + 2 * i + 1);
    if (rest == 0) return;
    write_columns(converted, all + 2 * whole_count, all + 2 * whole_count + 1);
    memcpy(to + 8 * (size_t)(left - rest), converted, 8 * (size_t)rest);
}

INLINE void convert_to_light(const line *shared, light_form form) {
    // Local copies can stay in registers, because no store may alias them.
    hwd_plan plan = *shared->plan;
    line own = *shared;
    own.plan = &plan;
    float *chroma[3];
    memcpy(chroma, shared->chroma, sizeof chroma);
    own.chroma = chroma;
    if (!form.has_effects) {
        plan.decode.segments.squares = form.is_squared ? LIGHT_SQUARES : 0;
        plan.decode.segments.origin = LIGHT_ORIGIN;
    }
    const segments curve = load_segments(&plan.decode);
    const size_t sample = form.words ? 2 : 1;
    int x = 0;
    if (form.has_effects) {
        for (; x < plan.width; x += EFFECT_STRETCH * WIDTH) {
            const int left = plan.width - x, most = EFFECT_STRETCH * WIDTH;
            convert_stretch_of_light(&own, &curve, form, x, left < most ? left : most);
        }
        return;
    }
    for (; x + 2 * WIDTH <= plan.width; x += 2 * WIDTH)
        convert_columns(
            &own, &curve, form, x / 2, own.from[0] + sample * (size_t)x, own.to[0] + 8 * (size_t)x);
    if (x == plan.width) return;
    // The last pixels are converted in buffers, because whole vectors would reach beyond the rows.
    uint8_t from[2 * 2 * WIDTH] = {0}, to[8 * 2 * WIDTH];
    memcpy(from, own.from[0] + sample * (size_t)x, sample * (size_t)(plan.width - x));
    convert_columns(&own, &curve, form, x / 2, from, to);
    memcpy(own.to[0] + 8 * (size_t)x, to, 8 * (size_t)(plan.width - x));
}

// Several functions each, because a vignette or effects that are asked for in the loop slow down the others.
#define LINE(name, ...) \
    static void name(const line *own) { convert_to_light(own, (light_form){__VA_ARGS__}); } \
    static void name##_darkened(const line *own) { convert_to_light(own, (light_form){.is_darkened = true, __VA_ARGS__}); }
LINE(bytes_to_light, .words = false)
LINE(cosited_bytes_to_light, .is_cosited = true)
LINE(bytes_to_squared_light, .is_squared = true)
LINE(cosited_bytes_to_squared_light, .is_squared = true, .is_cosited = true)
LINE(words_to_light, .words = true)
LINE(cosited_words_to_light, .words = true, .is_cosited = true)
LINE(words_to_squared_light, .words = true, .is_squared = true)
LINE(cosited_words_to_squared_light, .words = true, .is_squared = true, .is_cosited = true)
#undef LINE

#define LINE(name, ...) \
    static void name(const line *own) { convert_to_light(own, (light_form){.has_effects = true, __VA_ARGS__}); }
LINE(bytes_with_effects, .words = false)
LINE(cosited_bytes_with_effects, .is_cosited = true)
LINE(words_with_effects, .words = true)
LINE(cosited_words_with_effects, .words = true, .is_cosited = true)
#undef LINE

static convert_line *light_line_of(const hwd_plan *plan) {
#define BOTH(name) {name, name##_darkened}
    static convert_line *const lines[2][2][2][2] = {
        {{BOTH(bytes_to_light), BOTH(cosited_bytes_to_light)},
         {BOTH(bytes_to_squared_light), BOTH(cosited_bytes_to_squared_light)}},
        {{BOTH(words_to_light), BOTH(cosited_words_to_light)},
         {BOTH(words_to_squared_light), BOTH(cosited_words_to_squared_light)}},
    };
#undef BOTH
    static convert_line *const with_effects[2][2] = {
        {bytes_with_effects, cosited_bytes_with_effects}, {words_with_effects, cosited_words_with_effects},
    };
    const bool is_cosited = plan->up_x[0] == 1 && plan->up_x[1] == 0.5f;
    if (plan->effect_count > 0) return with_effects[plan->source.words][is_cosited];
    return lines[plan->source.words][plan->decode.segments.squares != 0][is_cosited][plan->has_vignette];
}
