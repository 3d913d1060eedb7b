// SPDX-License-Identifier: GPL-2.0-or-later
// What a hostile client does that no library offers it. Each returns its result or −errno.
#ifndef CHOSTILE_H
#define CHOSTILE_H

#include <stddef.h>
#include <sys/types.h>

static const int HOSTILE_SEAL_SHRINK = 2;
static const int HOSTILE_SEAL_GROW = 4;
static const int HOSTILE_SEAL_WRITE = 8;
static const int HOSTILE_O_PATH = 010000000;

// Sends all it can of the bytes, the descriptors with the first; never blocks, never raises SIGPIPE.
ssize_t hostile_send(int fd, const void *bytes, size_t size, const int *fds, size_t fd_count);
// A memfd that takes seals; `huge` asks for huge pages.
int hostile_memfd(int huge);
int hostile_add_seals(int fd, int seals);
// Takes the pages of a range away; reading gives zeros afterwards.
int hostile_punch_hole(int fd, off_t offset, off_t length);

#endif
