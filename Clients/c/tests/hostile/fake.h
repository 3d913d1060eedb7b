// SPDX-License-Identifier: MIT
// A daemon that a test plays: its socket, its replies, and its workers' messages.
#ifndef FAKE_H
#define FAKE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <hwdaemon.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAKE_MEMORY = 65536, FAKE_CREDITS = 4 };

// Listens at an address in the abstract namespace that is this process's.
int fake_listen(char address[32]);
// A sealed memfd of FAKE_MEMORY bytes.
int fake_memory(void);
// Reads a call with its NUL.
bool fake_read_call(int fd, char *call, size_t capacity);
// The reply to Create of a kind of session.
const char *fake_reply(int kind);
bool fake_read(int fd, void *bytes, size_t size);
// Sends bytes, with a descriptor unless `memory` is -1; false once the client is gone.
bool fake_send(int fd, const void *bytes, size_t size, int memory);
// Little-endian.
void fake_put(uint8_t *at, uint64_t value, int size);
uint64_t fake_get(const uint8_t *at, int size);
// Creates a session of a kind, 64x48; `timeout_ms` is the session's.
int fake_create(hwd_daemon *daemon, int kind, int timeout_ms, hwd_session **session);

#endif
