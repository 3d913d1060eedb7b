// SPDX-License-Identifier: GPL-2.0-or-later
// The loops for x86-64-v3 (AVX2): vectors of eight floats.
#if defined(__x86_64__)
#include <immintrin.h>
#include "kernels.h"
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#define WIDTH 8
#define LEVEL 1
#define ROWS hwd_rows_avx2
#define SCALED_ROWS hwd_scaled_rows_avx2
#define COMPARED hwd_compare_avx2
#define MEANS hwd_cell_means_avx2
#define MEASURED_LIGHT hwd_measured_light_avx2
#include "rows.h"
#include "scaling.h"
#include "comparing.h"
#include "measuring.h"
#pragma clang attribute pop
#endif
