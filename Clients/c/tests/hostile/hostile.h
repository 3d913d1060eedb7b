// SPDX-License-Identifier: MIT
// Tests with workers that are no good; each ends the program at a fault.
#ifndef HOSTILE_H
#define HOSTILE_H

#include "hostile/fake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#define CHECK(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "hostile: %s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, hwd_last_error());         \
            exit(1);                                                                                               \
        }                                                                                                          \
    } while (0)

enum { TIMEOUT = 120000, SHORT = 200 };
enum { ADD_POOL = 3, REMOVE_POOL, ENCODE_FRAME = 6, RELEASE_PACKET = 8, REPLY = 64, FORMAT, ARENA, RELEASED, PACKET };

extern int listener, memory;
extern pthread_t serving; // the thread that plays the worker

// ---- The worker

// Waits until the app gives a signal.
void give_signal(void);
void await_signal(void);
void write_header(uint8_t *at, uint32_t opcode, uint32_t length, uint32_t fds);
bool reply_to(int fd, uint32_t message);
// Fills `bytes` with replies to message 1.
void write_replies(uint8_t *bytes, size_t size);
// Reads a message; its opcode, or 0 at the end. The payload's first bytes go to `payload`.
uint32_t read_message(int fd, uint8_t payload[128]);
void read_to_end(int fd);

// ---- The app

// Creates a compression session whose worker is played by a function.
hwd_session *open_session(void (*with)(int fd), int timeout_ms);
// Ends the session and waits for its worker.
void close_session(hwd_session *session);

void test_flood(void);
void test_events(void);
void test_burst(void);
void test_future(void);
void test_completions(void);
void test_release(void);
void test_invalidate_full(void);
void test_invalidate_dead(void);
void test_two_frames(void);
void test_removed_pool(void);

#endif
