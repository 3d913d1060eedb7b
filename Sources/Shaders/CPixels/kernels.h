// SPDX-License-Identifier: GPL-2.0-or-later
// Declarations shared by the loops of each instruction set and their caller.
#pragma once
#include "CPixels.h"

/// Converts rows first ..< end, where first is even; returns false when memory runs out.
typedef bool hwd_rows(
    const hwd_plan *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end);

hwd_rows hwd_rows_baseline;

/// Scales rows first ..< end; returns false when memory runs out.
typedef bool hwd_scaled_rows(
    const hwd_scaling *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end);

hwd_scaled_rows hwd_scaled_rows_baseline;

/// As hwd_compare.
typedef bool hwd_compared(
    const hwd_samples *a, const hwd_samples *b, int width, int height, double peak, hwd_difference *found);

hwd_compared hwd_compare_baseline;

/// As hwd_cell_means.
typedef void hwd_means(const hwd_samples *samples, int width, int height, int columns, int rows, float *means);

hwd_means hwd_cell_means_baseline;

/// Adds codes to both halves of the counts.
typedef void hwd_measured_light(const hwd_light_plan *plan, const hwd_plane *planes, uint32_t *counts);

hwd_measured_light hwd_measured_light_baseline;
#if defined(__x86_64__)
hwd_rows hwd_rows_avx2;
hwd_rows hwd_rows_avx512;
hwd_scaled_rows hwd_scaled_rows_avx2;
hwd_scaled_rows hwd_scaled_rows_avx512;
hwd_compared hwd_compare_avx2;
hwd_compared hwd_compare_avx512;
hwd_means hwd_cell_means_avx2;
hwd_means hwd_cell_means_avx512;
hwd_measured_light hwd_measured_light_avx2;
hwd_measured_light hwd_measured_light_avx512;
#endif
