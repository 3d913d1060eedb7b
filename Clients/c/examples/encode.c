/* SPDX-License-Identifier: MIT */
/*
 * Encodes raw NV12 frames to HEVC.
 *
 *     cc encode.c $(pkg-config --cflags --libs hwdaemon) -o hwd-encode
 *     ./hwd-encode 1280x720 30 in.nv12 out.hevc
 */
#include <errno.h>
#include <hwdaemon.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "%s: %s (%s)\n", what, hwd_last_error(), hwd_status_name(result));
    exit(1);
}

/* Reads one frame, plane by plane, row by row; rows in shared memory may be further apart than they are long. */
static int read_frame(FILE *in, const hwd_frame *frame) {
    for (uint32_t i = 0; i < frame->plane_count; i++) {
        const hwd_plane *plane = &frame->planes[i];
        for (uint32_t row = 0; row < plane->rows; row++)
            if (fread(plane->data + (size_t)row * plane->stride, 1, plane->row_bytes, in) != plane->row_bytes) return 0;
    }
    return 1;
}

static void write_bytes(FILE *out, const void *bytes, size_t size) {
    if (fwrite(bytes, 1, size, out) == size) return;
    perror("the output");
    exit(1);
}

/* Writes what is ready; with a timeout, up to the event that hwd_complete requested. */
static void drain(hwd_session *session, FILE *out, int timeout_ms) {
    hwd_event event;
    int result;
    HWD_INIT(event);
    while ((result = hwd_next_event(session, &event, timeout_ms)) > 0) {
        /* A packet, or the parameter sets, which a file that other programs play needs before the first picture; else nothing. */
        uint8_t *stream;
        size_t size;
        check(hwd_byte_stream(&event, &stream, &size), "an event");
        write_bytes(out, stream, size);
        hwd_free(stream);
        /* The encoder waits while all its packets are held. */
        check(hwd_release(session, &event), "hwd_release");
        if (event.type == HWD_EVENT_COMPLETED) return;
    }
    check(result, "the session");
}

static hwd_session *create(hwd_daemon *daemon, uint32_t width, uint32_t height, int rate) {
    hwd_compression_config config;
    HWD_INIT(config);
    config.width = width;
    config.height = height;
    config.pixel_format = HWD_NV12;
    config.time_base.numerator = 1;
    config.time_base.denominator = rate;
    config.properties = "{\"Quality\": 0.6, \"MaxKeyFrameIntervalDuration\": 2}";
    hwd_session *session;
    check(hwd_compression_create(daemon, &config, &session), "hwd_compression_create");

    hwd_session_info info;
    HWD_INIT(info);
    check(hwd_get_info(session, &info), "hwd_get_info");
    fprintf(stderr, "%s%s%s\n", info.codec_id, info.fallback_reason ? ": " : "", info.fallback_reason ? info.fallback_reason : "");
    return session;
}

int main(int argc, char **argv) {
    unsigned width, height;
    int rate = argc == 5 ? atoi(argv[2]) : 0;
    if (argc != 5 || sscanf(argv[1], "%ux%u", &width, &height) != 2 || rate < 1) {
        fprintf(stderr, "usage: %s WIDTHxHEIGHT FRAMES_PER_SECOND IN.nv12 OUT.hevc\n", argv[0]);
        return 64;
    }
    FILE *in = fopen(argv[3], "rb"), *out = fopen(argv[4], "wb");
    if (!in || !out) {
        perror(in ? argv[4] : argv[3]);
        return 66;
    }

    /* The machine's daemon, or one that ends with this program. */
    hwd_daemon *daemon;
    check(hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon), "hwd_open");

    hwd_session *session = create(daemon, width, height, rate);
    hwd_frame frame;
    HWD_INIT(frame);
    for (int64_t number = 0;; number++) {
        /* A place in shared memory: the encoder reads it there, nothing is copied. */
        int result;
        while ((result = hwd_acquire_frame(session, &frame, 0)) == -EAGAIN) drain(session, out, 10);
        check(result, "hwd_acquire_frame");
        if (!read_frame(in, &frame)) break;
        frame.pts = number; /* in units of the time base */
        frame.duration = 1;
        check(hwd_encode(session, &frame, HWD_DEFAULT_TIMEOUT), "hwd_encode");
        drain(session, out, 0);
    }
    hwd_discard_frame(session, &frame);
    check(hwd_complete(session, HWD_ALL_FRAMES, HWD_DEFAULT_TIMEOUT), "hwd_complete");
    drain(session, out, HWD_DEFAULT_TIMEOUT);

    hwd_destroy(session);
    hwd_close(daemon);
    if (fclose(out) != 0) {
        perror(argv[4]);
        return 74;
    }
    fclose(in);
    return 0;
}
