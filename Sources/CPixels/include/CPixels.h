// SPDX-License-Identifier: GPL-2.0-or-later
// Pictures from one form to another on the CPU: the inner loops of Shaders/CPU, whose numbers come folded from Color,
// in Double, and of VAAPI, which copies frames to surfaces; nothing here knows a standard. Sizes, strides and pointers are the caller's to check.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How samples lie.
typedef enum {
    HWD_YCBCR,   ///< 4:2:0: luma, chroma in one plane or two, perhaps alpha in a plane of its own
    HWD_BYTES,   ///< four bytes a pixel: R, G, B, A, or with `swaps` B, G, R, A
    HWD_HALVES   ///< four half floats a pixel: R, G, B, A
} hwd_form;

typedef struct {
    hwd_form form;
    bool words;        ///< Y'CbCr: 16-bit little-endian words instead of bytes
    int shift;         ///< Y'CbCr words: bits below the value (P010: 6)
    bool interleaved;  ///< Y'CbCr: Cb and Cr share a plane
    bool alpha;        ///< Y'CbCr: the last plane is alpha, in bytes
    bool swaps;        ///< bytes: B comes first
    float top;         ///< the largest code of a Y'CbCr sample
} hwd_layout;

/// A function of one number by straight lines, in (value, rise) pairs.
typedef struct {
    const float *pairs;  ///< NULL leaves numbers as they are
    int count;
    float limit;         ///< larger numbers count as this
    float scale;         ///< uniform steps: pairs a unit; 0 for 64 steps an octave, by the number's upper bits
    int first;           ///< octaves: the number where pair 1 begins, its bits without the lower 17; pair 0 begins at 0
    float tiny;          ///< octaves: one over that number
    bool odd;            ///< f(-x) = -f(x); otherwise negative numbers count as 0
} hwd_curve;

/// A gain that depends on a weighted sum of the three (HLG's OOTF), or on their maximum where all weights are 0.
typedef struct {
    hwd_curve curve;
    float weights[3];
} hwd_gain;

/// Everything about a conversion; `to_rgb` … `from_rgb` in the order they are applied.
typedef struct {
    int width, height;
    hwd_layout source, target;
    float to_rgb[12];           ///< Y'CbCr codes → R'G'B', 3x4 by rows
    float up_x[2], up_y[2];     ///< weight of the nearer chroma sample for even and odd columns, rows
    bool clips_source;          ///< R'G'B' of the source to 0…1
    bool divides;               ///< R'G'B' by alpha first
    bool converts;              ///< the light in between; otherwise R'G'B' is kept
    hwd_curve decode;
    hwd_gain gain;              ///< curve.pairs NULL: none
    hwd_gain tone;              ///< the same, after it
    float colors[9];
    hwd_gain inverse_gain;      ///< curve.pairs NULL: none
    hwd_curve encode;
    bool clips_target;          ///< R'G'B' of the target to 0…1
    bool multiplies;            ///< R'G'B' by alpha last
    float from_rgb[12];         ///< R'G'B' → Y'CbCr codes
    float down_x[3], down_y[4]; ///< weights of columns 2i-1 … 2i+1 and of rows 2j-1 … 2j+2 of a chroma sample
    bool dithers;               ///< 8-bit targets
} hwd_plan;

typedef struct {
    const uint8_t *base;
    size_t stride;
} hwd_plane;

typedef struct {
    uint8_t *base;
    size_t stride;
} hwd_mutable_plane;

/// One plane's samples to another's: `factor · code + offset`, to the nearest whole one of 0 … the target's top.
typedef struct {
    hwd_layout source, target;   ///< only what says where a sample's value lies
    float factor, offset;
    int width, height;           ///< samples
    size_t source_step, target_step;  ///< bytes from a sample to the next of its component
    bool dithers;
} hwd_rescaling;

/// Scales the samples of a component.
void hwd_rescale(const hwd_rescaling *plan, hwd_plane source, hwd_mutable_plane target);

/// Converts a picture on up to `threads` threads; false when there is no memory for its rows.
bool hwd_convert(const hwd_plan *plan, const hwd_plane *source, const hwd_mutable_plane *target, int threads);

/// What becomes of a sample that is copied.
typedef enum {
    HWD_KEEP_BYTES,  ///< bytes as they are
    HWD_KEEP_WORDS,  ///< 16-bit words as they are
    HWD_WIDEN,       ///< bytes to the high ends of words
    HWD_RAISE        ///< 10 bits from the low to the high ends of words
} hwd_change;

/// A plane that is copied to one at least as large, whose further columns and rows repeat the last.
typedef struct {
    hwd_change change;
    bool pairs;                   ///< the target's samples are pairs of Cb and Cr
    bool joins;                   ///< and the source has them in two planes; else in one, as the target
    int width, height;            ///< samples, or pairs; at least 1
    int full_width, full_height;  ///< the same of the target
} hwd_filling;

/// Copies a plane, or, where it joins, two; else the second is not looked at.
void hwd_fill(const hwd_filling *how, hwd_plane first, hwd_plane second, hwd_mutable_plane target);

/// Processors this process may use.
int hwd_processors(void);

/// The instructions that are used: "AVX-512", "AVX2", "baseline".
const char *hwd_instructions(void);

/// Restricts the instructions to a level (0 baseline, 1 AVX2, 2 AVX-512) that the machine has; for tests.
void hwd_limit_instructions(int level);
