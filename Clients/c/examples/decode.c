/* SPDX-License-Identifier: MIT */
/*
 * Decodes an HEVC byte stream (Annex B) to raw frames.
 *
 *     cc decode.c $(pkg-config --cflags --libs hwdaemon) -o hwd-decode
 *     ./hwd-decode in.hevc out.nv12
 */
#include <hwdaemon.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "%s: %s (%s)\n", what, hwd_last_error(), hwd_status_name(result));
    exit(1);
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t capacity = 0, count = 1;
    for (*size = 0; in && count > 0; *size += count) {
        if (*size == capacity) {
            capacity = capacity * 2 + 65536;
            bytes = realloc(bytes, capacity);
            if (!bytes) exit(1);
        }
        count = fread(bytes + *size, 1, capacity - *size, in);
    }
    if (!in) {
        perror(path);
        exit(66);
    }
    fclose(in);
    return bytes;
}

/* The next start code (00 00 01) from `at` on; `size` if there is none. */
static size_t next_unit(const uint8_t *bytes, size_t size, size_t at) {
    for (; at + 3 <= size; at++)
        if (bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1) return at;
    return size;
}

/*
 * The end of the picture that begins at `start`: the next access unit's first NAL unit (H.265 7.4.2.4.4). Slices are types
 * 0 to 31; the first of a picture has first_slice_segment_in_pic_flag set. Parameter sets, delimiters and prefix SEI
 * messages (32 to 39) after a slice belong to the next picture.
 */
static size_t end_of_picture(const uint8_t *bytes, size_t size, size_t start) {
    int has_slice = 0;
    for (size_t at = next_unit(bytes, size, start); at + 5 < size; at = next_unit(bytes, size, at + 3)) {
        int type = bytes[at + 3] >> 1 & 63;
        int is_slice = type < 32, begins = is_slice ? bytes[at + 5] >> 7 : type <= 39;
        if (has_slice && begins) return at > start && bytes[at - 1] == 0 ? at - 1 : at;
        has_slice |= is_slice;
    }
    return size;
}

/* Where the first slice begins: before it are the parameter sets. */
static size_t parameter_sets_size(const uint8_t *bytes, size_t size) {
    size_t at = next_unit(bytes, size, 0);
    while (at + 5 < size && bytes[at + 3] >> 1 >= 32) at = next_unit(bytes, size, at + 3);
    return at;
}

static void write_picture(FILE *out, const hwd_event *picture) {
    for (uint32_t i = 0; i < picture->plane_count; i++) {
        const hwd_plane *plane = &picture->planes[i];
        for (uint32_t row = 0; row < plane->rows; row++) {
            if (fwrite(plane->data + (size_t)row * plane->stride, 1, plane->row_bytes, out) == plane->row_bytes) continue;
            perror("the output");
            exit(1);
        }
    }
}

/* Writes the pictures that are ready; with a timeout, up to the event that hwd_complete requested. */
static void drain(hwd_session *session, FILE *out, int timeout_ms) {
    hwd_event event;
    int result;
    HWD_INIT(event);
    while ((result = hwd_next_event(session, &event, timeout_ms)) > 0) {
        if (event.type == HWD_EVENT_PICTURE) write_picture(out, &event);
        if (event.type == HWD_EVENT_REPORT)
            fprintf(stderr, "packet %llu: %s\n", (unsigned long long)event.number, event.reason ? event.reason : "no picture");
        /* The decoder waits while all its pictures are held. */
        check(hwd_release(session, &event), "hwd_release");
        if (event.type == HWD_EVENT_COMPLETED) return;
    }
    check(result, "the session");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s IN.hevc OUT.nv12\n", argv[0]);
        return 64;
    }
    size_t size;
    uint8_t *stream = read_file(argv[1], &size);
    FILE *out = fopen(argv[2], "wb");
    if (!out) {
        perror(argv[2]);
        return 73;
    }
    hwd_daemon *daemon;
    check(hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon), "hwd_open");

    hwd_decompression_config config;
    HWD_INIT(config);
    config.format = stream; /* packets have the framing of the format description: here start codes */
    config.format_size = parameter_sets_size(stream, size);
    config.time_base.numerator = 1;
    config.time_base.denominator = 30;
    config.pixel_format = HWD_NV12;
    hwd_session *session;
    check(hwd_decompression_create(daemon, &config, &session), "hwd_decompression_create");

    for (size_t start = 0, end; start < size; start = end) {
        end = end_of_picture(stream, size, start);
        hwd_packet packet;
        HWD_INIT(packet);
        packet.data = stream + start;
        packet.data_size = (uint32_t)(end - start);
        packet.pts = HWD_NO_PTS; /* a byte stream has no times; pictures come in presentation order all the same */
        check(hwd_decode(session, &packet, HWD_DEFAULT_TIMEOUT), "hwd_decode");
        drain(session, out, 0);
    }
    check(hwd_complete(session, 0, HWD_DEFAULT_TIMEOUT), "hwd_complete");
    drain(session, out, HWD_DEFAULT_TIMEOUT);

    hwd_destroy(session);
    hwd_close(daemon);
    free(stream);
    if (fclose(out) != 0) {
        perror(argv[2]);
        return 74;
    }
    return 0;
}
