// SPDX-License-Identifier: GPL-2.0-or-later
// Scales rows of a plane, WIDTH rows of the target at a time: they are filtered down and transposed, so that a vector is a
// column, then filtered across and written. Included after rows.h with SCALED_ROWS defined.

// Samples of a row that are read at a time: as many sums as registers hold beside weights.
enum { VECTORS = 8, STRIP = VECTORS * WIDTH };

/// Reads WIDTH samples of a row, of which `left` exist.
INLINE vf load_part(const hwd_sample_layout *form, hwd_sample_type type, const uint8_t *row, int x, int left) {
    if (type == HWD_BYTE_SAMPLES) return load_bytes(row + x, left);
    const uint8_t *at = row + 2 * (size_t)x;
    if (type == HWD_WORD_SAMPLES) return load_words(at, left, form->shift);
    vh halves = {0};
    if (left >= WIDTH) memcpy(&halves, at, 2 * WIDTH);
    else memcpy(&halves, at, 2 * (size_t)left);
    return from_halves(halves);
}

/// Reads STRIP samples of the same type, all of which exist: no test stands between the vectors.
INLINE void load_whole_strip(
    const hwd_sample_layout *form, hwd_sample_type type, const uint8_t *row, int x, float *to) {
    for (int part = 0; part < STRIP; part += WIDTH) store(to + part, load_part(form, type, row, x + part, WIDTH));
}

/// Reads STRIP samples, of which `left` exist; the rest are 0.
INLINE void load_strip(const hwd_sample_layout *form, const uint8_t *row, int x, int left, float *to) {
    if (left >= STRIP) {
        switch (form->type) {
        case HWD_BYTE_SAMPLES: load_whole_strip(form, HWD_BYTE_SAMPLES, row, x, to); break;
        case HWD_WORD_SAMPLES: load_whole_strip(form, HWD_WORD_SAMPLES, row, x, to); break;
        case HWD_HALF_SAMPLES: load_whole_strip(form, HWD_HALF_SAMPLES, row, x, to); break;
        }
        return;
    }
    for (int part = 0; part < STRIP; part += WIDTH) {
        const int rest = left - part;
        store(to + part, rest > 0 ? load_part(form, form->type, row, x + part, rest) : splat(0));
    }
}

/// Transposes WIDTH vectors: interleaving both halves of a square rotates the bits of its indices by one.
INLINE void transpose(vf *rows) {
    vf other[WIDTH];
    for (int size = 1; size < WIDTH; size *= 2) {
        for (int i = 0; i < WIDTH / 2; i++) {
            other[2 * i] = __builtin_shufflevector(rows[i], rows[i + WIDTH / 2], LOW_PAIRS);
            other[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + WIDTH / 2], HIGH_PAIRS);
        }
        for (int i = 0; i < WIDTH; i++) rows[i] = other[i];
    }
}

/// The source's rows that target rows first ..< end read.
INLINE void rows_read(const hwd_axis *down, int first, int end, int *low, int *high) {
    *low = down->first[first], *high = down->first[first];
    for (int y = first + 1; y < end; y++) {
        if (down->first[y] < *low) *low = down->first[y];
        if (down->first[y] > *high) *high = down->first[y];
    }
    *high += down->taps;
}

/// Filters down: `to` gets a vector of rows for each sample.
static void filter_down(
    const hwd_scaling *plan, const hwd_plane *source, int first, int count, float *strip, float *to) {
    const hwd_axis *down = &plan->down;
    const int samples = plan->width * plan->source.channels, taps = down->taps;
    const int size = plan->source.type == HWD_BYTE_SAMPLES ? 1 : 2;
    int low, high;
    rows_read(down, first, first + count, &low, &high);
    for (int x = 0; x < samples; x += STRIP) {
        for (int y = low; y < high; y++) {
            const uint8_t *row = source->base + (size_t)y * source->stride;
            // Strips of many rows are no pattern that processors foresee.
            for (int ahead = 2 * STRIP * size; ahead < 3 * STRIP * size; ahead += 64)
                __builtin_prefetch(row + (size_t)x * (size_t)size + ahead);
            load_strip(&plan->source, row, x, samples - x, strip + (size_t)(y - low) * STRIP);
        }
        vf sums[VECTORS][WIDTH];
        for (int row = 0; row < WIDTH; row++) {
            // Rows beyond the last repeat it and are not written.
            const int y = first + (row < count ? row : count - 1);
            const float *weights = down->weights + (size_t)y * taps;
            const float *from = strip + (size_t)(down->first[y] - low) * STRIP;
            vf v[VECTORS];
            for (int i = 0; i < VECTORS; i++) v[i] = splat(0);
            for (int tap = 0; tap < taps; tap++, from += STRIP) {
                const vf weight = splat(weights[tap]);
                for (int i = 0; i < VECTORS; i++) v[i] += weight * load(from + i * WIDTH);
            }
            for (int i = 0; i < VECTORS; i++) sums[i][row] = v[i];
        }
        for (int part = 0; part < VECTORS; part++) {
            transpose(sums[part]);
            float *columns = to + ((size_t)x + (size_t)part * WIDTH) * WIDTH;
            for (int i = 0; i < WIDTH; i++) store(columns + (size_t)i * WIDTH, sums[part][i]);
        }
    }
}

/// What differs between the elements of a vector of a row: their components alternate.
typedef struct {
    vf factor, offset, low, high;
} lanes;

#if WIDTH == 16
#define ALPHAS 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15
#elif WIDTH == 8
#define ALPHAS 3, 3, 3, 3, 7, 7, 7, 7
#else
#define ALPHAS 3, 3, 3, 3
#endif

/// Pixels of four components with the first three divided by the last; 0 where that is 0.
INLINE vf divided(vf pixels) {
    vi is_alpha = {0};
    for (int k = 3; k < WIDTH; k += 4) is_alpha[k] = -1;
    const vf alpha = at_most(__builtin_shufflevector(pixels, pixels, ALPHAS), splat(1));
    return choose(is_alpha, pixels, pixels * inverse_of(alpha));
}

/// Values within their limits; of pixels of four components none above the last where the plan says so.
INLINE vf limited(const hwd_scaling *plan, const lanes *by, vf pixels) {
    const vf within_range = at_most(at_least(pixels, by->low), by->high);
    if (!plan->clips) return within_range;
    return at_most(within_range, __builtin_shufflevector(within_range, within_range, ALPHAS));
}

INLINE void store_scaled(
    const hwd_scaling *plan, const lanes *by, const hwd_mutable_plane *target, int y, int x, vf value, int left) {
    const hwd_sample_layout *form = &plan->target;
    uint8_t *row = target->base + (size_t)y * target->stride;
    if (plan->divides) value = divided(value);
    value = value * by->factor + by->offset;
    if (form->type == HWD_HALF_SAMPLES) {
        const vh halves = to_halves(limited(plan, by, value));
        memcpy(row + 2 * (size_t)x, &halves, 2 * (size_t)at_hand(left));
        return;
    }
    vf add = splat(0.5f);
    if (plan->dithers)
        for (int k = 0; k < WIDTH; k++) {
            const int column = plan->x + (x + k) / plan->components;
            add[k] = ((float)pattern[(plan->y + y) & 7][column & 7] + 0.5f) * (1.f / 64);
        }
    const vi codes = whole(limited(plan, by, value + add));
    if (plan->components == form->channels) {
        if (form->type == HWD_BYTE_SAMPLES) store_bytes(row + x, codes, left);
        else store_words(row + 2 * (size_t)x, codes, left, form->shift);
        return;
    }
    for (int k = 0; k < at_hand(left); k++) {
        const size_t place = (size_t)(x + k) * (size_t)form->channels + (size_t)plan->channel;
        const uint16_t word = (uint16_t)(codes[k] << form->shift);
        if (form->type == HWD_BYTE_SAMPLES) row[place] = (uint8_t)codes[k];
        else memcpy(row + 2 * place, &word, 2);
    }
}

/// Filters across and writes `count` rows.
static void filter_across(
    const hwd_scaling *plan, const hwd_mutable_plane *target, const lanes *shared, int first, int count,
    const float *columns) {
    const lanes by = *shared;
    const hwd_axis *across = &plan->across;
    const int samples = across->count * plan->components, taps = across->taps;
    const size_t step = (size_t)plan->source.channels * WIDTH;
    for (int x = 0; x < samples; x += WIDTH) {
        vf sums[WIDTH];
        for (int i = 0; i < WIDTH; i++) {
            const int sample = x + i < samples ? x + i : samples - 1;
            const int pixel = sample / plan->components, component = sample - pixel * plan->components;
            const float *weights = across->weights + (size_t)pixel * taps;
            const float *from = columns + (size_t)across->first[pixel] * step + (size_t)plan->order[component] * WIDTH;
            vf sum = splat(0);
            for (int tap = 0; tap < taps; tap++, from += step) sum += splat(weights[tap]) * load(from);
            sums[i] = sum;
        }
        transpose(sums);
        for (int row = 0; row < count; row++)
            store_scaled(plan, &by, target, first + row, x, sums[row], samples - x);
    }
}

#include "halving.h"

bool SCALED_ROWS(
    const hwd_scaling *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end) {
    lanes by;
    for (int k = 0; k < WIDTH; k++) {
        const int component = k % plan->components;
        by.factor[k] = plan->factor[component], by.offset[k] = plan->offset[component];
        by.low[k] = plan->low[component], by.high[k] = plan->high[component];
    }
    if (first >= end) return true;
    if (is_halved(plan)) return halve_rows(plan, source, target, &by, first, end);
    int most = 0;
    for (int y = first; y < end; y += WIDTH) {
        int low, high;
        rows_read(&plan->down, y, y + WIDTH < end ? y + WIDTH : end, &low, &high);
        if (high - low > most) most = high - low;
    }
    const size_t samples = ((size_t)plan->width * (size_t)plan->source.channels + STRIP - 1) / STRIP * STRIP;
    float *columns = aligned_alloc(64, (samples * WIDTH + (size_t)most * STRIP) * sizeof(float));
    if (!columns) return false;
    for (int y = first; y < end; y += WIDTH) {
        const int count = end - y < WIDTH ? end - y : WIDTH;
        filter_down(plan, source, y, count, columns + samples * WIDTH, columns);
        filter_across(plan, target, &by, y, count, columns);
    }
    free(columns);
    return true;
}
