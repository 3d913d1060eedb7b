// SPDX-License-Identifier: GPL-2.0-or-later
// Scales bytes and words to half of their width in 16-bit integers: across first, then down. Pairs of neighbors, and then of
// rows, are multiplied and added by one instruction, and nothing is transposed. Included by scaling.h.

// Bits of samples, and of sums between the passes, which may be almost twice as large.
enum { SUM_BITS = 14 };

// Samples of the target that are filtered down before the next ones. Many, because processors fetch whole rows ahead; the
// rows that they are made of stay in the second cache.
enum { TILE = 2048 };

// Vectors of sums for each load of a weight.
enum { HALVED_VECTORS = 4, HALVED_STEP = HALVED_VECTORS * WIDTH };

// The most pairs of weights of a position.
enum { MOST_PAIRS = 32 };

/// The sums of the products of the 16-bit halves of each element.
INLINE vi multiply_pairs(vi a, vi b) {
#if LEVEL == 2
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif LEVEL == 1
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vi)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

INLINE vi load_ints(const int32_t *at) {
    vi x;
    memcpy(&x, at, sizeof x);
    return x;
}

/// Whether a plane is scaled here. Half floats and colors divided by alpha need more precision.
static bool is_halved(const hwd_scaling *plan) {
    const hwd_axis *across = &plan->across;
    const bool is_usual = plan->components == plan->source.channels || (plan->components == 1 && plan->source.channels == 2);
    return across->step == 2 && 4 * (across->end - across->begin) >= 3 * across->count && is_usual
        && across->bits > 0 && plan->down.bits > 0 && across->taps < 2 * MOST_PAIRS && plan->down.taps < 2 * MOST_PAIRS - 1
        && plan->source.type != HWD_HALF_SAMPLES && plan->target.type != HWD_HALF_SAMPLES && !plan->divides
        && !plan->exact;
}

/// Weights as integers in pairs, the first of which begins with `skipped` zeros. Their sum is exact. Returns the number of pairs.
static int weight_pairs(const hwd_axis *axis, int position, int skipped, int32_t *pairs) {
    const float *weights = axis->weights + (size_t)position * (size_t)axis->taps;
    int16_t own[2 * MOST_PAIRS] = {0};
    const int count = (skipped + axis->taps + 1) / 2;
    int rest = 1 << axis->bits, largest = skipped;
    for (int tap = 0; tap < axis->taps; tap++) {
        const float exact = weights[tap] * (float)(1 << axis->bits);
        const int rounded = (int)(exact + (exact < 0 ? -0.5f : 0.5f));
        own[skipped + tap] = (int16_t)rounded;
        rest -= rounded;
        if (rounded > own[largest]) largest = skipped + tap;
    }
    own[largest] = (int16_t)(own[largest] + rest);
    memcpy(pairs, own, (size_t)count * sizeof *pairs);
    return count;
}

/// Reads samples of a row, of which `left` exist, as SUM_BITS.
INLINE vh2 load_scaled(const hwd_sample_layout *form, const uint8_t *row, int x, int left) {
    const size_t count = (size_t)(left < 2 * WIDTH ? left : 2 * WIDTH);
    if (form->type == HWD_BYTE_SAMPLES) {
        vb2 bytes = {0};
        if (count == 2 * WIDTH) memcpy(&bytes, row + x, sizeof bytes);
        else memcpy(&bytes, row + x, count);
        return __builtin_convertvector(bytes, vh2) << (SUM_BITS - 8);
    }
    vh2 words = {0};
    if (count == 2 * WIDTH) memcpy(&words, row + 2 * (size_t)x, sizeof words);
    else memcpy(&words, row + 2 * (size_t)x, 2 * count);
    return ((words >> form->shift) & 0x3ff) << (SUM_BITS - 10);
}

// Shuffle indices that put the same components of two pixels of two and of four components side by side.
#define EIGHT_OF_TWO(at) at, at + 2, at + 1, at + 3, at + 4, at + 6, at + 5, at + 7
#define EIGHT_OF_FOUR(at) at, at + 4, at + 1, at + 5, at + 2, at + 6, at + 3, at + 7
#if WIDTH == 16
#define ALL_EIGHTS(eight) eight(0), eight(8), eight(16), eight(24)
#elif WIDTH == 8
#define ALL_EIGHTS(eight) eight(0), eight(8)
#else
#define ALL_EIGHTS(eight) eight(0)
#endif

// Shuffle indices that exchange the first and third components of such pixels.
#if WIDTH == 16
#define EXCHANGED 2, 1, 0, 3, 6, 5, 4, 7, 10, 9, 8, 11, 14, 13, 12, 15
#elif WIDTH == 8
#define EXCHANGED 2, 1, 0, 3, 6, 5, 4, 7
#else
#define EXCHANGED 2, 1, 0, 3
#endif

/// Reads `count` pixels from `first` on: for two of them pairs of each component. Fetches the next row to the second cache.
INLINE void read_pixel_pairs(
    const hwd_scaling *plan, int components, int channels, const uint8_t *row, const uint8_t *next, int first, int count,
    uint16_t *to) {
    const hwd_sample_layout form = plan->source;
    const int samples = plan->width * channels, end = (first + count) * channels;
    const int channel = plan->order[0];
    for (int x = first * channels; x < end; x += 2 * WIDTH) {
        __builtin_prefetch(next + (size_t)x * (form.type == HWD_BYTE_SAMPLES ? 1 : 2), 0, 2);
        vh2 v = load_scaled(&form, row, x, samples - x);
        if (components < channels) {
            const vh one = __builtin_convertvector((vi)((vu)v >> (16 * channel)) & 0xffff, vh);
            memcpy(to, &one, sizeof one);
            to += WIDTH;
            continue;
        }
        if (components == 2) v = __builtin_shufflevector(v, v, ALL_EIGHTS(EIGHT_OF_TWO));
        if (components == 4) {
            v = __builtin_shufflevector(v, v, ALL_EIGHTS(EIGHT_OF_FOUR));
            if (channel == 2) v = (vh2)__builtin_shufflevector((vi)v, (vi)v, EXCHANGED);
        }
        memcpy(to, &v, sizeof v);
        to += 2 * WIDTH;
    }
}

/// Filters two rows across to pairs of their sums, of which more than `count` may be written.
INLINE void filter_two_rows(
    const uint16_t *first, const uint16_t *second, const int32_t *weights, int pairs, int components, int bits, int count,
    int32_t *to) {
    const int32_t *a = (const int32_t *)(const void *)first, *b = (const int32_t *)(const void *)second;
    const vi half = (vi){0} + (1 << (bits - 1));
    for (int x = 0; x < count; x += HALVED_STEP) {
        vi upper[HALVED_VECTORS], lower[HALVED_VECTORS];
        for (int i = 0; i < HALVED_VECTORS; i++) upper[i] = lower[i] = half;
        for (int pair = 0; pair < pairs; pair++) {
            const vi weight = (vi){0} + weights[pair];
            const int at = x + pair * components;
#pragma unroll
            for (int i = 0; i < HALVED_VECTORS; i++) {
                upper[i] += multiply_pairs(load_ints(a + at + i * WIDTH), weight);
                lower[i] += multiply_pairs(load_ints(b + at + i * WIDTH), weight);
            }
        }
        for (int i = 0; i < HALVED_VECTORS; i++) {
            const vi both = ((upper[i] >> bits) & 0xffff) | (lower[i] >> bits << 16);
            memcpy(to + x + i * WIDTH, &both, sizeof both);
        }
    }
}

/// A sample as SUM_BITS.
INLINE int sample_at(const hwd_sample_layout *form, const uint8_t *row, int at) {
    if (form->type == HWD_BYTE_SAMPLES) return row[at] << (SUM_BITS - 8);
    uint16_t word;
    memcpy(&word, row + 2 * (size_t)at, sizeof word);
    return ((word >> form->shift) & 0x3ff) << (SUM_BITS - 10);
}

/// A row's sum at a position with other weights than the middle.
static int edge_sum(const hwd_scaling *plan, const uint8_t *row, int x, int component) {
    const hwd_axis *across = &plan->across;
    float sum = 0.5f;
    for (int tap = 0; tap < across->taps; tap++) {
        const int at = (across->first[x] + tap) * plan->source.channels + plan->order[component];
        sum += across->weights[x * across->taps + tap] * (float)sample_at(&plan->source, row, at);
    }
    return (int)__builtin_floorf(sum);
}

/// What is filtered: columns `left` ..< `right` of the target, from rows low ..< high of the source.
typedef struct {
    const hwd_scaling *plan;
    const hwd_plane *source;
    int left, right, low, high;
    int pairs;               // of weights across
    int32_t weights[MOST_PAIRS];
    uint16_t *pixels[2];     // pairs of pixels of two rows
} halved_tile;

/// Filters two rows of a tile across.
INLINE void filter_tile(const halved_tile *tile, int components, int channels, int row, int32_t *to) {
    const hwd_scaling *plan = tile->plan;
    const hwd_axis *across = &plan->across;
    const int begin = across->begin > tile->left ? across->begin : tile->left;
    const int end = across->end < tile->right ? across->end : tile->right;
    const uint8_t *rows[2];
    for (int i = 0; i < 2; i++) {
        // Rows outside have no weight.
        const int own = row + i < tile->low ? tile->low : row + i >= tile->high ? tile->high - 1 : row + i;
        const int next = own + 2 < tile->high ? own + 2 : own;
        rows[i] = tile->source->base + (size_t)own * tile->source->stride;
        if (begin < end)
            read_pixel_pairs(
                plan, components, channels, rows[i], tile->source->base + (size_t)next * tile->source->stride,
                across->first[begin], 2 * (end - begin - 1) + across->taps, tile->pixels[i]);
    }
    if (begin < end)
        filter_two_rows(
            tile->pixels[0], tile->pixels[1], tile->weights, tile->pairs, components, across->bits,
            (end - begin) * components, to + (begin - tile->left) * components);
    for (int x = tile->left; x < tile->right; x++) {
        if (x == begin && begin < end) x = end;
        if (x >= tile->right) return;
        for (int component = 0; component < components; component++)
            to[(x - tile->left) * components + component]
                = (edge_sum(plan, rows[0], x, component) & 0xffff)
                | (int32_t)((uint32_t)edge_sum(plan, rows[1], x, component) << 16);
    }
}

static void filter_rows_of_tile(const halved_tile *tile, int row, int32_t *to) {
    switch (tile->plan->source.channels) {
    case 1: filter_tile(tile, 1, 1, row, to); break;
    case 2:
        if (tile->plan->components == 1) filter_tile(tile, 1, 2, row, to);
        else filter_tile(tile, 2, 2, row, to);
        break;
    default: filter_tile(tile, 4, 4, row, to); break;
    }
}

/// Filters pairs of rows down and writes a row of a tile.
INLINE void write_tile_row(
    const hwd_scaling *plan, const lanes *by, const hwd_mutable_plane *target, const halved_tile *tile, int y,
    const int32_t *const *rows, const int32_t *weights, int pairs) {
    const int first = tile->left * plan->components, samples = (tile->right - tile->left) * plan->components;
    for (int x = 0; x < samples; x += HALVED_STEP) {
        vi sums[HALVED_VECTORS] = {0};
        for (int pair = 0; pair < pairs; pair++) {
            const vi weight = (vi){0} + weights[pair];
#pragma unroll
            for (int i = 0; i < HALVED_VECTORS; i++)
                sums[i] += multiply_pairs(load_ints(rows[pair] + x + i * WIDTH), weight);
        }
        // Without the parts of vectors, no call stands between the sums and the next ones.
        if (x + HALVED_STEP <= samples) {
#pragma unroll
            for (int i = 0; i < HALVED_VECTORS; i++)
                store_scaled(plan, by, target, y, first + x + i * WIDTH, number(sums[i]), WIDTH);
            continue;
        }
        for (int i = 0; i < HALVED_VECTORS; i++) {
            const int at = x + i * WIDTH;
            if (at < samples) store_scaled(plan, by, target, y, first + at, number(sums[i]), samples - at);
        }
    }
}

/// Scales rows first ..< end, which is_halved allows; returns false when memory runs out.
static bool halve_rows(
    const hwd_scaling *shared, const hwd_plane *source, const hwd_mutable_plane *target, const lanes *shared_lanes,
    int first, int end) {
    // Local copies can stay in registers, because no store may alias them.
    const hwd_scaling plan = *shared;
    const hwd_mutable_plane to = *target;
    lanes by = *shared_lanes;
    const int source_bits = plan.source.type == HWD_BYTE_SAMPLES ? 8 : 10;
    by.factor *= 1.f / (float)(1 << (SUM_BITS - source_bits)) / (float)(1 << plan.down.bits);
    // Pairs of rows begin where most positions do.
    const int odd = plan.down.first[plan.down.count / 2] & 1;
    const int most = plan.down.taps / 2 + 1;
    int slots = 1;
    while (slots < most) slots *= 2;
    halved_tile tile = {.plan = &plan, .source = source};
    rows_read(&plan.down, first, end, &tile.low, &tile.high);
    tile.pairs = weight_pairs(&plan.across, plan.across.begin, 0, tile.weights);
    const size_t row_size = TILE + HALVED_STEP;
    const size_t pixels = (size_t)(2 * TILE + 4 * plan.across.taps * plan.components + 4 * HALVED_STEP) / 32 * 32;
    const size_t count = (size_t)slots * row_size + pixels + (size_t)(end - first) * (size_t)most;
    int32_t *ring = aligned_alloc(64, (count * sizeof *ring + 63) & ~(size_t)63);
    if (!ring) return false;
    int32_t *weights = ring + (size_t)slots * row_size + pixels;
    tile.pixels[0] = (uint16_t *)(void *)(weights - pixels), tile.pixels[1] = tile.pixels[0] + pixels;
    // Sums that are not used read what is beyond a row's pixels.
    memset(tile.pixels[0], 0, pixels * sizeof *ring);
    for (int y = first; y < end; y++)
        weight_pairs(&plan.down, y, (plan.down.first[y] + odd) & 1, weights + (size_t)(y - first) * (size_t)most);
    const int columns = TILE / plan.components;
    for (tile.left = 0; tile.left < plan.across.count; tile.left += columns) {
        tile.right = tile.left + columns < plan.across.count ? tile.left + columns : plan.across.count;
        int held[2 * MOST_PAIRS];
        for (int i = 0; i < slots; i++) held[i] = -1;
        for (int y = first; y < end; y++) {
            const int above = plan.down.first[y] + odd, pairs = ((above & 1) + plan.down.taps + 1) / 2;
            const int32_t *rows[MOST_PAIRS];
            for (int i = 0; i < pairs; i++) {
                const int pair = above / 2 + i, slot = pair & (slots - 1);
                int32_t *own = ring + (size_t)slot * row_size;
                if (held[slot] != pair) filter_rows_of_tile(&tile, 2 * pair - odd, own);
                held[slot] = pair, rows[i] = own;
            }
            write_tile_row(&plan, &by, &to, &tile, y, rows, weights + (size_t)(y - first) * (size_t)most, pairs);
        }
    }
    free(ring);
    return true;
}
