// SPDX-License-Identifier: GPL-2.0-or-later
// System calls of a hostile client that the libraries do not offer. Each returns its result or −errno.
#ifndef CHOSTILE_H
#define CHOSTILE_H

#include <stddef.h>
#include <sys/types.h>

static const int HOSTILE_SEAL_SHRINK = 2;
static const int HOSTILE_SEAL_GROW = 4;
static const int HOSTILE_SEAL_WRITE = 8;
static const int HOSTILE_O_PATH = 010000000;

// Sends as many bytes as the socket accepts, and the descriptors with the first; never blocks or raises SIGPIPE.
ssize_t hostile_send(int fd, const void *bytes, size_t size, const int *fds, size_t fd_count);
// A memfd that can be sealed; `huge` requests huge pages.
int hostile_memfd(int huge);
int hostile_add_seals(int fd, int seals);
// Deallocates the pages of a range, which then read as zeros.
int hostile_punch_hole(int fd, off_t offset, off_t length);

#endif
