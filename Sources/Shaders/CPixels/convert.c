// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses the instruction set of a conversion.
#include "kernels.h"

static hwd_rows *rows(int level) {
#if defined(__x86_64__)
    switch (level) {
    case 2: return hwd_rows_avx512;
    case 1: return hwd_rows_avx2;
    }
#else
    (void)level;
#endif
    return hwd_rows_baseline;
}

typedef struct {
    hwd_rows *rows;
    const hwd_plan *plan;
    const hwd_plane *source;
    const hwd_mutable_plane *target;
} conversion;

static bool work(const void *context, int first, int end) {
    const conversion *own = context;
    return own->rows(own->plan, own->source, own->target, first, end);
}

bool hwd_convert(const hwd_plan *plan, const hwd_plane *source, const hwd_mutable_plane *target, int threads) {
    const conversion own = {rows(plan->level), plan, source, target};
    return hwd_share_rows(work, &own, plan->height, (long)plan->width * plan->height, 2, threads);
}
