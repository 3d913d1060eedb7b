// SPDX-License-Identifier: GPL-2.0-or-later
// Between the loops for each instruction set and what starts them.
#pragma once
#include "CPixels.h"

/// Converts the rows first ..< end, first being even; false when there is no memory.
typedef bool hwd_rows(
    const hwd_plan *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end);

hwd_rows hwd_rows_baseline;
#if defined(__x86_64__)
hwd_rows hwd_rows_avx2;
hwd_rows hwd_rows_avx512;
#endif
