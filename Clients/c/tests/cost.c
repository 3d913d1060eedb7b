// SPDX-License-Identifier: MIT
// What the library itself costs; each subcommand prints one JSON object. Benchmarks/clients.py makes a table.
//
//     cost load LIBRARY         dlopen and dlclose
//     cost create ADDRESS N     from connect to the reply of Create and to the open encoder, N times
//     cost frame ADDRESS N      this process's CPU time of a 1080p frame, beside one copy of it, N times
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hwdaemon.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

static double *make_times(int count) {
    double *times = calloc((size_t)count, sizeof *times);
    if (!times) exit(1);
    return times;
}

// The value that half of the values do not exceed; frees them.
static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    double value = values[count / 2];
    free(values);
    return value;
}

static hwd_session *create(hwd_daemon *daemon, const char *properties) {
    hwd_compression_config config;
    hwd_session *session;
    HWD_INIT(config);
    config.width = 1920, config.height = 1080, config.pixel_format = HWD_NV12;
    config.time_base.numerator = config.time_base.denominator = 1;
    config.specification = "{\"EnableHardwareAcceleratedVideoEncoder\": false}";
    config.properties = properties;
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

static void measure_load(const char *library) {
    enum { COUNT = 200 };
    double *times = make_times(COUNT);
    for (int i = 0; i < COUNT; i++) {
        double start = clock_ms(CLOCK_MONOTONIC);
        void *loaded = dlopen(library, RTLD_NOW);
        times[i] = clock_ms(CLOCK_MONOTONIC) - start;
        if (!loaded) {
            fprintf(stderr, "cost: %s\n", dlerror());
            exit(1);
        }
        dlclose(loaded);
    }
    printf("{\"dlopen_p50_ms\": %.4f}\n", median(times, COUNT));
}

// The same as Benchmarks/Sources/session-bench does with the client in Swift.
static void measure_create(hwd_daemon *daemon, int count) {
    double *created = make_times(count), *prepared = make_times(count);
    for (int i = 0; i < count; i++) {
        double start = clock_ms(CLOCK_MONOTONIC);
        hwd_session *session = create(daemon, "{\"X265Preset\": \"medium\"}");
        created[i] = clock_ms(CLOCK_MONOTONIC) - start;
        check(hwd_prepare(session, HWD_DEFAULT_TIMEOUT));
        prepared[i] = clock_ms(CLOCK_MONOTONIC) - start;
        hwd_destroy(session);
        // Keeps the last worker's exit out of the next session's start.
        usleep(50000);
    }
    printf("{\"create_p50_ms\": %.4f, \"prepared_p50_ms\": %.4f}\n", median(created, count), median(prepared, count));
}

static void measure_frame(hwd_daemon *daemon, int count) {
    enum { LUMA = 1920 * 1080, SIZE = LUMA * 3 / 2, WARM_UP = 40 };
    double *library = make_times(count), *copies = make_times(count);
    uint8_t *source = malloc(SIZE);
    if (!source) exit(1);
    memset(source, 100, SIZE);
    hwd_session *session = create(daemon, "{\"X265Preset\": \"ultrafast\", \"RealTime\": true}");
    // The first frames touch their memory for the first time.
    for (int number = -WARM_UP; number < count; number++) {
        hwd_frame frame;
        HWD_INIT(frame);
        double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
        check(hwd_acquire_frame(session, &frame, HWD_DEFAULT_TIMEOUT));
        double acquired = clock_ms(CLOCK_THREAD_CPUTIME_ID);
        memcpy(frame.planes[0].data, source, LUMA);
        memcpy(frame.planes[1].data, source + LUMA, LUMA / 2);
        double copied = clock_ms(CLOCK_THREAD_CPUTIME_ID);
        frame.pts = number;
        check(hwd_encode(session, &frame, HWD_DEFAULT_TIMEOUT));
        fetch(session, 0);
        if (number < 0) continue;
        library[number] = clock_ms(CLOCK_THREAD_CPUTIME_ID) - copied + acquired - start;
        copies[number] = copied - acquired;
    }
    check(hwd_complete(session, HWD_ALL_FRAMES, HWD_DEFAULT_TIMEOUT));
    fetch(session, HWD_DEFAULT_TIMEOUT);
    hwd_destroy(session);
    free(source);
    printf("{\"frame_p50_ms\": %.4f, \"copy_p50_ms\": %.4f}\n", median(library, count), median(copies, count));
}

int main(int argc, char **argv) {
    hwd_daemon *daemon;
    int count = argc == 4 ? atoi(argv[3]) : 0;
    if (argc == 3 && !strcmp(argv[1], "load")) {
        measure_load(argv[2]);
    } else if (count > 0 && (!strcmp(argv[1], "create") || !strcmp(argv[1], "frame"))) {
        check(hwd_open(argv[2], 0, &daemon));
        (argv[1][0] == 'c' ? measure_create : measure_frame)(daemon, count);
        hwd_close(daemon);
    } else {
        fprintf(stderr, "usage: cost load LIBRARY | create ADDRESS N | frame ADDRESS N\n");
        return 64;
    }
    return 0;
}
