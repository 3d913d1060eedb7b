// SPDX-License-Identifier: MIT
// cost ADDRESS: what the library itself costs: Create, and the client's CPU time of a 1080p frame beside one copy of it.
#define _GNU_SOURCE
#include <hwdaemon.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static void check(int result) {
    if (result >= 0) return;
    fprintf(stderr, "cost: %s\n", hwd_last_error());
    exit(1);
}

static double clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static hwd_session *create(hwd_daemon *daemon, uint32_t width, uint32_t height) {
    hwd_compression_config config;
    hwd_session *session;
    HWD_INIT(config);
    config.width = width, config.height = height, config.pixel_format = HWD_NV12;
    config.time_base.numerator = 1, config.time_base.denominator = 30;
    config.properties = "{\"X265Preset\": \"ultrafast\", \"RealTime\": true}";
    check(hwd_compression_create(daemon, &config, &session));
    return session;
}

static void fetch(hwd_session *session, int timeout_ms) {
    hwd_event event;
    int result;
    HWD_INIT(event);
    while ((result = hwd_next_event(session, &event, timeout_ms)) > 0) {
        check(hwd_release(session, &event));
        if (event.type == HWD_EVENT_COMPLETED) return;
    }
    check(result);
}

int main(int argc, char **argv) {
    enum { CREATES = 40, FRAMES = 90, SIZE = 1920 * 1080 * 3 / 2 };
    hwd_daemon *daemon;
    if (argc < 2) return 64;
    check(hwd_open(argv[1], 0, &daemon));
    double times[CREATES];
    for (int i = 0; i < CREATES; i++) {
        // A worker starts ahead of the next session.
        struct timespec pause = {0, 30000000};
        nanosleep(&pause, NULL);
        double start = clock_ms(CLOCK_MONOTONIC);
        hwd_session *session = create(daemon, 1920, 1080);
        times[i] = clock_ms(CLOCK_MONOTONIC) - start;
        hwd_destroy(session);
    }
    qsort(times, CREATES, sizeof *times, compare);
    uint8_t *source = malloc(SIZE);
    memset(source, 100, SIZE);
    hwd_session *session = create(daemon, 1920, 1080);
    double library = 0, copies = 0;
    for (int number = 0; number < FRAMES; number++) {
        hwd_frame frame;
        HWD_INIT(frame);
        double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
        check(hwd_acquire_frame(session, &frame, HWD_DEFAULT_TIMEOUT));
        double acquired = clock_ms(CLOCK_THREAD_CPUTIME_ID);
        memcpy(frame.planes[0].data, source, 1920 * 1080);
        memcpy(frame.planes[1].data, source + 1920 * 1080, 1920 * 540);
        double copied = clock_ms(CLOCK_THREAD_CPUTIME_ID);
        frame.pts = number;
        check(hwd_encode(session, &frame, HWD_DEFAULT_TIMEOUT));
        fetch(session, 0);
        library += clock_ms(CLOCK_THREAD_CPUTIME_ID) - copied + acquired - start;
        copies += copied - acquired;
    }
    check(hwd_complete(session, HWD_ALL_FRAMES, HWD_DEFAULT_TIMEOUT));
    fetch(session, HWD_DEFAULT_TIMEOUT);
    hwd_destroy(session);
    hwd_close(daemon);
    free(source);
    printf("cost: Create takes %.2f ms (median); a 1080p frame %.3f ms of the client's CPU, and its copy %.3f ms\n",
           times[CREATES / 2], library / FRAMES, copies / FRAMES);
    return 0;
}
