// SPDX-License-Identifier: MIT
#include "movie/movie.h"

int hwdi_picture_kind(const uint8_t *bytes, size_t size) {
    int kind = -1;
    size_t offset = 0;
    while (offset < size) {
        if (size - offset < 6) return -1; // a length and a header of two bytes
        const uint8_t *at = bytes + offset;
        size_t length = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
        if (length < 2 || length > size - offset - 4) return -1;
        unsigned type = at[4] >> 1 & 63; // H.265 table 7-1
        unsigned layer = (at[4] & 1u) << 5 | at[5] >> 3;
        // The first slice of the base layer.
        if (kind < 0 && type < 32 && layer == 0) kind = type >= 16 && type <= 23;
        offset += 4 + length;
    }
    return kind;
}

// sample_flags (8.8.3.1): what a sample depends on, and whether decoding can begin with it.
static uint32_t sample_flags(const movie_track *track, const waiting_packet *packet) {
    return !track->is_video || packet->is_key ? 0x02000000 : 0x01010000;
}

// A `traf`; returns where in `to` the offset of its data is to be set.
static size_t put_track(text *to, const movie_track *track, uint32_t id, const int64_t *next) {
    const waiting_packet *packets = (const waiting_packet *)(const void *)track->waiting.bytes;
    size_t count = track->waiting.size / sizeof *packets;
    bool is_shifted = false;
    for (size_t i = 0; i < count; i++) is_shifted = is_shifted || packets[i].pts != packets[i].dts;
    size_t box = hwdi_open_box(to, "traf"), inner = hwdi_open_box(to, "tfhd");
    hwdi_put32(to, 0x020002); // default-base-is-moof, sample-description-index
    hwdi_put32(to, id);
    hwdi_put32(to, track->entry);
    hwdi_close_box(to, inner);
    inner = hwdi_open_box(to, "tfdt");
    hwdi_put32(to, 1u << 24);
    hwdi_put64(to, (uint64_t)(packets[0].dts - track->begin_decode));
    hwdi_close_box(to, inner);
    inner = hwdi_open_box(to, "trun");
    hwdi_put32(to, is_shifted ? 0xf01 : 0x701); // offset, durations, sizes, flags, composition times
    hwdi_put32(to, (uint32_t)count);
    size_t data_offset = to->size;
    hwdi_put32(to, 0);
    for (size_t i = 0; i < count; i++) {
        int64_t duration = i + 1 < count ? packets[i + 1].dts - packets[i].dts
            : next                       ? *next - packets[i].dts
                                         : packets[i].duration;
        hwdi_put32(to, (uint32_t)duration);
        hwdi_put32(to, packets[i].size);
        hwdi_put32(to, sample_flags(track, packets + i));
        if (is_shifted) hwdi_put32(to, (uint32_t)(packets[i].pts - packets[i].dts));
    }
    hwdi_close_box(to, inner);
    hwdi_close_box(to, box);
    return data_offset;
}

// Adds the rows of packets that are in the file, from a byte of it on.
static void note(movie_track *track, uint64_t offset) {
    const waiting_packet *packets = (const waiting_packet *)(const void *)track->waiting.bytes;
    size_t count = track->waiting.size / sizeof *packets;
    movie_chunk chunk = {offset, (uint32_t)count, track->entry};
    hwdi_add_bytes(&track->chunks, (const char *)&chunk, sizeof chunk);
    for (size_t i = 0; i < count; i++) {
        if (track->count++ > 0) {
            hwdi_add_run(&track->durations, (uint32_t)(packets[i].dts - track->last));
        } else {
            track->first = packets[i].dts;
            track->shown_first = packets[i].pts;
        }
        track->last = packets[i].dts;
        track->last_duration = packets[i].duration;
        int64_t end = packets[i].pts + packets[i].duration;
        if (packets[i].pts < track->shown_first) track->shown_first = packets[i].pts;
        if (end > track->shown_end) track->shown_end = end;
        hwdi_add_run(&track->shifts, (uint32_t)(packets[i].pts - packets[i].dts));
        hwdi_put32(&track->sizes, packets[i].size);
        if (track->is_video && packets[i].is_key) hwdi_put32(&track->sync, track->count);
    }
    track->waiting.size = track->data.size = 0;
}

// The time lines of tracks, before the first movie box states them. A track without packets has the movie's.
static void set_begins(hwd_movie *movie) {
    for (int i = 0; i < movie->track_count; i++) {
        movie_track *track = movie->tracks + i;
        const waiting_packet *packets = (const waiting_packet *)(const void *)track->waiting.bytes;
        size_t count = track->waiting.size / sizeof *packets;
        if (count == 0) continue;
        track->begin_decode = packets[0].dts;
        track->begin_shown = packets[0].pts;
        for (size_t j = 1; j < count; j++)
            if (packets[j].pts < track->begin_shown) track->begin_shown = packets[j].pts;
    }
}

static void put_head(hwd_movie *movie, text *to) {
    set_begins(movie);
    hwdi_file_type(to, movie->is_quicktime);
    movie->head = to->size;
    hwdi_open_movie_box(movie, to);
    size_t box = hwdi_open_box(to, "free");
    for (int i = 0; i < HEAD_SPACE - 8; i += 8) hwdi_put64(to, 0);
    hwdi_close_box(to, box);
    movie->head_end = to->size;
}

int hwdi_write_fragment(hwd_movie *movie, int next, int64_t dts) {
    if (!movie->is_waiting) return 0;
    text bytes = {0};
    size_t data_offsets[HWD_MOVIE_MAX_TRACKS];
    uint64_t offsets[HWD_MOVIE_MAX_TRACKS];
    if (!movie->has_head) put_head(movie, &bytes);
    size_t box = hwdi_open_box(&bytes, "moof"), inner = hwdi_open_box(&bytes, "mfhd");
    hwdi_put32(&bytes, 0);
    hwdi_put32(&bytes, movie->sequence + 1);
    hwdi_close_box(&bytes, inner);
    for (int i = 0; i < movie->track_count; i++)
        if (movie->tracks[i].waiting.size > 0)
            data_offsets[i] = put_track(&bytes, movie->tracks + i, (uint32_t)i + 1, next == i ? &dts : NULL);
    hwdi_close_box(&bytes, box);
    size_t size = bytes.size - box;
    inner = hwdi_open_box(&bytes, "mdat");
    for (int i = 0; i < movie->track_count; i++) {
        const movie_track *track = movie->tracks + i;
        if (track->waiting.size == 0) continue;
        offsets[i] = movie->position + bytes.size;
        hwdi_set32(&bytes, data_offsets[i], (uint32_t)(bytes.size - box));
        if (track->data.size > 0) hwdi_add_bytes(&bytes, track->data.bytes, track->data.size);
    }
    hwdi_close_box(&bytes, inner);
    // A sample's rows in all tables, each for this sample alone, are below 64 bytes.
    uint64_t reserve = 64 * (uint64_t)movie->samples + 8192 * (uint64_t)movie->track_count + (64 << 10);
    int failure = hwdi_movie_write(movie, &bytes, reserve);
    free(bytes.bytes);
    if (failure < 0) {
        movie->failure = failure;
        return failure;
    }
    movie->has_head = true;
    movie->sequence++;
    movie->boxes += size;
    for (int i = 0; i < movie->track_count; i++) {
        if (movie->tracks[i].waiting.size == 0) continue;
        note(movie->tracks + i, offsets[i]);
        movie->runs++;
    }
    movie->is_waiting = false;
    movie->waiting_count = 0;
    movie->waiting_size = 0;
    return 0;
}
