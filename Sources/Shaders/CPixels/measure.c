// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses the instruction set of a measurement of light.
#include "kernels.h"

static hwd_measured_light *measured_light(void) {
#if defined(__x86_64__)
    switch (hwd_level()) {
    case 2: return hwd_measured_light_avx512;
    case 1: return hwd_measured_light_avx2;
    }
#endif
    return hwd_measured_light_baseline;
}

void hwd_measure_light(const hwd_light_plan *plan, const hwd_plane *planes, uint32_t *counts) {
    measured_light()(plan, planes, counts);
    for (int i = 0; i < HWD_LIGHT_CODES; i++) counts[i] += counts[HWD_LIGHT_CODES + i];
}
