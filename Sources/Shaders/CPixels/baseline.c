// SPDX-License-Identifier: GPL-2.0-or-later
// The loops for any machine: vectors of four floats, which the compiler maps to SSE2 or NEON.
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include "kernels.h"
#define WIDTH 4
#define LEVEL 0
#define ROWS hwd_rows_baseline
#define SCALED_ROWS hwd_scaled_rows_baseline
#define COMPARED hwd_compare_baseline
#define MEANS hwd_cell_means_baseline
#define MEASURED_LIGHT hwd_measured_light_baseline
#include "rows.h"
#include "scaling.h"
#include "comparing.h"
#include "measuring.h"
