// SPDX-License-Identifier: MIT
// Tests of the library's rules; each ends the program at a fault.
#ifndef API_H
#define API_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <hwdaemon.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMEOUT = 120000 };

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "api: %s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, hwd_last_error());       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

// A compression session of 64x48 NV12 frames.
hwd_session *open_session(hwd_daemon *daemon);
// Encodes a gray frame of the session's own memory.
int encode(hwd_session *session, int64_t number, int timeout_ms);
// Fetches and releases up to the answer to hwd_complete; the number of packets.
int finish(hwd_session *session);
// Sends a signal to the process that serves the session; kills it.
void signal_worker(hwd_daemon *daemon, hwd_session *session, int number);
void kill_worker(hwd_daemon *daemon, hwd_session *session);

void test_structures(hwd_daemon *daemon);
void test_refused_sessions(hwd_daemon *daemon);
void test_misuse(hwd_daemon *daemon);
void test_refused_options(hwd_daemon *daemon);
void test_two_passes(hwd_daemon *daemon);
void test_descriptor(hwd_daemon *daemon);
void test_threads(hwd_daemon *daemon);
void test_invalidation(hwd_daemon *daemon);
void test_credits(hwd_daemon *daemon);
void test_own_pool(hwd_daemon *daemon);
void test_import(hwd_daemon *daemon);
void test_arena_as_pool(hwd_daemon *daemon);
void test_fork(hwd_daemon *daemon);
void test_private_daemon(void);
void test_peers(void);
void test_private_folder(void);
void test_decoders(hwd_daemon *daemon);

#endif
