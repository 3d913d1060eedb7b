// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses the instruction set of a scaling.
#include "kernels.h"

static hwd_scaled_rows *rows(void) {
#if defined(__x86_64__)
    switch (hwd_level()) {
    case 2: return hwd_scaled_rows_avx512;
    case 1: return hwd_scaled_rows_avx2;
    }
#endif
    return hwd_scaled_rows_baseline;
}

typedef struct {
    hwd_scaled_rows *rows;
    const hwd_scaling *plan;
    const hwd_plane *source;
    const hwd_mutable_plane *target;
} scaling;

static bool work(const void *context, int first, int end) {
    const scaling *own = context;
    return own->rows(own->plan, own->source, own->target, first, end);
}

bool hwd_scale(const hwd_scaling *plan, hwd_plane source, hwd_mutable_plane target, int threads) {
    const scaling own = {rows(), plan, &source, &target};
    const int rows = plan->down.count;
    // A large source takes as long as a large target.
    const long source_rows = rows > 0 ? plan->down.first[rows - 1] - plan->down.first[0] + plan->down.taps : 0;
    const long mirrored = source_rows < 0 ? plan->down.taps - source_rows : source_rows;
    const long pixels = (long)plan->across.count * rows + (long)plan->width * mirrored / 2;
    return hwd_share_rows(work, &own, rows, pixels, 16, threads);
}
