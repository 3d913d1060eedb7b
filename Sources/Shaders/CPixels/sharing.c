// SPDX-License-Identifier: GPL-2.0-or-later
// The machine's instruction set and processors, and the division of a picture among threads.
#define _GNU_SOURCE
#include "kernels.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

/// The least number of pixels for another thread: starting one takes as long as converting about ten thousand pixels.
static const long minimum_share = 256 * 1024;
enum { maximum_threads = 64 };

/// Several shares for each thread, so that a thread that is interrupted leaves its work to the others.
enum { SHARES_OF_THREAD = 2 };

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

/// Rows that threads share: each takes the next share until none is left.
typedef struct job {
    hwd_row_work *work;
    const void *context;
    int rows, unit;
    int count;          ///< shares
    int next;           ///< the first share that no thread has taken
    int helpers, most;  ///< threads beside the caller's, now and at most
    int niceness, policy;  ///< of the caller's thread
    bool done;          ///< false when a share ran out of memory
    pthread_cond_t left;
    struct job *following;
} job;

// Helpers wait a while for another job. The child of a fork has none, although it counts them: its callers do all shares.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static job *jobs;  // with shares that no thread has taken
static int waiting, helpers;
enum { SECONDS_OF_WAITING = 1 };

// The functions below are called, and return, with the lock held.

static void remove_job(const job *own) {
    job **at = &jobs;
    while (*at != own) at = &(*at)->following;
    *at = own->following;
}

static void do_shares(job *own) {
    const long units = (own->rows + own->unit - 1) / own->unit;
    while (own->next < own->count) {
        const int share = own->next++;
        if (own->next == own->count) remove_job(own);
        pthread_mutex_unlock(&lock);
        const int first = (int)(units * share / own->count) * own->unit;
        const int end = (int)(units * (share + 1) / own->count) * own->unit;
        const bool done = own->work(own->context, first, end > own->rows ? own->rows : end);
        pthread_mutex_lock(&lock);
        own->done = own->done && done;
    }
}

static job *job_for_helper(void) {
    job *found = jobs;
    while (found && found->helpers == found->most) found = found->following;
    return found;
}

static bool wait_for_job(void) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SECONDS_OF_WAITING;
    int result = 0;
    waiting++;
    while (result == 0 && !job_for_helper()) result = pthread_cond_clockwait(&added, &lock, CLOCK_MONOTONIC, &until);
    waiting--;
    return job_for_helper();
}

/// Lowers the calling thread's priority where that of a job's caller is lower.
///
/// A helper has the priority of the thread that started it, and a session's priority may fall.
static void take_priority(const job *own) {
    if (getpriority(PRIO_PROCESS, 0) < own->niceness) setpriority(PRIO_PROCESS, 0, own->niceness);
    const struct sched_param none = {0};
    if (own->policy == SCHED_BATCH && sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}

static void *help(void *unused) {
    pthread_mutex_lock(&lock);
    while (wait_for_job()) {
        job *own = job_for_helper();
        own->helpers++;
        take_priority(own);
        do_shares(own);
        // The caller returns once no helper is left, and the job is gone.
        if (--own->helpers == 0) pthread_cond_signal(&own->left);
    }
    helpers--;
    pthread_mutex_unlock(&lock);
    return unused;
}

/// Wakes helpers and starts those that are missing.
static void call_helpers(int wanted) {
    int missing = wanted - waiting;
    for (int i = 0; i < wanted; i++) pthread_cond_signal(&added);
    if (missing > maximum_threads - helpers) missing = maximum_threads - helpers;
    if (missing <= 0) return;
    helpers += missing;
    pthread_mutex_unlock(&lock);
    pthread_attr_t attributes;
    int started = 0;
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_t thread;
        // If a thread cannot be started, the others do its share.
        while (started < missing && pthread_create(&thread, &attributes, help, NULL) == 0) started++;
        pthread_attr_destroy(&attributes);
    }
    pthread_mutex_lock(&lock);
    helpers -= missing - started;
}

bool hwd_share_rows(hwd_row_work *work, const void *context, int rows, long pixels, int unit, int threads) {
    long count = pixels / minimum_share + 1;
    if (count > threads) count = threads;
    if (count > maximum_threads) count = maximum_threads;
    if (count <= 1) return work(context, 0, rows);
    job own = {
        .work = work, .context = context, .rows = rows, .unit = unit, .count = (int)count * SHARES_OF_THREAD,
        .most = (int)count - 1, .niceness = getpriority(PRIO_PROCESS, 0), .policy = sched_getscheduler(0),
        .done = true, .left = PTHREAD_COND_INITIALIZER,
    };
    pthread_mutex_lock(&lock);
    own.following = jobs;
    jobs = &own;
    call_helpers(own.most);
    do_shares(&own);
    while (own.helpers > 0) pthread_cond_wait(&own.left, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&own.left);
    return own.done;
}
