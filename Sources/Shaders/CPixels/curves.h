// SPDX-License-Identifier: GPL-2.0-or-later
// Evaluates curves: polynomials with coefficients in registers, or gathers from tables; included by rows.h.

// AVX-512 selects one of 32 coefficients of a power in one instruction, AVX2 one of 8.
#if LEVEL == 2
enum { POWERS = HWD_ROWS_AVX512, SEGMENTS = HWD_SEGMENTS_AVX512 };
#elif LEVEL == 1
enum { POWERS = HWD_ROWS_AVX2, SEGMENTS = HWD_SEGMENTS_AVX2 };
#else
enum { POWERS = 1, SEGMENTS = WIDTH };
#endif

/// Coefficients of a curve's segments.
typedef struct {
    vf rows[POWERS][SEGMENTS / WIDTH];
} segments;

INLINE bool has_segments(const hwd_curve *curve) { return POWERS > 1 && curve->segments.factors; }

INLINE segments load_segments(const hwd_curve *curve) {
    segments loaded = {0};
    if (has_segments(curve)) memcpy(&loaded, curve->segments.factors, sizeof loaded);
    return loaded;
}

/// The coefficients of a power for segments; upper bits of the index are ignored.
INLINE vf coefficient(const vf *row, vi index) {
#if LEVEL == 2
    return (vf)_mm512_permutex2var_ps((__m512)row[0], (__m512i)index, (__m512)row[1]);
#elif LEVEL == 1
    return (vf)_mm256_permutevar8x32_ps((__m256)row[0], (__m256i)index);
#else
    (void)index;
    return row[0];
#endif
}

INLINE vf square_root(vf x) {
#if LEVEL == 2
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif LEVEL == 1
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
    return (vf)_mm_sqrt_ps((__m128)x);
#else
    for (int k = 0; k < WIDTH; k++) x[k] = __builtin_sqrtf(x[k]);
    return x;
#endif
}

INLINE vi bits_of(float x) { return (vi)splat(x); }
INLINE vi most(vi x, vi y) { return __builtin_elementwise_max(x, y); }
INLINE vi least(vi x, vi y) { return __builtin_elementwise_min(x, y); }

INLINE vf bounded(const hwd_segments *how, vf y) {
    // Positive floats are ordered like integers, whose comparisons take fewer units.
    return (vf)least(most((vi)y, bits_of(how->low)), bits_of(how->high));
}

INLINE vf evaluate(const hwd_segments *how, const segments *own, vf x) {
    vf y = x * how->scale + how->offset;
    y = how->root ? square_root(at_most(at_least(y, splat(how->low)), splat(how->high))) : bounded(how, y);
    const vi index = (vi)((vu)y >> how->shift);
    const vi rest = (1 << how->shift) - 1 + (vi){0};
    const vf part = (vf)(((vi)y & rest) | 0x3f800000) - how->origin;
    vf sum = coefficient(own->rows[POWERS - 1], index);
#pragma unroll
    for (int power = POWERS - 2; power >= 0; power--) sum = sum * part + coefficient(own->rows[power], index);
    // Few curves are squared: the hint keeps the squaring out of the path of the others.
    if (__builtin_expect(how->squares > 0, false)) {
        sum *= sum;
        if (how->squares > 1) sum *= sum;
    }
    return sum;
}

/// value + fraction · rise of the pairs with these indices.
INLINE vf interpolate(const hwd_curve *curve, vf x) {
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
    return look_up(curve->pairs, index, part);
}

INLINE bool is_identity(const hwd_curve *curve) { return !curve->pairs && !has_segments(curve); }

/// Evaluates a curve that is not the identity.
INLINE vf apply(const hwd_curve *curve, const segments *own, vf x) {
    const vi sign = (vi)x & (curve->odd ? (int32_t)0x80000000 : 0);
    // Segments clamp their argument.
    if (curve->odd) x = (vf)((vi)x & 0x7fffffff);
    else if (!has_segments(curve)) x = at_least(x, splat(0));
    const vf value = has_segments(curve) ? evaluate(&curve->segments, own, x) : interpolate(curve, x);
    return (vf)((vi)value ^ sign);
}

/// Evaluates a curve of three components.
INLINE void apply_three(const hwd_curve *curve, const segments *own, pixels *p) {
    if (is_identity(curve)) return;
    p->r = apply(curve, own, p->r), p->g = apply(curve, own, p->g), p->b = apply(curve, own, p->b);
}
