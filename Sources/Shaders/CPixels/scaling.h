// SPDX-License-Identifier: GPL-2.0-or-later
// Scales rows of a plane, some rows of the target at a time: they are filtered down, then across, and written. Where the
// width changes by a power of two, rows are divided into every second, fourth … sample, and all positions have the same
// weights; otherwise they are transposed, so that a vector is a column. Included after rows.h with SCALED_ROWS defined.

// Samples of a row that are read at a time: as many sums as registers hold beside weights.
enum { VECTORS = 8, STRIP = VECTORS * WIDTH };

// Rows that are divided into phases are filtered so many at a time: fewer read more of the source twice, more do not stay
// in the second cache until they are filtered across.
enum { DIVIDED_ROWS = 12 };

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

/// Filters down: with a `stride`, `to` gets rows of as many samples, otherwise a vector of rows for each sample.
static void filter_down(
    const hwd_scaling *plan, const hwd_plane *source, int first, int count, float *strip, float *to, size_t stride) {
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
        const int rows = stride > 0 ? count : WIDTH;
        for (int row = 0; row < rows; row++) {
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
            if (stride > 0) {
                float *own = to + (size_t)row * stride + x;
                for (int i = 0; i < VECTORS; i++) store(own + i * WIDTH, v[i]);
            } else {
                for (int i = 0; i < VECTORS; i++) sums[i][row] = v[i];
            }
        }
        if (stride > 0) continue;
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

// The most samples from a position to the next, and the most taps, of positions with the same weights.
enum { MOST_PHASES = 16, MOST_TAPS = 64 };

/// The distance of samples in rows that are divided into phases; 0 where the positions' weights differ.
INLINE int phases_of(const hwd_scaling *plan) {
    const hwd_axis *across = &plan->across;
    const int phases = across->step * plan->source.channels;
    const bool fits = phases > 0 && phases <= MOST_PHASES && (phases & (phases - 1)) == 0 && across->taps <= MOST_TAPS;
    return fits && 4 * (across->end - across->begin) >= 3 * across->count ? phases : 0;
}

/// Divides a row into every `phases`-th sample, by way of two buffers of as many samples. Returns the one with the result.
static const float *divide(const float *row, float *first, float *second, size_t samples, int phases) {
    for (int parts = 1; parts < phases; parts *= 2) {
        // Each part becomes two, of its even and odd samples; afterwards part p has the phase of p's bits in reversed order.
        const size_t length = samples / (size_t)parts;
        for (int part = 0; part < parts; part++) {
            const float *from = row + (size_t)part * length;
            float *even = first + (size_t)part * length, *odd = even + length / 2;
            for (size_t x = 0; x < length / 2; x += WIDTH) {
                const vf low = load(from + 2 * x), high = load(from + 2 * x + WIDTH);
                store(even + x, __builtin_shufflevector(low, high, EVENS));
                store(odd + x, __builtin_shufflevector(low, high, ODDS));
            }
        }
        float *done = first;
        row = done, first = second, second = done;
    }
    return row;
}

/// The part of a divided row with a phase: its bits in reversed order.
INLINE int part_of(int phase, int phases) {
    int part = 0;
    for (int bit = 1; bit < phases; bit *= 2, phase >>= 1) part = part << 1 | (phase & 1);
    return part;
}

/// Filters a row across at the positions with other weights than the middle.
static void filter_edges(
    const hwd_scaling *plan, const hwd_mutable_plane *target, const lanes *by, int y, const float *row) {
    const hwd_axis *across = &plan->across;
    for (int x = 0; x < across->count; x++) {
        if (x == across->begin) x = across->end;
        if (x >= across->count) return;
        vf sums = splat(0);
        for (int component = 0; component < plan->components; component++) {
            const float *from = row + across->first[x] * plan->source.channels + plan->order[component];
            float sum = 0;
            for (int tap = 0; tap < across->taps; tap++)
                sum += across->weights[x * across->taps + tap] * from[tap * plan->source.channels];
            sums[component] = sum;
        }
        store_scaled(plan, by, target, y, x * plan->components, sums, plan->components);
    }
}

/// A row that is divided into `phases` parts.
typedef struct {
    const float *parts;
    size_t length;  // of each part
    int phases;
} divided_row;

/// Alternates the samples of `components` vectors.
INLINE void interleave(vf *v, int components) {
    if (components == 2) {
        const vf first = __builtin_shufflevector(v[0], v[1], LOW_PAIRS);
        v[1] = __builtin_shufflevector(v[0], v[1], HIGH_PAIRS), v[0] = first;
    } else if (components == 4) {
        const vf a = __builtin_shufflevector(v[0], v[2], LOW_PAIRS), c = __builtin_shufflevector(v[0], v[2], HIGH_PAIRS);
        const vf b = __builtin_shufflevector(v[1], v[3], LOW_PAIRS), d = __builtin_shufflevector(v[1], v[3], HIGH_PAIRS);
        v[0] = __builtin_shufflevector(a, b, LOW_PAIRS), v[1] = __builtin_shufflevector(a, b, HIGH_PAIRS);
        v[2] = __builtin_shufflevector(c, d, LOW_PAIRS), v[3] = __builtin_shufflevector(c, d, HIGH_PAIRS);
    }
}

/// Filters a divided row across at the positions with the same weights, 4 / components vectors at a time.
INLINE void filter_middle(
    const hwd_scaling *plan, const hwd_mutable_plane *target, const lanes *shared, int y, const divided_row *row,
    int components) {
    const lanes by = *shared;
    const hwd_axis *across = &plan->across;
    const int taps = across->taps, vectors = 4 / components;
    const float *from[4][MOST_TAPS];
    for (int component = 0; component < components; component++)
        for (int tap = 0; tap < taps; tap++) {
            const int sample = (across->first[across->begin] + tap) * plan->source.channels + plan->order[component];
            const int part = part_of(sample % row->phases, row->phases);
            from[component][tap] = row->parts + (size_t)part * row->length + sample / row->phases;
        }
    const float *weights = across->weights + (size_t)across->begin * taps;
    const int count = across->end - across->begin;
    for (int x = 0; x < count; x += vectors * WIDTH) {
        vf sums[4] = {splat(0), splat(0), splat(0), splat(0)};
        for (int tap = 0; tap < taps; tap++) {
            const vf weight = splat(weights[tap]);
            for (int i = 0; i < 4; i++) sums[i] += weight * load(from[i % components][tap] + x + i / components * WIDTH);
        }
        for (int part = 0; part < vectors; part++) {
            vf *own = sums + part * components;
            interleave(own, components);
            const int sample = (across->begin + x + part * WIDTH) * components;
            const int left = (count - x - part * WIDTH) * components;
            for (int i = 0; i < components && left > i * WIDTH; i++)
                store_scaled(plan, &by, target, y, sample + i * WIDTH, own[i], left - i * WIDTH);
        }
    }
}

/// Filters a row across whose width changes by a power of two.
static void filter_row(
    const hwd_scaling *plan, const hwd_mutable_plane *target, const lanes *by, int y, const divided_row *row) {
    switch (plan->components) {
    case 1: filter_middle(plan, target, by, y, row, 1); break;
    case 2: filter_middle(plan, target, by, y, row, 2); break;
    default: filter_middle(plan, target, by, y, row, 4); break;
    }
}

bool SCALED_ROWS(
    const hwd_scaling *plan, const hwd_plane *source, const hwd_mutable_plane *target, int first, int end) {
    const int phases = phases_of(plan);
    const int block = phases > 0 ? DIVIDED_ROWS : WIDTH;
    int most = 0;
    for (int y = first; y < end; y += block) {
        int low, high;
        rows_read(&plan->down, y, y + block < end ? y + block : end, &low, &high);
        if (high - low > most) most = high - low;
    }
    if (most == 0) return true;
    // Whole vectors for every part of a divided row, and some more than are read at the end.
    const size_t unit = 2 * WIDTH * MOST_PHASES;
    const size_t samples = ((size_t)plan->width * (size_t)plan->source.channels + STRIP + 2 * unit) / unit * unit;
    const size_t size = (samples * ((size_t)block + 3) + (size_t)most * STRIP) * sizeof(float);
    float *columns = aligned_alloc(64, (size + 63) & ~(size_t)63);
    if (!columns) return false;
    memset(columns, 0, size);
    float *spare = columns + samples * (size_t)block;
    float *strip = spare + 3 * samples;
    lanes by;
    for (int k = 0; k < WIDTH; k++) {
        const int component = k % plan->components;
        by.factor[k] = plan->factor[component], by.offset[k] = plan->offset[component];
        by.low[k] = plan->low[component], by.high[k] = plan->high[component];
    }
    for (int y = first; y < end; y += block) {
        const int count = end - y < block ? end - y : block;
        filter_down(plan, source, y, count, strip, columns, phases > 0 ? samples : 0);
        if (phases == 0) {
            filter_across(plan, target, &by, y, count, columns);
            continue;
        }
        for (int row = 0; row < count; row++) {
            float *own = columns + (size_t)row * samples;
            const divided_row divided = {
                divide(own, spare, spare + samples, samples, phases), samples / (size_t)phases, phases};
            filter_row(plan, target, &by, y + row, &divided);
            filter_edges(plan, target, &by, y + row, own);
        }
    }
    free(columns);
    return true;
}
