// SPDX-License-Identifier: MIT
// The runner of Tests/Clients/cases.json over the C library.
#ifndef CASES_H
#define CASES_H

#include "base/internal.h"

#include <stdio.h>

enum { TICKS = 3000, MAX_RESULTS = 64, TIMEOUT = 120000 };

typedef struct coded {
    uint8_t *bytes;
    hwd_event event;
} coded;

typedef struct shown {
    hwd_event event;
    double luma_error, alpha_error;
    uint8_t *side_data[HWD_MAX_SIDE_DATA];
} shown;

typedef struct runner {
    hwd_daemon *daemon;
    hwd_session *session;
    hwd_session_info info;
    uint32_t target_format;
    uint32_t frame_width, frame_height, frame_format; // of the last compression session
    int frames_sent, first_frame;

    uint8_t format[65536];
    size_t format_size;
    coded packets[MAX_RESULTS];
    int packet_count;
    shown pictures[MAX_RESULTS];
    int picture_count;
    hwd_event reports[MAX_RESULTS];
    int report_count;
    int statuses[MAX_RESULTS];
    int status_count;
    hwd_pool *source, *target;
    int source_number, target_number, transfers;
    hwd_plane last_target;
} runner;

// The value of an 8-bit sample that the table describes.
uint8_t sample(int plane, uint32_t row, uint32_t i, int64_t frame);
// Ends the program with a sentence.
void stop(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

// Members of a step; the second argument of each is what an absent member means.
int64_t integer(json step, const char *name, int64_t otherwise);
bool truth(json step, const char *name);
bool has(json step, const char *name);
// Whether an array of numbers contains one.
bool contains(json step, const char *name, int64_t number);
char *string(json step, const char *name);
uint32_t fourcc(json step, const char *name);
size_t hex_bytes(json step, const char *name, uint8_t *out, size_t capacity);
hwd_color color_of(json step);

// Steps: each returns the result of the library.
int do_change_effects(runner *run, json step);
int do_create(runner *run, json step);
int do_encode(runner *run, json step);
int do_complete(runner *run, json step);
int do_decode(runner *run, json step);
int do_transfer(runner *run, json step);
int do_wait_for_end(runner *run, json step);
void keep_event(runner *run, const hwd_event *event);
void forget_results(runner *run, uint32_t kind);

// Checks of results: they stop the program at a fault.
int check_packets(runner *run, json step);
int check_pictures(runner *run, json step);
int check_transferred(runner *run, json step);

#endif
