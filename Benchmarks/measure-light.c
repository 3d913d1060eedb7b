// SPDX-License-Identifier: GPL-2.0-or-later
// Times hwd_measure_light on 1080p pictures of noise, on one thread. Built by hdr.py with the loops in Sources/Shaders/CPixels.
// The table follows Color/LightMeasure.swift, so that lookups are spread as they are for real pictures.
#include "CPixels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { width = 1920, height = 1080, rounds = 100 };

static const double steps = 512, lowest = -32;

static uint16_t codes[32768];

static double pq(double nits) {
    const double p = pow(nits / 10000, 2610.0 / 16384);
    return pow((0.8359375 + 18.8515625 * p) / (1 + 18.6875 * p), 78.84375);
}

static void fill_table(hwd_light_plan *plan) {
    plan->scale = (float)steps, plan->gain = (float)(0.2 * steps);
    plan->offset = (float)(-1.2 * lowest * steps + 0.5);
    plan->least = (float)exp2(lowest);
    plan->top = (int)plan->offset;
    for (int i = 0; i <= plan->top; i++)
        codes[i] = (uint16_t)lround(4095 * pq(1000 * exp2(i / steps + 1.2 * lowest)));
    plan->codes = codes;
}

/// BT.2020's matrix from codes of video range.
static void fill_matrix(hwd_light_plan *plan, double scale) {
    const double kr = 0.2627, kb = 0.0593, kg = 1 - kr - kb, y = 1 / (219 * scale), c = 1 / (224 * scale);
    const double rows[3][3] = {{y, 0, 2 * (1 - kr) * c},
        {y, -2 * kb * (1 - kb) / kg * c, -2 * kr * (1 - kr) / kg * c}, {y, 2 * (1 - kb) * c, 0}};
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) plan->to_rgb[4 * row + column] = (float)rows[row][column];
        plan->to_rgb[4 * row + 3] = (float)(-16 * scale * rows[row][0] - 128 * scale * (rows[row][1] + rows[row][2]));
    }
    plan->weights[0] = 0.2627f;
    plan->weights[1] = 0.678f;
    plan->weights[2] = 0.0593f;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times) {
    qsort(times, rounds, sizeof *times, compare);
    return times[rounds / 2];
}

/// Prints the median of the CPU time of one picture, and of one copy of its bytes, in milliseconds.
static void measure(const char *format) {
    hwd_light_plan plan = {.width = width / 2, .height = height / 2};
    plan.source.words = strstr(format, "10") != NULL;
    plan.source.interleaved = strcmp(format, "P010") == 0 || strcmp(format, "NV12") == 0;
    plan.source.shift = strcmp(format, "P010") == 0 ? 6 : 0;
    fill_table(&plan);
    fill_matrix(&plan, plan.source.words ? 4 : 1);
    const size_t size = plan.source.words ? 2 : 1, luma = (size_t)width * height * size;
    uint8_t *memory = malloc(luma * 3 / 2), *copy = malloc(luma * 3 / 2);
    static uint32_t counts[2 * HWD_LIGHT_CODES];
    if (!memory || !copy) exit(1);
    memset(copy, 0, luma * 3 / 2);
    for (size_t i = 0; i < luma * 3 / 2 / size; i++) {
        const int code = i < luma / size ? 300 + (int)(i % width) / 4 + rand() % 40 : 480 + rand() % 64;
        if (size == 2) ((uint16_t *)(void *)memory)[i] = (uint16_t)(code << plan.source.shift);
        else memory[i] = (uint8_t)(code / 4);
    }
    const size_t chroma = (size_t)width * size / (plan.source.interleaved ? 1 : 2);
    const hwd_plane planes[3] = {{memory, width * size}, {memory + luma, chroma}, {memory + luma * 5 / 4, chroma}};
    double times[rounds], copies[rounds];
    for (int i = 0; i < rounds; i++) {
        memset(counts, 0, sizeof counts);
        const double start = seconds();
        hwd_measure_light(&plan, planes, counts);
        const double measured = seconds();
        memcpy(copy, memory, luma * 3 / 2);
        times[i] = (measured - start) * 1000;
        copies[i] = (seconds() - measured) * 1000;
    }
    // Without its result the copy could be left out.
    volatile uint8_t last = copy[luma];
    (void)last;
    printf("%s %.3f %.3f\n", format, median(times), median(copies));
    free(memory);
    free(copy);
}

int main(void) {
    const char *formats[] = {"P010", "I010", "NV12", "YU12"};
    for (int i = 0; i < 4; i++) measure(formats[i]);
    return 0;
}
