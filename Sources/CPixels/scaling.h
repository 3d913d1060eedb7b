// SPDX-License-Identifier: GPL-2.0-or-later
// Scales rows of a plane: WIDTH rows of the target at a time are filtered down, transposed, filtered across a column at a
// time, transposed back and written. Included after rows.h with SCALED_ROWS defined.

// Samples of a row that are read at a time: one cache line of bytes or more.
enum { STRIP = 4 * WIDTH };

/// Reads STRIP samples, of which `left` exist.
INLINE void load_strip(const hwd_sample_layout *form, const uint8_t *row, int x, int left, float *to) {
    for (int part = 0; part < STRIP; part += WIDTH) {
        const int rest = left - part;
        vf value = splat(0);
        if (rest > 0) switch (form->type) {
            case HWD_BYTE_SAMPLES: value = load_bytes(row + x + part, rest); break;
            case HWD_WORD_SAMPLES: value = load_words(row + 2 * (size_t)(x + part), rest, form->shift); break;
            case HWD_HALF_SAMPLES: {
                vh halves = {0};
                memcpy(&halves, row + 2 * (size_t)(x + part), 2 * (size_t)at_hand(rest));
                value = from_halves(halves);
            }
            }
        store(to + part, value);
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

/// Filters down: `columns` gets a vector of target rows for each sample of a source row.
static void filter_down(
    const hwd_scaling *plan, const hwd_plane *source, int first, int count, float *strip, float *columns) {
    const hwd_axis *down = &plan->down;
    const int samples = plan->width * plan->source.channels, taps = down->taps;
    int low, high;
    rows_read(down, first, first + count, &low, &high);
    for (int x = 0; x < samples; x += STRIP) {
        for (int y = low; y < high; y++)
            load_strip(
                &plan->source, source->base + (size_t)y * source->stride, x, samples - x,
                strip + (size_t)(y - low) * STRIP);
        vf sums[4][WIDTH];
        for (int row = 0; row < WIDTH; row++) {
            // Rows beyond the last repeat it and are not written.
            const int y = first + (row < count ? row : count - 1);
            const float *weights = down->weights + (size_t)y * taps;
            const float *from = strip + (size_t)(down->first[y] - low) * STRIP;
            vf a = splat(0), b = a, c = a, d = a;
            for (int tap = 0; tap < taps; tap++, from += STRIP) {
                const vf weight = splat(weights[tap]);
                a += weight * load(from), b += weight * load(from + WIDTH);
                c += weight * load(from + 2 * WIDTH), d += weight * load(from + 3 * WIDTH);
            }
            sums[0][row] = a, sums[1][row] = b, sums[2][row] = c, sums[3][row] = d;
        }
        for (int part = 0; part < 4; part++) {
            transpose(sums[part]);
            float *to = columns + ((size_t)x + (size_t)part * WIDTH) * WIDTH;
            for (int i = 0; i < WIDTH; i++) store(to + (size_t)i * WIDTH, sums[part][i]);
        }
    }
}

/// What differs between the elements of a vector of a row: their components alternate.
typedef struct {
    vf factor, offset, low, high;
} lanes;

INLINE void store_scaled(
    const hwd_scaling *plan, const lanes *by, const hwd_mutable_plane *target, int y, int x, vf value, int left) {
    const hwd_sample_layout *form = &plan->target;
    uint8_t *row = target->base + (size_t)y * target->stride;
    value = value * by->factor + by->offset;
    if (form->type == HWD_HALF_SAMPLES) {
        const vh halves = to_halves(at_most(at_least(value, by->low), by->high));
        memcpy(row + 2 * (size_t)x, &halves, 2 * (size_t)at_hand(left));
        return;
    }
    vf add = splat(0.5f);
    if (plan->dithers)
        for (int k = 0; k < WIDTH; k++) {
            const int column = plan->x + (x + k) / plan->components;
            add[k] = ((float)pattern[(plan->y + y) & 7][column & 7] + 0.5f) * (1.f / 64);
        }
    const vi codes = whole(at_most(at_least(value + add, by->low), by->high));
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
    const hwd_scaling *plan, const hwd_mutable_plane *target, const lanes *by, int first, int count,
    const float *columns) {
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
            store_scaled(plan, by, target, first + row, x, sums[row], samples - x);
    }
}

bool SCALED_ROWS(
    const hwd_scaling *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end) {
    int most = 0;
    for (int y = first; y < end; y += WIDTH) {
        int low, high;
        rows_read(&plan->down, y, y + WIDTH < end ? y + WIDTH : end, &low, &high);
        if (high - low > most) most = high - low;
    }
    if (most == 0) return true;
    const size_t samples = (size_t)plan->width * (size_t)plan->source.channels + STRIP;
    const size_t size = (samples * WIDTH + (size_t)most * STRIP) * sizeof(float);
    float *columns = aligned_alloc(64, (size + 63) & ~(size_t)63);
    if (!columns) return false;
    float *strip = columns + samples * WIDTH;
    lanes by;
    for (int k = 0; k < WIDTH; k++) {
        const int component = k % plan->components;
        by.factor[k] = plan->factor[component], by.offset[k] = plan->offset[component];
        by.low[k] = plan->low[component], by.high[k] = plan->high[component];
    }
    for (int y = first; y < end; y += WIDTH) {
        const int count = end - y < WIDTH ? end - y : WIDTH;
        filter_down(plan, source, y, count, strip, columns);
        filter_across(plan, target, &by, y, count, columns);
    }
    free(columns);
    return true;
}
