// SPDX-License-Identifier: GPL-2.0-or-later
// Vectors of WIDTH elements for the instruction set LEVEL; included by rows.h once for each.
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(4 * WIDTH)));
typedef int32_t vi __attribute__((vector_size(4 * WIDTH)));
typedef uint16_t vh __attribute__((vector_size(2 * WIDTH)));
typedef uint8_t vb __attribute__((vector_size(WIDTH)));
// Vectors of twice the width, for pairs.
typedef uint16_t vh2 __attribute__((vector_size(4 * WIDTH)));
typedef uint8_t vb2 __attribute__((vector_size(2 * WIDTH)));
typedef uint32_t vu __attribute__((vector_size(4 * WIDTH)));

// Shuffle indices over two concatenated vectors: every second element, and alternating elements.
#if WIDTH == 16
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOW_PAIRS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_PAIRS 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif WIDTH == 8
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS 1, 3, 5, 7, 9, 11, 13, 15
#define LOW_PAIRS 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_PAIRS 4, 12, 5, 13, 6, 14, 7, 15
#else
#define EVENS 0, 2, 4, 6
#define ODDS 1, 3, 5, 7
#define LOW_PAIRS 0, 4, 1, 5
#define HIGH_PAIRS 2, 6, 3, 7
#endif

#define ALL_PAIRS LOW_PAIRS, HIGH_PAIRS

INLINE vf splat(float x) { return x - (vf){0}; }
INLINE vf number(vi x) { return __builtin_convertvector(x, vf); }
INLINE vi whole(vf x) { return __builtin_convertvector(x, vi); }
/// `a` where the mask is all ones, `b` where it is 0.
INLINE vf choose(vi mask, vf a, vf b) { return (vf)((mask & (vi)a) | (~mask & (vi)b)); }

// Maximum and minimum; the bound where the first argument is NaN.
#if LEVEL == 2
INLINE vf at_least(vf x, vf bound) { return (vf)_mm512_max_ps((__m512)x, (__m512)bound); }
INLINE vf at_most(vf x, vf bound) { return (vf)_mm512_min_ps((__m512)x, (__m512)bound); }
#elif LEVEL == 1
INLINE vf at_least(vf x, vf bound) { return (vf)_mm256_max_ps((__m256)x, (__m256)bound); }
INLINE vf at_most(vf x, vf bound) { return (vf)_mm256_min_ps((__m256)x, (__m256)bound); }
#elif defined(__SSE2__)
INLINE vf at_least(vf x, vf bound) { return (vf)_mm_max_ps((__m128)x, (__m128)bound); }
INLINE vf at_most(vf x, vf bound) { return (vf)_mm_min_ps((__m128)x, (__m128)bound); }
#else
INLINE vf at_least(vf x, vf bound) { return choose(x > bound, x, bound); }
INLINE vf at_most(vf x, vf bound) { return choose(x < bound, x, bound); }
#endif

/// 1 / x for x from 1 to 2^100, to about 2^-22.
INLINE vf reciprocal(vf x) {
#if LEVEL == 2
    const vf first = (vf)_mm512_rcp14_ps((__m512)x);
#elif LEVEL == 1
    const vf first = (vf)_mm256_rcp_ps((__m256)x);
#else
    const vf first = 1 / x;
#endif
    return LEVEL == 0 ? first : first * (2 - x * first);
}

INLINE vf within(vf x) { return at_most(at_least(x, splat(0)), splat(1)); }

/// Clamped to the finite half floats.
INLINE vf within_halves(vf x) { return at_most(at_least(x, splat(-65504)), splat(65504)); }

/// value + fraction · rise of the pairs with these indices.
INLINE vf look_up(const float *pairs, vi index, vf part) {
#if LEVEL == 2
    const __m512i i = (__m512i)index;
    const vf low = (vf)_mm512_i32gather_epi64(_mm512_castsi512_si256(i), pairs, 8);
    const vf high = (vf)_mm512_i32gather_epi64(_mm512_extracti64x4_epi64(i, 1), pairs, 8);
    return __builtin_shufflevector(low, high, EVENS) + part * __builtin_shufflevector(low, high, ODDS);
#elif LEVEL == 1
    const __m256i i = (__m256i)index;
    const vf low = (vf)_mm256_i32gather_epi64((const long long *)pairs, _mm256_castsi256_si128(i), 8);
    const vf high = (vf)_mm256_i32gather_epi64((const long long *)pairs, _mm256_extracti128_si256(i, 1), 8);
    return __builtin_shufflevector(low, high, EVENS) + part * __builtin_shufflevector(low, high, ODDS);
#else
    vf value, rise;
    for (int k = 0; k < WIDTH; k++) {
        value[k] = pairs[2 * index[k]];
        rise[k] = pairs[2 * index[k] + 1];
    }
    return value + part * rise;
#endif
}

/// Converts to half floats, to nearest even; values must be within ±65504.
INLINE vh to_halves(vf x) {
#if LEVEL == 2
    return (vh)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif LEVEL == 1
    return (vh)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    const vi sign = (vi)((vu)x >> 16) & 0x8000;
    const vi bits = (vi)x & 0x7fffffff;
    // Normal halves: the exponent's bias goes from 127 to 15, and 13 bits of the mantissa are rounded off.
    const vi normal = (bits - (112 << 23) + 0xfff + ((bits >> 13) & 1)) >> 13;
    // Below 2^-14 adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
    const vi small = (vi)((vf)bits + 0.5f) - 0x3f000000;
    const vi is_small = bits < (113 << 23);
    return __builtin_convertvector(sign | (is_small & small) | (~is_small & normal), vh);
#endif
}

/// Converts from half floats: NaN becomes 0, infinities become ±65504.
INLINE vf from_halves(vh halves) {
#if LEVEL == 2
    const vf x = (vf)_mm512_cvtph_ps((__m256i)halves);
#elif LEVEL == 1
    const vf x = (vf)_mm256_cvtph_ps((__m128i)halves);
#else
    const vi bits = __builtin_convertvector(halves, vi);
    const vi magnitude = bits & 0x7fff;
    const vf small = number(magnitude) * 0x1p-24f;
    const vf normal = (vf)((magnitude << 13) + (112 << 23));
    const vf special = (vf)((magnitude << 13) + (224 << 23));
    const vf finite = choose(magnitude < 0x400, small, normal);
    const vf x = (vf)((vi)choose(magnitude >= 0x7c00, special, finite) | ((bits & 0x8000) << 16));
#endif
    return within_halves((vf)((vi)x & (x == x)));
}

// Up to WIDTH samples at `at`, of which `left` exist.

INLINE int at_hand(int left) { return left < WIDTH ? left : WIDTH; }

INLINE vf load_bytes(const uint8_t *at, int left) {
    vb samples = {0};
    if (left >= WIDTH) memcpy(&samples, at, WIDTH);
    else memcpy(&samples, at, (size_t)left);
    return __builtin_convertvector(samples, vf);
}

INLINE vf load_words(const uint8_t *at, int left, int shift) {
    vh samples = {0};
    if (left >= WIDTH) memcpy(&samples, at, 2 * WIDTH);
    else memcpy(&samples, at, 2 * (size_t)left);
    return number((__builtin_convertvector(samples, vi) >> shift) & 0x3ff);
}

INLINE void store_bytes(uint8_t *at, vi values, int left) {
    const vb samples = __builtin_convertvector(values, vb);
    if (left >= WIDTH) memcpy(at, &samples, WIDTH);
    else memcpy(at, &samples, (size_t)left);
}

INLINE void store_words(uint8_t *at, vi values, int left, int shift) {
    const vh samples = __builtin_convertvector(values << shift, vh);
    if (left >= WIDTH) memcpy(at, &samples, 2 * WIDTH);
    else memcpy(at, &samples, 2 * (size_t)left);
}

INLINE vf load(const float *at) {
    vf x;
    memcpy(&x, at, sizeof x);
    return x;
}

INLINE void store(float *at, vf x) { memcpy(at, &x, sizeof x); }
