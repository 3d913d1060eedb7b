// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses the instruction set of a scaling.
#include "kernels.h"
#include <math.h>

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

/// Whether a position has the taps of another, `step` positions of the source further.
static bool continues(const hwd_axis *axis, int at, int other, int step) {
    if (axis->first[at] != axis->first[other] + (at - other) * step) return false;
    for (int tap = 0; tap < axis->taps; tap++)
        if (fabsf(axis->weights[at * axis->taps + tap] - axis->weights[other * axis->taps + tap]) > 1e-6f) return false;
    return true;
}

/// Finds the positions around the middle whose taps are the same: all but the edges where the factor is a whole number.
static void find_equal(hwd_axis *axis) {
    const int middle = axis->count / 2;
    axis->begin = axis->end = middle;
    if (axis->count < 2) return;
    const int other = middle > 0 ? middle - 1 : middle + 1;
    axis->step = (axis->first[middle] - axis->first[other]) * (middle - other);
    axis->end++;
    while (axis->begin > 0 && continues(axis, axis->begin - 1, middle, axis->step)) axis->begin--;
    while (axis->end < axis->count && continues(axis, axis->end, middle, axis->step)) axis->end++;
}

/// Finds how many fractional bits the weights can have as 16-bit integers, in halving.h: sums of two axes must fit.
static void find_bits(hwd_axis *axis) {
    float largest = 0, most = 0;
    for (int i = 0; i < axis->count; i++) {
        float sum = 0;
        for (int tap = 0; tap < axis->taps; tap++) {
            const float weight = fabsf(axis->weights[i * axis->taps + tap]);
            sum += weight, largest = weight > largest ? weight : largest;
        }
        most = sum > most ? sum : most;
    }
    axis->bits = most > 1.98f ? 0 : largest > 0.999f ? 14 : 15;
}

bool hwd_scale(const hwd_scaling *plan, hwd_plane source, hwd_mutable_plane target, int threads) {
    hwd_scaling found = *plan;
    find_equal(&found.across);
    find_bits(&found.across), find_bits(&found.down);
    const scaling own = {rows(), &found, &source, &target};
    const int rows = plan->down.count;
    // A large source takes as long as a large target.
    const long source_rows = rows > 0 ? plan->down.first[rows - 1] - plan->down.first[0] + plan->down.taps : 0;
    const long mirrored = source_rows < 0 ? plan->down.taps - source_rows : source_rows;
    const long pixels = (long)plan->across.count * rows + (long)plan->width * mirrored / 2;
    return hwd_share_rows(work, &own, rows, pixels, 16, threads);
}
