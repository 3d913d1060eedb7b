// SPDX-License-Identifier: GPL-2.0-or-later
// The loops for x86-64-v4 (AVX-512): vectors of sixteen floats.
#if defined(__x86_64__)
#include <immintrin.h>
#include "kernels.h"
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,bmi2"))), apply_to = function)
#define WIDTH 16
#define LEVEL 2
#define ROWS hwd_rows_avx512
#define SCALED_ROWS hwd_scaled_rows_avx512
#define COMPARED hwd_compare_avx512
#define MEANS hwd_cell_means_avx512
#define MEASURED_LIGHT hwd_measured_light_avx512
#include "rows.h"
#include "scaling.h"
#include "comparing.h"
#include "measuring.h"
#pragma clang attribute pop
#endif
