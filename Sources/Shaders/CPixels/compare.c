// SPDX-License-Identifier: GPL-2.0-or-later
// Compares pictures: squared differences, structural similarity (Wang and others, 2004) and mean values of cells.
// Chooses the instruction set.
#include "kernels.h"

bool hwd_compare(const hwd_samples *a, const hwd_samples *b, int width, int height, double peak, hwd_difference *found) {
#if defined(__x86_64__)
    switch (hwd_level()) {
    case 2: return hwd_compare_avx512(a, b, width, height, peak, found);
    case 1: return hwd_compare_avx2(a, b, width, height, peak, found);
    }
#endif
    return hwd_compare_baseline(a, b, width, height, peak, found);
}

void hwd_cell_means(const hwd_samples *samples, int width, int height, int columns, int rows, float *means) {
#if defined(__x86_64__)
    switch (hwd_level()) {
    case 2: return hwd_cell_means_avx512(samples, width, height, columns, rows, means);
    case 1: return hwd_cell_means_avx2(samples, width, height, columns, rows, means);
    }
#endif
    hwd_cell_means_baseline(samples, width, height, columns, rows, means);
}
