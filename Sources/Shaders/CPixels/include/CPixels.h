// SPDX-License-Identifier: GPL-2.0-or-later
// Inner loops on the CPU: picture conversion for Conversion/CPU, with coefficients computed in Double by Color, and copies of
// frames to surfaces for VAAPI. The caller checks sizes, strides and pointers.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Arrangement of samples.
typedef enum {
    HWD_YCBCR,   ///< 4:2:0: luma, chroma in one plane or two, optionally a plane of alpha
    HWD_PACKED,  ///< a 32-bit word a pixel
    HWD_HALVES   ///< four half floats a pixel: R, G, B, A
} hwd_form;

typedef struct {
    hwd_form form;
    bool words;        ///< Y'CbCr: 16-bit little-endian words instead of bytes
    int shift;         ///< Y'CbCr words: bits below the value (P010: 6)
    bool interleaved;  ///< Y'CbCr: Cb and Cr share a plane
    bool alpha;        ///< Y'CbCr: the last plane is alpha, in bytes
    int shifts[4];     ///< packed: the lowest bits of R, G, B and A
    bool opaque;       ///< packed: A's bits are unused, not read and written as ones
    float top;         ///< the largest code of a Y'CbCr sample, or of R, G and B in a word
    float alpha_top;   ///< packed: the largest code of A
} hwd_layout;

/// A piecewise polynomial whose coefficients fit into registers.
///
/// y = scale · x + offset, clamped to low … high, or the square root of that. The segment is y's bits >> `shift`, modulo the
/// number of segments; t is the rest of y's mantissa as 1 … 2 of an octave, less `origin`. `factors` has a row of coefficients, one a
/// segment, for each power of t, the constants first. AVX-512 has 5 rows of 32 segments, AVX2 8 rows of 8.
typedef struct {
    const float *factors;  ///< NULL: none; 64-byte aligned
    float scale, offset, low, high;
    float origin;          ///< 0 or 1
    int shift;
    bool root;
    int rows;     ///< rows in use; the rest, up to the instruction set's number, are 0
    int squares;  ///< how often the polynomial's value is squared: 0, 1 or 2
} hwd_segments;

/// Rows of coefficients, and segments in a row, for each instruction set.
enum { HWD_ROWS_AVX2 = 8, HWD_SEGMENTS_AVX2 = 8, HWD_ROWS_AVX512 = 5, HWD_SEGMENTS_AVX512 = 32 };

/// A function: the identity, segments, or piecewise linear as (value, rise) pairs.
typedef struct {
    hwd_segments segments;
    const float *pairs;  ///< NULL: the identity, or segments
    int count;
    float limit;         ///< larger arguments are clamped to this
    float scale;         ///< uniform steps: pairs per unit; 0: 64 steps an octave, indexed by the argument's upper bits
    int first;           ///< octaves: bits >> 17 of the argument where pair 1 begins; pair 0 begins at 0
    float tiny;          ///< octaves: the reciprocal of that argument
    bool odd;            ///< f(-x) = -f(x); otherwise negative arguments are clamped to 0
} hwd_curve;

/// A gain from a weighted sum of R, G and B (HLG's OOTF), or from their maximum where all weights are 0.
typedef struct {
    hwd_curve curve;
    float weights[3];
} hwd_gain;

/// The most pieces of a curve of a mapping, and the most orders of a regression.
enum { HWD_MAPPING_PIECES = 8, HWD_MAPPING_ORDERS = 3 };

/// A piece of a component's curve.
///
/// Either constant + factors[0] x + factors[1] x², or a regression: for each order, eight factors, of y, u, v, nothing, yu,
/// yv, uv and yuv, each to the power of the order.
typedef struct {
    float start;   ///< the code where it begins
    float orders;  ///< of the regression; 0: a polynomial
    float constant;
    float unused;
    float factors[24];
} hwd_piece;

typedef struct {
    float count;        ///< pieces
    float first, last;  ///< codes outside are mapped like the nearest of these
    float unused;
    hwd_piece pieces[HWD_MAPPING_PIECES];
} hwd_mapping_curve;

/// A nonlinear mapping of Y'CbCr codes, as `SignalMapping.table` of Color lays it out.
typedef struct {
    hwd_mapping_curve curves[3];
    float light[3][4];  ///< rows of a matrix for light; the fourth number is not used
    float scale;        ///< 1 / the largest code
} hwd_mapping;

/// A power x^p of positive numbers, as a polynomial of x's mantissa times factors of its exponent, which registers hold.
///
/// AVX-512 selects factors by four bits each of the biased exponent, AVX2 by three, for which x is limited to 2^-39; where
/// x reaches 2^25, AVX2 computes a logarithm.
typedef struct {
    float exponent;    ///< p
    float low[16];     ///< 2^(q k), where the value is squared `squares` times and q = p / 2^squares
    float high[16];    ///< 2^(q (16 k - 127))
    float wrapped[8];  ///< 2^(q (8 k - 127)) at k modulo 8 for the biased exponents 8 k of AVX2, 88 … 144
    float factors[6];  ///< of m^q, where the variable is the mantissa 1 … 2 less 1.5
    int squares;
} hwd_power;

/// Codings of light for an effect.
typedef enum {
    HWD_LINEAR,
    HWD_SRGB,
    HWD_GAMMA24,
    HWD_PQ,
    HWD_HLG,
    HWD_ACESCCT
} hwd_space;

typedef struct {
    hwd_space space;
    float white;               ///< PQ: the factor on light
    float weights[3];          ///< HLG: of R, G and B in luminance
    float peak, gamma;         ///< HLG: of its OOTF
    hwd_power encode, decode;  ///< sRGB and gamma 2.4: of the curve; PQ: of light; HLG: of luminance
    hwd_curve to_light;        ///< PQ: light of codes by segments; none where `segments.factors` is NULL
} hwd_coding;

typedef enum {
    HWD_MATRIX,      ///< numbers: a 3x4 matrix by rows
    HWD_CODED,       ///< the same, of coded values
    HWD_CDL,         ///< numbers: slope, offset and power of R, G and B, saturation; flag: clamp
    HWD_VIGNETTE,    ///< numbers: intensity, the center's x and y, the factor on squared distances
    HWD_CURVE,       ///< table: rows of max(16, size) numbers, of which `size` are used: the pieces' starts, then four
                     ///< factors of polynomials of what x is above the start, constants first
    HWD_KEY,         ///< numbers: Cb, Cr, similarity, 1 / blend; flag: alpha is 0 or 1
    HWD_DESPILL,     ///< numbers: amount; size: the channel
    HWD_LINE_LUT,    ///< numbers: low and scale of R, G and B; table: `size` rows of R, G, B; flag: scale headroom
    HWD_CUBE_LUT,    ///< the same with size³ rows, red fastest; a number follows the last row
    HWD_BACKGROUND   ///< numbers: light of R, G and B
} hwd_effect_kind;

/// An effect on light; `coding` is that of HWD_CODED, HWD_CDL and tables.
typedef struct {
    hwd_effect_kind kind;
    bool flag;
    int size;
    float numbers[12];
    hwd_coding coding;
    hwd_power powers[3];  ///< HWD_CDL: of R, G and B; HWD_KEY: first 1 / 2.4
    const float *table;
} hwd_effect;

/// A conversion's parameters; `to_rgb` … `from_rgb` are in order of application.
typedef struct {
    int level;                  ///< the instruction set that the curves are made for, as `hwd_level` returns it
    int width, height;
    hwd_layout source, target;
    const hwd_mapping *mapping; ///< applied to Y'CbCr codes first; NULL: none
    float to_rgb[12];           ///< Y'CbCr codes, or mapped values of 0…1, → R'G'B', 3x4 by rows
    float up_x[2], up_y[2];     ///< weight of the nearer chroma sample for even and odd columns, rows
    bool clips_source;          ///< clamp the source's R'G'B' to 0…1
    bool divides;               ///< divide R'G'B' by alpha first
    bool converts;              ///< convert through light; otherwise R'G'B' is kept
    hwd_curve decode;
    hwd_gain gain;              ///< curve.pairs NULL: none
    hwd_gain tone;              ///< the same, applied after `gain`
    float colors[12];           ///< light of the source's primaries → the target's, 3x4 by rows
    bool has_vignette;          ///< applied to light after `colors`
    float vignette[4];          ///< intensity, the center's x and y, the factor on squared distances
    const hwd_effect *effects;  ///< applied to light after that
    int effect_count;
    bool makes_alpha;           ///< effects may make pixels transparent
    bool is_bounded;            ///< half floats cannot overflow: no clamp is needed
    hwd_gain inverse_gain;      ///< curve.pairs NULL: none
    hwd_curve encode;
    bool clips_target;          ///< clamp the target's R'G'B' to 0…1
    bool multiplies;            ///< multiply R'G'B' by alpha last
    float from_rgb[12];         ///< R'G'B' → Y'CbCr codes
    float down_x[3], down_y[4]; ///< weights of columns 2i-1 … 2i+1 and of rows 2j-1 … 2j+2 of a chroma sample
    bool dithers;               ///< dither 8-bit targets
} hwd_plan;

typedef struct {
    const uint8_t *base;
    size_t stride;
} hwd_plane;

typedef struct {
    uint8_t *base;
    size_t stride;
} hwd_mutable_plane;

/// Rescaling of a plane: `factor · code + offset`, rounded to an integer in 0 … the target's top.
typedef struct {
    hwd_layout source, target;   ///< only the members that describe the value of a sample are used
    float factor, offset;
    int width, height;           ///< samples
    size_t source_step, target_step;  ///< bytes between samples of one component
    bool dithers;
} hwd_rescaling;

/// Rescales the samples of a component.
void hwd_rescale(const hwd_rescaling *plan, hwd_plane source, hwd_mutable_plane target);

/// Converts a picture on up to `threads` threads; returns false when memory runs out.
bool hwd_convert(const hwd_plan *plan, const hwd_plane *source, const hwd_mutable_plane *target, int threads);

/// Type of the samples of a plane.
typedef enum { HWD_BYTE_SAMPLES, HWD_WORD_SAMPLES, HWD_HALF_SAMPLES } hwd_sample_type;

/// Samples of one or more components that alternate in the rows of a plane.
typedef struct {
    hwd_sample_type type;
    int shift;     ///< words: bits below the value
    int channels;  ///< components of the plane: 1, 2 or 4
} hwd_sample_layout;

/// Taps of one axis: position i is the sum of `taps` source positions from `first[i]` on.
typedef struct {
    int count;
    int taps;
    const int32_t *first;
    const float *weights;  ///< `taps` for each position
    // hwd_scale finds these.
    int begin, end, step;  ///< positions with equal weights whose first taps are `step` apart
    int bits;              ///< fractional bits of the weights as 16-bit integers; 0: they do not fit
} hwd_axis;

/// Scaling of a plane's components; each value becomes `factor · value + offset` within its limits.
typedef struct {
    hwd_sample_layout source, target;
    int width;       ///< pixels in a row of the source
    int components;  ///< components that are scaled, 1 or all of the target's
    int order[4];    ///< the source's channel of each
    int channel;     ///< the target's channel where one component is scaled
    hwd_axis across, down;
    float factor[4], offset[4], low[4], high[4];
    bool dithers;
    bool divides;    ///< four components: the first three are divided by the fourth, 0…1, before they are rescaled
    bool clips;      ///< four components: the first three are at most the fourth
    bool exact;      ///< all sums in fp32: a conversion follows, which may make more of a code's difference
    int x, y;        ///< the target's first position, for the pattern of dithering
} hwd_scaling;

/// Scales a plane on up to `threads` threads; returns false when memory runs out.
///
/// Sums are computed in fp32, down first; those of samples of 8 and 16 bits whose width halves in integers, horizontally first,
/// unless they must be exact. Their errors are below 0.6 codes of 10 bits. All positions of the axes must be in the source.
bool hwd_scale(const hwd_scaling *plan, hwd_plane source, hwd_mutable_plane target, int threads);

/// PQ codes of 12 bits.
enum { HWD_LIGHT_CODES = 4096 };

/// How the light of a Y'CbCr picture is found, with one luma sample for each chroma sample.
///
/// PQ's code is `scale · max(R', G', B') + offset`. HLG's is in `codes`, where its index is `scale · log2(l) + gain · log2(y) +
/// offset` of the scene's largest component l and its luminance y. Both are truncated to 0 … `top`.
typedef struct {
    int width, height;      ///< chroma samples
    hwd_layout source;
    float to_rgb[12];       ///< Y'CbCr codes → R'G'B', 3x4 by rows
    float weights[3];       ///< HLG: of R, G and B in luminance
    float scale, gain, offset;
    float least;            ///< HLG: the least light whose logarithm is taken
    int top;
    const uint16_t *codes;  ///< NULL: PQ
} hwd_light_plan;

/// Adds to `counts[code]` for each chroma sample; `counts` has 2 * HWD_LIGHT_CODES entries, the second half is scratch and 0.
void hwd_measure_light(const hwd_light_plan *plan, const hwd_plane *planes, uint32_t *counts);

/// Conversion of samples during a copy.
typedef enum {
    HWD_KEEP_BYTES,  ///< bytes unchanged
    HWD_KEEP_WORDS,  ///< 16-bit words unchanged
    HWD_WIDEN,       ///< 8 bits to the high byte of words
    HWD_RAISE        ///< 10 bits from the low to the high end of words
} hwd_change;

/// Copies a plane to one at least as large, repeating the last column and row into the rest.
typedef struct {
    hwd_change change;
    bool pairs;                   ///< the target's samples are pairs of Cb and Cr
    bool joins;                   ///< the source has them in two planes; otherwise interleaved like the target
    int width, height;            ///< samples, or pairs; at least 1
    int full_width, full_height;  ///< the same for the target
} hwd_filling;

/// Copies one plane, or with `joins` two; otherwise the second is ignored.
void hwd_fill(const hwd_filling *how, hwd_plane first, hwd_plane second, hwd_mutable_plane target);

/// A frame of 4:2:0, and the picture in NV12 or P010 that it is copied to.
typedef struct {
    int bytes;                                   ///< of a sample of the frame, 1 or 2
    bool low;                                    ///< a sample is in the low 10 bits of its word
    bool planar;                                 ///< Cb and Cr are in planes of their own
    bool deep;                                   ///< the picture is P010
    int width, height, full_width, full_height;  ///< samples of luma of the frame, and of the picture, which are even
} hwd_frame_filling;

/// Copies a frame of two or three planes, repeating its last columns and rows.
void hwd_fill_frame(const hwd_frame_filling *how, const hwd_plane *planes, hwd_mutable_plane luma, hwd_mutable_plane chroma);

/// Work on rows first ..< end of a picture; returns false when memory runs out.
typedef bool hwd_row_work(const void *context, int first, int end);

/// Divides rows among up to `threads` threads, in multiples of `unit` rows and shares of enough pixels.
///
/// No thread works at a higher priority than the caller's. Returns false when a share did; the others are done.
bool hwd_share_rows(hwd_row_work *work, const void *context, int rows, long pixels, int unit, int threads);

/// The number of processors this process may use.
int hwd_processors(void);

/// The instruction set in use: 0 baseline, 1 AVX2, 2 AVX-512; HWDAEMON_INSTRUCTIONS in the environment can lower it.
int hwd_level(void);

/// The instruction set in use: "AVX-512", "AVX2" or "baseline".
const char *hwd_instructions(void);

/// Restricts the instruction set to a level (0 baseline, 1 AVX2, 2 AVX-512) that the machine supports; for tests.
void hwd_limit_instructions(int level);

/// One component of a picture.
typedef struct {
    const uint8_t *base;  ///< the first sample
    size_t stride;        ///< bytes from a row to the next
    int step;             ///< bytes from a sample to the next
    bool words;           ///< 16-bit little-endian words instead of bytes
    int shift;            ///< words: bits below the value (P010: 6)
    int scale;            ///< bits by which values are shifted left, so that both pictures have the same depth
} hwd_samples;

typedef struct {
    uint64_t squared;   ///< the sum of squared differences
    double similarity;  ///< the mean similarity of 8x8 windows four samples apart; 1 for planes smaller than a window
} hwd_difference;

/// Compares a component of two pictures whose samples have up to 12 bits; false when memory runs out.
bool hwd_compare(const hwd_samples *a, const hwd_samples *b, int width, int height, double peak, hwd_difference *found);

/// The mean values of `columns` × `rows` cells; the mean of a cell without samples is 0.
void hwd_cell_means(const hwd_samples *samples, int width, int height, int columns, int rows, float *means);
