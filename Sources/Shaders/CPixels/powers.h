// SPDX-License-Identifier: GPL-2.0-or-later
// Powers in fp32 and the codings that are made of them; included by effects.h.

/// The logarithm to base 2 of normal positive numbers, to about 1e-7 of the result or of 1.
INLINE vf log2_of(vf x) {
    // x = m · 2^e with m from √½ to √2.
    const vi e = ((vi)x - 0x3f3504f3) >> 23;
    const vf m = (vf)((vi)x - (e << 23));
    const vf s = (m - 1) / (m + 1), q = s * s;
    // 2 / ln 2 · artanh s
    vf sum = q * 0.32059889f + 0.41219858f;
    sum = sum * q + 0.57707802f;
    sum = sum * q + 0.96179670f;
    sum = sum * q + 2.88539008f;
    return number(e) + sum * s;
}

/// 2 to a power, which is limited to −126 … 127.
INLINE vf exp2_of(vf x) {
    x = at_most(at_least(x, splat(-126)), splat(127));
    const vi whole_part = whole(x + 128.5f) - 128;
    const vf t = x - number(whole_part);
    vf sum = t * 1.5403530e-4f + 1.3333558e-3f;
    sum = sum * t + 9.6181291e-3f;
    sum = sum * t + 5.5504109e-2f;
    sum = sum * t + 0.24022651f;
    sum = sum * t + 0.69314718f;
    sum = sum * t + 1.f;
    return (vf)((vi)sum + (whole_part << 23));
}

/// A power of a positive number; of any other it is that of the smallest normal number.
INLINE vf power_of(vf x, float exponent) { return exp2_of(log2_of(at_least(x, splat(0x1p-126f))) * exponent); }

/// The power of a positive number; of 0 it is 0 or as small as the table's.
INLINE vf raised(const hwd_power *power, vf x) {
    // Sums of several must not be infinite.
    const vf most = splat(0x1p120f);
#if LEVEL == 0
    return at_most(power_of(x, power->exponent), most);
#else
    // 0 is read as 2^-127 by AVX-512.
    const vf mantissa = (vf)(((vi)x & 0x7fffff) | 0x3f800000) - 1.5f;
    vf value = mantissa * power->factors[5] + power->factors[4];
#pragma unroll
    for (int i = 3; i >= 0; i--) value = value * mantissa + power->factors[i];
#if LEVEL == 2
    value *= (vf)_mm512_permutexvar_ps((__m512i)((vu)x >> 23), _mm512_loadu_ps(power->low));
    value *= (vf)_mm512_permutexvar_ps((__m512i)((vu)x >> 27), _mm512_loadu_ps(power->high));
#else
    // Effects before this one may have made light brighter than the factors reach.
    const vf largest = splat(0x1.fffffep24f);
    if (__builtin_expect(_mm256_movemask_ps((__m256)(x > largest)), 0))
        return at_most(power_of(x, power->exponent), most);
    const vi is_positive = x > splat(0);
    const vu bits = (vu)at_most(at_least(x, splat(0x1p-39f)), largest);
    value *= (vf)_mm256_permutevar8x32_ps(_mm256_loadu_ps(power->low), (__m256i)(bits >> 23));
    value *= (vf)_mm256_permutevar8x32_ps(_mm256_loadu_ps(power->wrapped), (__m256i)(bits >> 26));
    value = (vf)(is_positive & (vi)value);
#endif
    for (int i = 0; i < power->squares; i++) value *= value;
    return at_most(value, most);
#endif
}

INLINE vf magnitude(vf x) { return (vf)((vi)x & 0x7fffffff); }
INLINE vf with_sign(vf x, vf sign) { return (vf)((vi)x | ((vi)sign & (int32_t)0x80000000)); }

/// The power is 1 / 2.4.
INLINE vf encode_srgb(const hwd_power *power, vf x) {
    const vf a = magnitude(x);
    return with_sign(choose(a <= 0.0031308f, a * 12.92f, raised(power, a) * 1.055f - 0.055f), x);
}

/// The power is 2.4.
INLINE vf decode_srgb(const hwd_power *power, vf x) {
    const vf a = magnitude(x);
    const vf high = raised(power, (a + 0.055f) * (1 / 1.055f));
    return with_sign(choose(a <= 0.04045f, a * (1 / 12.92f), high), x);
}

// BT.2100 table 4.
#define PQ_M1 (2610.f / 16384)
#define PQ_M2 78.84375f
#define PQ_C1 0.8359375f
#define PQ_C2 18.8515625f
#define PQ_C3 18.6875f

INLINE vf encode_pq(const hwd_coding *coding, vf x) {
    const vf p = raised(&coding->encode, magnitude(x) * coding->white);
    // The logarithm of (c1 + c2 p) / (1 + c3 p), 0.83 … 1.01, is 2 artanh s.
    const vf s = (p * (PQ_C2 - PQ_C3) + (PQ_C1 - 1)) * reciprocal(p * (PQ_C2 + PQ_C3) + (PQ_C1 + 1)), q = s * s;
    // 2 m2 / ln 2 · artanh s
    const vf sum = ((q * (1 / 7.f) + 1 / 5.f) * q + 1 / 3.f) * q + 1;
    return with_sign(exp2_of(sum * (s * (PQ_M2 * 2.88539008f))), x);
}

INLINE vf decode_pq(const hwd_coding *coding, vf x) {
    const vf a = at_most(magnitude(x), splat(1));
    const vf p = power_of(a, 1 / PQ_M2);
    const vf light = power_of(at_least(p - PQ_C1, splat(0)) / (PQ_C2 - PQ_C3 * p), 1 / PQ_M1);
    return with_sign(light * (1 / coding->white), x);
}

// BT.2100 table 5; codes above the limit are read like it.
#define HLG_A 0.17883277f
#define HLG_B 0.28466892f
#define HLG_C 0.55991073f
#define HLG_LIMIT 2.f

INLINE vf encode_hlg(vf x) {
    const vf a = magnitude(x);
    const vf low = square_root(a * 3);
    const vf high = log2_of(at_least(a * 12 - HLG_B, splat(0x1p-126f))) * (HLG_A * 0.69314718f) + HLG_C;
    return with_sign(choose(a <= 1 / 12.f, low, high), x);
}

INLINE vf decode_hlg(vf x) {
    const vf a = at_most(magnitude(x), splat(HLG_LIMIT));
    const vf high = (exp2_of((a - HLG_C) * (1.44269504f / HLG_A)) + HLG_B) * (1 / 12.f);
    return with_sign(choose(a <= 0.5f, a * a * (1 / 3.f), high), x);
}

INLINE vf encode_acescct(vf x) {
    const vf high = (log2_of(at_least(x, splat(0x1p-126f))) + 9.72f) * (1 / 17.52f);
    return choose(x <= 0.0078125f, x * 10.5402377f + 0.0729055342f, high);
}

INLINE vf decode_acescct(vf x) {
    const vf high = at_most(exp2_of(x * 17.52f - 9.72f), splat(65504));
    return choose(x <= 0.155251142f, (x - 0.0729055342f) * (1 / 10.5402377f), high);
}

#define EACH(p, f) (p)->r = f((p)->r), (p)->g = f((p)->g), (p)->b = f((p)->b)
#define EACH_BY(p, f, by) (p)->r = f(by, (p)->r), (p)->g = f(by, (p)->g), (p)->b = f(by, (p)->b)

INLINE vf weigh(const float *weights, const pixels *p) {
    return weights[0] * p->r + (weights[1] * p->g + weights[2] * p->b);
}

INLINE vf raised_with_sign(const hwd_power *power, vf x) { return with_sign(raised(power, magnitude(x)), x); }

/// Multiplies by factor · a power of luminance; by 0 where there is no luminance.
INLINE void amplify_by_power(const float *weights, float factor, const hwd_power *power, pixels *p) {
    const vf luminance = weigh(weights, p);
    const vf gain = (vf)((vi)(raised(power, luminance) * factor) & (luminance > splat(0)));
    p->r *= gain, p->g *= gain, p->b *= gain;
}

static void encode_light(const hwd_coding *coding, pixels *p) {
    switch (coding->space) {
    case HWD_LINEAR: break;
    case HWD_SRGB: EACH_BY(p, encode_srgb, &coding->encode); break;
    case HWD_GAMMA24: EACH_BY(p, raised_with_sign, &coding->encode); break;
    case HWD_PQ: EACH_BY(p, encode_pq, coding); break;
    case HWD_HLG:
        // (light / peak) of luminance^((1 − γ) / γ): the inverse OOTF.
        p->r *= 1 / coding->peak, p->g *= 1 / coding->peak, p->b *= 1 / coding->peak;
        amplify_by_power(coding->weights, 1, &coding->encode, p);
        EACH(p, encode_hlg);
        break;
    case HWD_ACESCCT: EACH(p, encode_acescct); break;
    }
}

static void decode_light(const hwd_coding *coding, const segments *to_light, pixels *p) {
    switch (coding->space) {
    case HWD_LINEAR: break;
    case HWD_SRGB: EACH_BY(p, decode_srgb, &coding->decode); break;
    case HWD_GAMMA24: EACH_BY(p, raised_with_sign, &coding->decode); break;
    case HWD_PQ:
        if (has_segments(&coding->to_light)) apply_three(&coding->to_light, to_light, p);
        else EACH_BY(p, decode_pq, coding);
        break;
    case HWD_HLG:
        EACH(p, decode_hlg);
        amplify_by_power(coding->weights, coding->peak, &coding->decode, p);
        break;
    case HWD_ACESCCT: EACH(p, decode_acescct); break;
    }
}
