// SPDX-License-Identifier: MIT
// Splits the socket's bytes into messages. The kernel delivers a message's descriptors with its first byte and never merges
// two sets in one read, so after each read descriptors can only belong to messages whose first byte is in the buffer.
#include "session/session.h"

#include <sys/socket.h>
#include <unistd.h>

enum { CAPACITY = 2 * (HEADER_SIZE + MAX_PAYLOAD) };

static int broken(hwd_session *session, const char *reason) {
    hwdi_broken(session, reason);
    return -1;
}

// The header at the front: 1, 0 while it is incomplete, or -1.
static int parse(hwd_session *session, uint32_t *length, uint32_t *fds) {
    receiver *in = &session->in;
    size_t available = in->end - in->start;
    if (available < HEADER_SIZE) {
        if (in->fd_count > (available ? (uint32_t)MAX_MESSAGE_FDS : 0))
            return broken(session, "file descriptors came that no message announces");
        return 0;
    }
    const uint8_t *header = in->buffer + in->start;
    *length = get_32(header);
    *fds = get_32(header + 8);
    if (*length > MAX_PAYLOAD || *fds > MAX_MESSAGE_FDS) return broken(session, "a message's header is not possible");
    if (get_32(header + 12) != in->sequence + 1) return broken(session, "a message has the wrong sequence number");
    bool complete = available >= HEADER_SIZE + *length;
    if (in->fd_count < *fds || (!complete && in->fd_count > *fds))
        return broken(session, "a message came with another number of file descriptors than it announces");
    return complete;
}

// Takes the descriptors of a received control message.
static bool take_fds(receiver *in, struct msghdr *received) {
    bool fits = true;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(received); c; c = CMSG_NXTHDR(received, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (in->fd_count < sizeof in->fds / sizeof *in->fds) {
                in->fds[in->fd_count++] = fd;
            } else {
                hwdi_close(fd);
                fits = false;
            }
        }
    }
    return fits && !(received->msg_flags & (MSG_CTRUNC | MSG_TRUNC));
}

// Reads once: 1, 0 if nothing has arrived, or -1 at the end.
static int fill(hwd_session *session) {
    receiver *in = &session->in;
    if (in->start > 0) {
        memmove(in->buffer, in->buffer + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * KERNEL_MAX_FDS)];
    } control;
    struct iovec part = {in->buffer + in->end, CAPACITY - in->end};
    struct msghdr received = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t count;
    do {
        count = recvmsg(session->socket, &received, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && errno == EAGAIN) return 0;
    if (count <= 0) {
        session->at_eof = true;
        return -1;
    }
    if (!take_fds(in, &received))
        return broken(session, "file descriptors were lost, perhaps at this process's limit of open files");
    in->end += (size_t)count;
    return 1;
}

bool hwdi_has_message(const hwd_session *session) {
    const receiver *in = &session->in;
    size_t available = in->end - in->start;
    if (available < HEADER_SIZE) return false;
    uint32_t length = get_32(in->buffer + in->start);
    // A length that is not possible ends the session.
    return length > MAX_PAYLOAD || available - HEADER_SIZE >= length;
}

int hwdi_next_message(hwd_session *session, message *out) {
    receiver *in = &session->in;
    while (!hwdi_has_ended(session) && !session->at_eof) {
        uint32_t length, fds;
        int state = parse(session, &length, &fds);
        if (state < 0) return -1;
        if (state == 0) {
            int filled = fill(session);
            if (filled <= 0) return filled;
            continue;
        }
        const uint8_t *header = in->buffer + in->start;
        *out = (message){.opcode = get_32(header + 4), .payload = header + HEADER_SIZE, .size = length, .fd_count = fds};
        memcpy(out->fds, in->fds, fds * sizeof *in->fds);
        in->fd_count -= fds;
        memmove(in->fds, in->fds + fds, in->fd_count * sizeof *in->fds);
        in->start += HEADER_SIZE + length;
        in->sequence++;
        return 1;
    }
    return -1;
}

static void close_fds(receiver *in) {
    for (uint32_t i = 0; i < in->fd_count; i++) hwdi_close(in->fds[i]);
    in->fd_count = 0;
}

void hwdi_free_receiver(receiver *in) {
    close_fds(in);
    free(in->buffer);
}

void hwdi_lose_receiver(hwd_session *session) {
    receiver *in = &session->in;
    close_fds(in);
    in->start = in->end = 0;
    in->sequence = session->sequence = 0;
}
