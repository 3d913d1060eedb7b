// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "CHostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

static long result(long value) { return value < 0 ? -errno : value; }

ssize_t hostile_send(int fd, const void *bytes, size_t size, const int *fds, size_t fd_count) {
    union {
        char bytes[CMSG_SPACE(16 * sizeof(int))];
        struct cmsghdr align;
    } control;
    if (fd_count > 16) return -EINVAL;
    struct iovec part = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(head), fds, fd_count * sizeof(int));
    }
    return result(sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

int hostile_memfd(int huge) {
    return (int)result(memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB : 0)));
}

int hostile_add_seals(int fd, int seals) { return (int)result(fcntl(fd, F_ADD_SEALS, seals)); }

int hostile_punch_hole(int fd, off_t offset, off_t length) {
    return (int)result(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length));
}
