/* SPDX-License-Identifier: MIT */
/*
 * Encodes raw NV12 frames to a movie that plays even if this program is killed; `hwctl repair` finishes such a file.
 *
 *     cc record.c $(pkg-config --cflags --libs hwdaemon) -o hwd-record
 *     ./hwd-record 1280x720 30 in.nv12 out.mov
 */
#include <errno.h>
#include <hwdaemon-movie.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "%s: %s (%s)\n", what, hwd_last_error(), hwd_status_name(result));
    exit(1);
}

static int read_frame(FILE *in, const hwd_frame *frame) {
    for (uint32_t i = 0; i < frame->plane_count; i++) {
        const hwd_plane *plane = &frame->planes[i];
        for (uint32_t row = 0; row < plane->rows; row++)
            if (fread(plane->data + (size_t)row * plane->stride, 1, plane->row_bytes, in) != plane->row_bytes) return 0;
    }
    return 1;
}

/* Records what is ready, or comes in time; the result is 1 after the event that hwd_complete requested. */
static int drain(hwd_session *session, hwd_movie *movie, hwd_movie_video *video, int timeout_ms) {
    static int track = -1;
    hwd_event event;
    int result;
    HWD_INIT(event);
    while ((result = hwd_next_event(session, &event, timeout_ms)) > 0) {
        if (event.type == HWD_EVENT_FORMAT) {
            /* It comes before the first packet, and again where the packets that follow need another. */
            video->format = event.data;
            video->format_size = event.data_size;
            if (track < 0)
                check(track = hwd_movie_add_video(movie, video), "hwd_movie_add_video");
            else
                check(hwd_movie_change_format(movie, track, event.data, event.data_size), "hwd_movie_change_format");
        } else if (event.type == HWD_EVENT_PACKET) {
            hwd_movie_packet packet;
            HWD_INIT(packet);
            packet.data = event.data;
            packet.data_size = event.data_size;
            packet.pts = event.pts;
            packet.dts = event.dts;
            packet.duration = event.duration;
            check(hwd_movie_append(movie, track, &packet), "hwd_movie_append");
        }
        check(hwd_release(session, &event), "hwd_release");
        if (event.type == HWD_EVENT_COMPLETED) return 1;
    }
    check(result, "the session");
    return 0;
}

static hwd_session *create(hwd_daemon *daemon, const hwd_movie_video *video, int rate) {
    hwd_compression_config config;
    HWD_INIT(config);
    config.width = video->width;
    config.height = video->height;
    config.pixel_format = HWD_NV12;
    config.time_base.numerator = 1;
    config.time_base.denominator = rate;
    config.properties = "{\"Quality\": 0.6, \"MaxKeyFrameIntervalDuration\": 2}";
    hwd_session *session;
    check(hwd_compression_create(daemon, &config, &session), "hwd_compression_create");
    return session;
}

int main(int argc, char **argv) {
    hwd_movie_video video;
    HWD_INIT(video);
    int rate = argc == 5 ? atoi(argv[2]) : 0;
    if (argc != 5 || sscanf(argv[1], "%ux%u", &video.width, &video.height) != 2 || rate < 1) {
        fprintf(stderr, "usage: %s WIDTHxHEIGHT FRAMES_PER_SECOND IN.nv12 OUT.mov\n", argv[0]);
        return 64;
    }
    video.time_scale = (uint32_t)rate; /* the session's time base */
    FILE *in = fopen(argv[3], "rb");
    if (!in) {
        perror(argv[3]);
        return 66;
    }
    hwd_daemon *daemon;
    check(hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon), "hwd_open");
    hwd_session *session = create(daemon, &video, rate);
    /* After the session: a file that exists is emptied. */
    hwd_movie *movie;
    check(hwd_movie_create(argv[4], HWD_MOVIE_REPLACE, &movie), "hwd_movie_create");
    hwd_frame frame;
    HWD_INIT(frame);
    for (int64_t number = 0;; number++) {
        int result;
        while ((result = hwd_acquire_frame(session, &frame, 0)) == -EAGAIN) drain(session, movie, &video, 10);
        check(result, "hwd_acquire_frame");
        if (!read_frame(in, &frame)) break;
        frame.pts = number;
        frame.duration = 1;
        check(hwd_encode(session, &frame, HWD_DEFAULT_TIMEOUT), "hwd_encode");
        drain(session, movie, &video, 0);
    }
    hwd_discard_frame(session, &frame);
    check(hwd_complete(session, HWD_ALL_FRAMES, HWD_DEFAULT_TIMEOUT), "hwd_complete");
    if (!drain(session, movie, &video, HWD_DEFAULT_TIMEOUT)) {
        fprintf(stderr, "the session does not end in time; %s is not finished\n", argv[4]);
        return 1;
    }
    check(hwd_movie_finish(movie), "hwd_movie_finish");
    hwd_movie_close(movie);
    hwd_destroy(session);
    hwd_close(daemon);
    fclose(in);
    return 0;
}
