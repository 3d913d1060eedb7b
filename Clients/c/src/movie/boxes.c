// SPDX-License-Identifier: MIT
#include "movie/movie.h"

static void put(text *to, uint64_t value, int count) {
    char bytes[8];
    for (int i = 0; i < count; i++) bytes[i] = (char)(value >> 8 * (count - 1 - i));
    hwdi_add_bytes(to, bytes, (size_t)count);
}

void hwdi_put16(text *to, uint32_t value) { put(to, value, 2); }
void hwdi_put32(text *to, uint32_t value) { put(to, value, 4); }
void hwdi_put64(text *to, uint64_t value) { put(to, value, 8); }

static void put_zeros(text *to, int count) {
    for (int i = 0; i < count; i++) put(to, 0, 1);
}

static void put_words(text *to, const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) hwdi_put32(to, words[i]);
}
#define PUT_WORDS(to, ...) put_words(to, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

void hwdi_set32(text *in, size_t at, uint32_t value) {
    if (in->failed) return;
    for (int i = 0; i < 4; i++) in->bytes[at + (size_t)i] = (char)(value >> 8 * (3 - i));
}

size_t hwdi_open_box(text *to, const char *type) {
    size_t start = to->size;
    hwdi_put32(to, 0);
    hwdi_add_bytes(to, type, 4);
    return start;
}

void hwdi_close_box(text *to, size_t start) { hwdi_set32(to, start, (uint32_t)(to->size - start)); }

static void add_run(text *rows, uint32_t *row_count, uint32_t count, uint32_t value) {
    hwdi_put32(rows, count);
    hwdi_put32(rows, value);
    *row_count += 1;
}

void hwdi_add_run(movie_runs *runs, uint32_t value) {
    if (runs->count > 0 && runs->value == value) {
        runs->count++;
        return;
    }
    if (runs->count > 0) add_run(&runs->rows, &runs->row_count, runs->count, runs->value);
    runs->count = 1;
    runs->value = value;
}

void hwdi_file_type(text *to, bool is_quicktime) {
    size_t box = hwdi_open_box(to, "ftyp");
    hwdi_add_bytes(to, is_quicktime ? "qt  " : "isom", 4);
    hwdi_put32(to, 0x200);
    hwdi_add(to, is_quicktime ? "qt  " : "isomiso6mp41");
    hwdi_close_box(to, box);
}

// Ticks of a track as ticks of its movie, rounded to the nearest.
static uint64_t movie_ticks(int64_t ticks, uint32_t from, uint32_t to) {
    uint64_t value = ticks > 0 ? (uint64_t)ticks : 0, whole = value / from, rest = value % from, product;
    if (__builtin_mul_overflow(whole, (uint64_t)to, &product)) return INT64_MAX;
    product += (rest * to + from / 2) / from;
    return product > INT64_MAX ? INT64_MAX : product;
}

// Times of a header, of version 1 where 32 bits do not hold the duration.
static void put_times(text *to, uint32_t flags, uint64_t duration, const uint32_t *between, size_t count) {
    bool is_wide = duration > UINT32_MAX;
    hwdi_put32(to, (is_wide ? 1u << 24 : 0) | flags);
    put_zeros(to, is_wide ? 16 : 8);
    put_words(to, between, count);
    put(to, duration, is_wide ? 8 : 4);
}

static void put_matrix(text *to, uint32_t rotation) {
    const uint32_t one = 0x10000, minus = (uint32_t)-0x10000;
    uint32_t a = rotation == 0 ? one : rotation == 180 ? minus : 0;
    uint32_t b = rotation == 90 ? one : rotation == 270 ? minus : 0;
    PUT_WORDS(to, a, b, 0, (uint32_t)-(int32_t)b, a, 0, 0, 0, 0x40000000);
}

static void put_movie_header(text *to, uint32_t scale, uint64_t duration, uint32_t next_track) {
    size_t box = hwdi_open_box(to, "mvhd");
    put_times(to, 0, duration, &scale, 1);
    PUT_WORDS(to, 0x10000, 0x01000000, 0, 0); // speed and volume 1
    put_matrix(to, 0);
    put_zeros(to, 24);
    hwdi_put32(to, next_track);
    hwdi_close_box(to, box);
}

// The name is behind its length in QuickTime, and ends with a zero in MP4.
static void put_handler(text *to, bool is_quicktime, const char *component, const char *type, const char *name) {
    size_t box = hwdi_open_box(to, "hdlr");
    hwdi_put32(to, 0);
    hwdi_add_bytes(to, is_quicktime ? component : "\0\0\0", 4);
    hwdi_add_bytes(to, type, 4);
    put_zeros(to, 12);
    if (is_quicktime) put(to, strlen(name), 1);
    hwdi_add(to, name);
    if (!is_quicktime) put(to, 0, 1);
    hwdi_close_box(to, box);
}

int hwdi_add_video_entry(movie_track *track, bool is_quicktime, const void *record, size_t size) {
    text entry = {0};
    size_t box = hwdi_open_box(&entry, "hvc1");
    put_zeros(&entry, 6);
    hwdi_put16(&entry, 1);
    put_zeros(&entry, 16);
    hwdi_put16(&entry, track->width);
    hwdi_put16(&entry, track->height);
    PUT_WORDS(&entry, 0x480000, 0x480000, 0); // 72 dpi
    hwdi_put16(&entry, 1);
    put_zeros(&entry, 32);
    PUT_WORDS(&entry, 0x18ffff); // 24 bits
    size_t inner = hwdi_open_box(&entry, "hvcC");
    hwdi_add_bytes(&entry, record, size);
    hwdi_close_box(&entry, inner);
    if (track->color.primaries != 0) {
        inner = hwdi_open_box(&entry, "colr");
        hwdi_add_bytes(&entry, is_quicktime ? "nclc" : "nclx", 4);
        hwdi_put16(&entry, track->color.primaries);
        hwdi_put16(&entry, track->color.transfer);
        hwdi_put16(&entry, track->color.matrix);
        if (!is_quicktime) put(&entry, track->color.full_range ? 0x80 : 0, 1);
        hwdi_close_box(&entry, inner);
    }
    if (track->boxes.size > 0) hwdi_add_bytes(&entry, track->boxes.bytes, track->boxes.size);
    hwdi_close_box(&entry, box);
    int failure = entry.failed ? -ENOMEM : 0;
    uint32_t number = 0;
    for (size_t start = 0; failure == 0 && number < track->entry_count; start = track->ends[number++])
        if (track->ends[number] - start == entry.size && memcmp(track->entries.bytes + start, entry.bytes, entry.size) == 0)
            break;
    if (failure == 0 && number == track->entry_count) {
        if (number == HWD_MOVIE_MAX_FORMATS) failure = -ENOSPC;
        if (failure == 0) hwdi_add_bytes(&track->entries, entry.bytes, entry.size);
        if (track->entries.failed) failure = -ENOMEM;
        if (failure == 0) track->ends[track->entry_count++] = track->entries.size;
    }
    free(entry.bytes);
    if (failure == 0) track->entry = number + 1;
    return failure;
}

static void put_entries(text *to, const movie_track *track) {
    size_t box = hwdi_open_box(to, "stsd");
    PUT_WORDS(to, 0, track->entry_count);
    hwdi_add_bytes(to, track->entries.bytes, track->entries.size);
    hwdi_close_box(to, box);
}

static void put_table(text *to, const char *type, uint32_t count, const text *rows) {
    size_t box = hwdi_open_box(to, type);
    PUT_WORDS(to, 0, count);
    if (rows && rows->size > 0) hwdi_add_bytes(to, rows->bytes, rows->size);
    hwdi_close_box(to, box);
}

static void put_runs(text *to, const char *type, const movie_runs *runs) {
    size_t box = hwdi_open_box(to, type);
    PUT_WORDS(to, 0, runs->row_count + 1);
    if (runs->rows.size > 0) hwdi_add_bytes(to, runs->rows.bytes, runs->rows.size);
    PUT_WORDS(to, runs->count, runs->value);
    hwdi_close_box(to, box);
}

static void put_chunks(text *to, const movie_track *track) {
    const movie_chunk *chunks = (const movie_chunk *)(const void *)track->chunks.bytes;
    size_t count = track->chunks.size / sizeof *chunks;
    size_t box = hwdi_open_box(to, "stsc");
    uint32_t rows = 0;
    PUT_WORDS(to, 0, 0);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && chunks[i].count == chunks[i - 1].count && chunks[i].entry == chunks[i - 1].entry) continue;
        PUT_WORDS(to, (uint32_t)i + 1, chunks[i].count, chunks[i].entry);
        rows++;
    }
    hwdi_set32(to, box + 12, rows);
    hwdi_close_box(to, box);
    box = hwdi_open_box(to, "stsz");
    PUT_WORDS(to, 0, 0, track->count);
    hwdi_add_bytes(to, track->sizes.bytes, track->sizes.size);
    hwdi_close_box(to, box);
    bool is_wide = count > 0 && chunks[count - 1].offset > UINT32_MAX;
    box = hwdi_open_box(to, is_wide ? "co64" : "stco");
    PUT_WORDS(to, 0, (uint32_t)count);
    for (size_t i = 0; i < count; i++) put(to, chunks[i].offset, is_wide ? 8 : 4);
    hwdi_close_box(to, box);
}

// What precedes the media is an empty edit, -1.
static void put_edits(text *to, uint64_t delay, uint64_t duration, int64_t media) {
    bool is_wide = delay > UINT32_MAX || duration > UINT32_MAX || media > INT32_MAX;
    size_t box = hwdi_open_box(to, "edts"), list = hwdi_open_box(to, "elst");
    PUT_WORDS(to, is_wide ? 1u << 24 : 0, delay > 0 ? 2 : 1);
    if (delay > 0) {
        put(to, delay, is_wide ? 8 : 4);
        put(to, UINT64_MAX, is_wide ? 8 : 4);
        hwdi_put32(to, 0x10000);
    }
    put(to, duration, is_wide ? 8 : 4);
    put(to, (uint64_t)media, is_wide ? 8 : 4);
    hwdi_put32(to, 0x10000);
    hwdi_close_box(to, list);
    hwdi_close_box(to, box);
}

// A `trak` that is written: its number, durations in ticks of the movie and of the track, its edit, and the boxes that are open.
typedef struct track_box {
    uint32_t id;
    bool is_quicktime;
    uint64_t duration, media_duration, delay;
    int64_t media; // where the edit begins
    size_t open[4];
} track_box;

// The beginning up to the sample table, which is open as well; close_track closes all.
static void open_track(text *to, const movie_track *track, track_box *state) {
    size_t *open = state->open;
    bool is_quicktime = state->is_quicktime;
    open[0] = hwdi_open_box(to, "trak");
    size_t box = hwdi_open_box(to, "tkhd");
    put_times(to, 3, state->duration, (const uint32_t[]){state->id, 0}, 2); // enabled, and in the movie
    PUT_WORDS(to, 0, 0, 0, track->is_video ? 0 : 0x01000000);
    put_matrix(to, track->rotation);
    PUT_WORDS(to, track->width << 16, track->height << 16);
    hwdi_close_box(to, box);
    // Before the fragments neither duration is known: 0 is theirs.
    put_edits(to, state->delay, state->duration > state->delay ? state->duration - state->delay : 0, state->media);
    open[1] = hwdi_open_box(to, "mdia");
    box = hwdi_open_box(to, "mdhd");
    put_times(to, 0, state->media_duration, &track->time_scale, 1);
    hwdi_put32(to, 0x55c40000); // "und"
    hwdi_close_box(to, box);
    put_handler(
        to, is_quicktime, "mhlr", track->is_video ? "vide" : "soun", track->is_video ? "VideoHandler" : "SoundHandler");
    open[2] = hwdi_open_box(to, "minf");
    box = hwdi_open_box(to, track->is_video ? "vmhd" : "smhd");
    hwdi_put32(to, track->is_video ? 1 : 0);
    put_zeros(to, track->is_video ? 8 : 4);
    hwdi_close_box(to, box);
    if (is_quicktime) put_handler(to, true, "dhlr", "url ", "DataHandler");
    box = hwdi_open_box(to, "dinf");
    size_t references = hwdi_open_box(to, "dref");
    PUT_WORDS(to, 0, 1);
    size_t reference = hwdi_open_box(to, "url ");
    hwdi_put32(to, 1); // in the same file
    hwdi_close_box(to, reference);
    hwdi_close_box(to, references);
    hwdi_close_box(to, box);
    open[3] = hwdi_open_box(to, "stbl");
}

static void close_track(text *to, const track_box *state) {
    for (int i = 3; i >= 0; i--) hwdi_close_box(to, state->open[i]);
}

void hwdi_open_movie_box(const hwd_movie *movie, text *to) {
    uint32_t scale = movie->tracks[0].time_scale;
    size_t box = hwdi_open_box(to, "moov");
    put_movie_header(to, scale, 0, (uint32_t)movie->track_count + 1);
    for (int i = 0; i < movie->track_count; i++) {
        const movie_track *track = movie->tracks + i;
        int64_t shown = track->begin_shown > 0 ? track->begin_shown : 0;
        track_box state = {.id = (uint32_t)i + 1, .is_quicktime = movie->is_quicktime, .media = shown - track->begin_decode};
        state.delay = movie_ticks(shown, track->time_scale, scale);
        open_track(to, track, &state);
        put_entries(to, track);
        put_table(to, "stts", 0, NULL);
        put_table(to, "stsc", 0, NULL);
        size_t sizes = hwdi_open_box(to, "stsz");
        PUT_WORDS(to, 0, 0, 0);
        hwdi_close_box(to, sizes);
        put_table(to, "stco", 0, NULL);
        close_track(to, &state);
    }
    size_t fragments = hwdi_open_box(to, "mvex");
    for (int i = 0; i < movie->track_count; i++) {
        size_t defaults = hwdi_open_box(to, "trex");
        PUT_WORDS(to, 0, (uint32_t)i + 1, 1, 0, 0, 0);
        hwdi_close_box(to, defaults);
    }
    hwdi_close_box(to, fragments);
    hwdi_close_box(to, box);
}

void hwdi_finished_movie_box(hwd_movie *movie, text *to) {
    uint32_t scale = 0, id = 0;
    uint64_t longest = 0;
    for (int i = movie->track_count - 1; i >= 0; i--)
        if (movie->tracks[i].count > 0) scale = movie->tracks[i].time_scale;
    for (int i = 0; i < movie->track_count; i++) {
        const movie_track *track = movie->tracks + i;
        if (track->count == 0) continue;
        uint64_t duration = movie_ticks(track->shown_end, track->time_scale, scale);
        if (duration > longest) longest = duration;
        id++;
    }
    size_t box = hwdi_open_box(to, "moov");
    put_movie_header(to, scale, longest, id + 1);
    id = 0;
    for (int i = 0; i < movie->track_count; i++) {
        movie_track *track = movie->tracks + i;
        if (track->count == 0) continue;
        int64_t begin = track->shown_first > 0 ? track->shown_first : 0;
        track_box state = {.id = ++id, .is_quicktime = movie->is_quicktime, .media = begin - track->first};
        state.duration = movie_ticks(track->shown_end, track->time_scale, scale);
        state.media_duration = (uint64_t)(track->last - track->first) + track->last_duration;
        state.delay = movie_ticks(begin, track->time_scale, scale);
        if (state.delay > state.duration) state.delay = state.duration;
        hwdi_add_run(&track->durations, track->last_duration);
        open_track(to, track, &state);
        put_entries(to, track);
        put_runs(to, "stts", &track->durations);
        if (track->shifts.row_count > 0 || track->shifts.value != 0) put_runs(to, "ctts", &track->shifts);
        uint32_t keys = (uint32_t)(track->sync.size / 4);
        if (track->is_video && keys < track->count) put_table(to, "stss", keys, &track->sync);
        put_chunks(to, track);
        close_track(to, &state);
        // A table that lacks rows describes another file.
        to->failed = to->failed || track->sizes.failed || track->sync.failed || track->chunks.failed ||
            track->durations.rows.failed || track->shifts.rows.failed;
    }
    hwdi_close_box(to, box);
}
