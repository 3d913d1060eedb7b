// SPDX-License-Identifier: GPL-2.0-or-later
// Which options hardware serves, and several encoders at once.
#include "tests.h"

#include <pthread.h>

static void encode_some(run *at, int count) {
    x265_picture picture;
    for (int i = 0; i < count; i++) {
        fill_picture(at, &picture, i);
        CHECK(give(at, &picture, NULL, NULL) >= 0);
    }
    flush_run(at);
    check_results(at);
}

// No preset and no tune sets an option that hardware refuses, except those that measure.
void test_presets(void) {
    for (int i = 0; x265_preset_names[i]; i++) {
        run at;
        open_run(&at, i % 2 ? 10 : 8, x265_preset_names[i], NULL, "");
        CHECK(is_hardware(&at));
        close_run(&at);
    }
    for (int i = 0; x265_tune_names[i]; i++) {
        run at;
        open_run(&at, 8, "fast", x265_tune_names[i], "");
        CHECK(is_hardware(&at));
        close_run(&at);
    }
}

void test_refusals(void) {
    static const char *const refused[] = {
        "lossless=1", "hrd=1;vbv-bufsize=300;vbv-maxrate=300;bitrate=300", "hash=1", "psnr=1", "interlace=tff", "crf=45", "crf=1", "keyint=-1",
        "temporal-layers=1", "slices=2", "cbqpoffs=2", "nr-intra=100", "intra-refresh=1", "constrained-intra=1", "pass=1;stats=two-pass.stats;bitrate=300",
        "zones=0,5,q=20", "input-csp=i444", "fps=90000", "vbv-end=0.5;vbv-bufsize=300;vbv-maxrate=300", "videoformat=pal", "overscan=show",
        "atc-sei=18", "scaling-list=default", "crf-max=30;vbv-bufsize=300;vbv-maxrate=300", "max-luma=200", "idr-recovery-sei=1",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        run at;
        open_run(&at, 8, "ultrafast", NULL, refused[i]);
        if (is_hardware(&at)) {
            fprintf(stderr, "%s is taken by hardware\n", refused[i]);
            exit(1);
        }
        close_run(&at);
    }
    // An encoder of libx265 works through every entry.
    run at;
    x265_param found;
    x265_stats statistics;
    x265_nal *nals;
    uint32_t count;
    open_run(&at, 10, "ultrafast", NULL, "hash=1");
    at.api->encoder_parameters(at.encoder, &found);
    CHECK(found.decodedPictureHashSEI == 1 && at.api->encoder_headers(at.encoder, &nals, &count) > 0);
    encode_some(&at, 20);
    at.api->encoder_get_stats(at.encoder, &statistics, sizeof statistics);
    CHECK(statistics.encodedPictureCount == 20);
    CHECK(at.api->encoder_reconfig(at.encoder, &found) == 0);
    close_run(&at);
}

static void *encode_in_thread(void *context) {
    static const char *const options[] = {"bitrate=200", "qp=30", "crf=25;bframes=0", "hash=1"};
    int number = (int)(intptr_t)context;
    run at;
    open_run(&at, number % 2 ? 10 : 8, "ultrafast", NULL, options[number % 4]);
    CHECK(is_hardware(&at) == (number % 4 != 3));
    encode_some(&at, 40);
    close_run(&at);
    return NULL;
}

void test_threads(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, encode_in_thread, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}
