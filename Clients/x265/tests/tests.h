/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_H
#define TESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x265.h>

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

enum { WIDTH = 128, HEIGHT = 96, MOST_PICTURES = 120 };

/* A picture that came back. */
typedef struct result {
    int64_t pts, dts;
    void *user_data;
    int type, sent; /* pictures that were sent when it came */
} result;

typedef struct run {
    const x265_api *api;
    x265_param *param;
    x265_encoder *encoder;
    result results[MOST_PICTURES];
    int sent, returned;
    uint8_t *planes[3];
} run;

/* An encoder of 8 or 10 bits whose options ("name=value:name=value") follow a preset and a tune. */
void open_run(run *at, int depth, const char *preset, const char *tune, const char *options);
void close_run(run *at);
/* Whether the session is in hardware: libx265 itself lets any encoder start an intra refresh. */
bool is_hardware(const run *at);
/* Fills `picture` with the next one, which has the pts that it is given. */
void fill_picture(run *at, x265_picture *picture, int64_t pts);
/* Gives a picture, or requests one that is left with NULL; what came back is recorded. Returns libx265's result. */
int give(run *at, x265_picture *picture, x265_nal **nals, uint32_t *count);
void flush_run(run *at);
/* Each picture came back once, with its data, at rising decoding times that are not after its presentation time. */
void check_results(const run *at);

void test_entries(void);
void test_streams(void);
void test_presets(void);
void test_refusals(void);
void test_threads(void);

#endif
