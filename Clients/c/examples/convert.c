/* SPDX-License-Identifier: MIT */
/*
 * Converts raw P010 frames of HDR video (BT.2020, PQ) to 8-bit sRGB, bytes R, G, B, A, tone-mapped.
 *
 *     cc convert.c $(pkg-config --cflags --libs hwdaemon) -o hwd-convert
 *     ./hwd-convert 1920x1080 in.p010 out.rgba
 */
#include <hwdaemon.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "%s: %s (%s)\n", what, hwd_last_error(), hwd_status_name(result));
    exit(1);
}

/* Reads (or writes) one frame in memory that begins at `memory`; 0 at the end of the file. */
static int copy_frame(FILE *file, int writes, uint8_t *memory, const hwd_plane *planes, int count) {
    for (int i = 0; i < count; i++) {
        for (uint32_t row = 0; row < planes[i].rows; row++) {
            uint8_t *bytes = memory + planes[i].offset + (size_t)row * planes[i].stride;
            size_t size = planes[i].row_bytes;
            if ((writes ? fwrite(bytes, 1, size, file) : fread(bytes, 1, size, file)) != size) return 0;
        }
    }
    return 1;
}

static hwd_session *create(hwd_daemon *daemon, uint32_t width, uint32_t height) {
    hwd_transfer_config config;
    HWD_INIT(config);
    config.width = width;
    config.height = height;
    config.source.pixel_format = HWD_P010;
    config.source.primaries = "2020";
    config.source.transfer = "pq";
    config.source.matrix = "2020";
    config.target.pixel_format = HWD_AB24;
    config.target.primaries = "709";
    config.target.transfer = "srgb";
    config.options = "{\"target_headroom\": 1}"; /* highlights are mapped to reference white */
    hwd_session *session;
    check(hwd_transfer_create(daemon, &config, &session), "hwd_transfer_create");
    return session;
}

/* Adds memory of this program to the session, which reads or writes it in place; its number there. */
static uint32_t add(hwd_session *session, uint64_t size, hwd_pool **pool) {
    check(hwd_pool_create(size, pool), "hwd_pool_create");
    int number = hwd_add_pool(session, *pool, HWD_DEFAULT_TIMEOUT);
    check(number, "hwd_add_pool");
    return (uint32_t)number;
}

/* Converts a frame. One at a time: several in flight, in memory of their own, would keep a GPU busy. */
static void convert(hwd_session *session, hwd_transfer *frame) {
    hwd_event event;
    HWD_INIT(event);
    check(hwd_transfer_submit(session, frame, HWD_DEFAULT_TIMEOUT), "hwd_transfer_submit");
    int result = hwd_next_event(session, &event, HWD_DEFAULT_TIMEOUT);
    check(result, "the session");
    if (result == 0 || event.status != 0) {
        fprintf(stderr, "%s\n", result == 0 ? "no answer came in time" : event.reason);
        exit(1);
    }
    check(hwd_release(session, &event), "hwd_release");
}

int main(int argc, char **argv) {
    unsigned width, height;
    if (argc != 4 || sscanf(argv[1], "%ux%u", &width, &height) != 2) {
        fprintf(stderr, "usage: %s WIDTHxHEIGHT IN.p010 OUT.rgba\n", argv[0]);
        return 64;
    }
    FILE *in = fopen(argv[2], "rb"), *out = fopen(argv[3], "wb");
    if (!in || !out) {
        perror(in ? argv[3] : argv[2]);
        return 66;
    }
    hwd_daemon *daemon;
    check(hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon), "hwd_open");

    hwd_session *session = create(daemon, width, height);

    hwd_transfer frame;
    uint64_t source_size, target_size;
    hwd_pool *source, *target;
    HWD_INIT(frame);
    check(hwd_layout(HWD_P010, width, height, 0, frame.source, &source_size), "hwd_layout");
    check(hwd_layout(HWD_AB24, width, height, 0, frame.target, &target_size), "hwd_layout");
    frame.source_plane_count = 2;
    frame.target_plane_count = 1;
    frame.source_pool = add(session, source_size, &source);
    frame.target_pool = add(session, target_size, &target);

    while (copy_frame(in, 0, hwd_pool_data(source), frame.source, 2)) {
        convert(session, &frame);
        if (!copy_frame(out, 1, hwd_pool_data(target), frame.target, 1)) {
            perror(argv[3]);
            return 74;
        }
    }
    hwd_destroy(session);
    hwd_pool_unref(source);
    hwd_pool_unref(target);
    hwd_close(daemon);
    fclose(in);
    if (fclose(out) != 0) {
        perror(argv[3]);
        return 74;
    }
    return 0;
}
