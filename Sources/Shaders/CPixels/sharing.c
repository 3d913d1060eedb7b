// SPDX-License-Identifier: GPL-2.0-or-later
// The machine's instruction set and processors, and the division of a picture among threads.
#define _GNU_SOURCE
#include "kernels.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <strings.h>

/// The least number of pixels for another thread: starting one takes as long as converting about ten thousand pixels.
static const long minimum_share = 256 * 1024;
enum { maximum_threads = 64 };

static const char *const names[] = {"baseline", "AVX2", "AVX-512"};
static int limit = 2;

__attribute__((constructor)) static void read_limit(void) {
    const char *wanted = getenv("HWDAEMON_INSTRUCTIONS");
    for (int level = 0; wanted && level < 2; level++)
        if (!strcasecmp(wanted, names[level])) limit = level;
}

int hwd_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (limit >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return 2;
    if (limit >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
        && __builtin_cpu_supports("f16c"))
        return 1;
#endif
    return 0;
}

void hwd_limit_instructions(int level) { limit = level; }

const char *hwd_instructions(void) { return names[hwd_level()]; }

int hwd_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

typedef struct {
    hwd_row_work *work;
    const void *context;
    int first, end;
    bool done;
} share;

static void *run(void *argument) {
    share *own = argument;
    own->done = own->work(own->context, own->first, own->end);
    return NULL;
}

bool hwd_share_rows(
    hwd_row_work *work, const void *context, int rows, long pixels, int unit, int threads) {
    long count = pixels / minimum_share + 1;
    if (count > threads) count = threads;
    if (count > maximum_threads) count = maximum_threads;
    if (count < 1) count = 1;
    share shares[maximum_threads];
    pthread_t started[maximum_threads];
    bool runs[maximum_threads];
    const int units = (rows + unit - 1) / unit;
    for (long i = 0; i < count; i++) {
        const int first = (int)(units * i / count) * unit, end = (int)(units * (i + 1) / count) * unit;
        shares[i] = (share){work, context, first, end > rows ? rows : end, false};
        // If a thread cannot be started, this one does its share.
        runs[i] = i > 0 && pthread_create(&started[i], NULL, run, &shares[i]) == 0;
    }
    for (long i = 0; i < count; i++)
        if (!runs[i]) run(&shares[i]);
    bool done = true;
    for (long i = 0; i < count; i++) {
        if (runs[i]) pthread_join(started[i], NULL);
        done = done && shares[i].done;
    }
    return done;
}
