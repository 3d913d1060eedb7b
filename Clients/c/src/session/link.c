// SPDX-License-Identifier: MIT
// Sending, receiving and waiting, from any thread.
#include "replay/replay.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

void hwdi_changed(hwd_session *session) {
    pthread_cond_broadcast(&session->changed);
    uint64_t one = 1;
    // A thread that polls does not see what another one has received. The counter cannot overflow.
    if (session->polling && write(session->wake, &one, sizeof one) < 0) return;
}

void hwdi_end(hwd_session *session, int status, const char *reason) {
    if (hwdi_has_ended(session)) return;
    session->state = ENDED;
    session->status = status;
    // Another process may send an empty text.
    snprintf(session->reason, sizeof session->reason, "%s", *reason ? reason : "the session ended without a reason");
    hwdi_signal(session);
    hwdi_changed(session);
}

void hwdi_broken(hwd_session *session, const char *reason) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, "the worker broke the protocol: %s", reason);
    hwdi_end(session, session->malfunction, sentence);
}

int hwdi_ended(hwd_session *session) { return hwdi_fail(session->status, "%s", session->reason); }

// Asks the daemon how the worker died, because the connection closed without an `end` message. Unlocks meanwhile.
static void find_cause(hwd_session *session) {
    enum { TIMEOUT = 5000 };
    int status = session->malfunction;
    char reason[1024] = "the session's process ended and the daemon does not know why";
    const char *id = session->info.session;
    session->asking = true;
    pthread_mutex_unlock(&session->lock);
    int64_t code;
    char *reply = NULL;
    json found, member;
    if (hwdi_ask_result(session->address, id, hwdi_deadline(TIMEOUT, 0), &reply, &found) > 0) {
        if (hwdi_json_member(found, "code", &member) && hwdi_json_integer(member, &code) && hwdi_is_status(code)) status = (int)code;
        char *text = hwdi_json_member(found, "reason", &member) ? hwdi_json_string(member) : NULL;
        if (text) hwdi_printable(reason, sizeof reason, text, strlen(text));
        free(text);
    }
    free(reply);
    pthread_mutex_lock(&session->lock);
    session->asking = false;
    hwdi_lose(session, status, reason);
    // Others wait for the answer, also where the session had ended meanwhile.
    hwdi_changed(session);
}

// Waits, unlocked, until another thread has changed something, or the deadline.
static void wait_for_others(hwd_session *session, int64_t deadline) {
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    pthread_cond_timedwait(&session->changed, &session->lock, &until);
}

// Waits, unlocked, until the socket is ready, another thread has changed something, or the deadline.
static void wait_for_change(hwd_session *session, int64_t deadline) {
    if (session->polling || session->asking) return wait_for_others(session, deadline);
    session->polling = true;
    struct pollfd entries[2] = {
        {session->socket, POLLIN | (session->want_write ? POLLOUT : 0), 0}, {session->wake, POLLIN, 0}};
    pthread_mutex_unlock(&session->lock);
    int count = poll(entries, 2, hwdi_milliseconds_until(deadline));
    pthread_mutex_lock(&session->lock);
    session->polling = false;
    if (count > 0 && entries[0].revents & (POLLOUT | POLLERR | POLLHUP)) session->want_write = false;
    uint64_t drained;
    if (count > 0 && entries[1].revents && read(session->wake, &drained, sizeof drained) < 0) session->polling = false;
    pthread_cond_broadcast(&session->changed);
}

// More than a worker within its credits sends without an event. A worker that floods holds a call for one batch longer than
// its timeout, a few milliseconds at most.
enum { MAX_BATCH = 256 };

// Handles what has arrived, MAX_BATCH messages at most; their number.
static int receive(hwd_session *session) {
    message received;
    int count = 0;
    while (count < MAX_BATCH && hwdi_has_worker(session) && hwdi_next_message(session, &received) > 0) {
        hwdi_handle(session, &received);
        count++;
    }
    if (count > 0) {
        hwdi_signal(session);
        hwdi_changed(session);
    }
    return count;
}

// Releases the lock for a moment: otherwise a worker that floods would keep other threads out.
static void yield_lock(hwd_session *session) {
    int64_t soon = hwdi_deadline(1, 0);
    struct timespec until = {soon / 1000000000, soon % 1000000000};
    pthread_cond_timedwait(&session->changed, &session->lock, &until);
}

int hwdi_pump(hwd_session *session, int64_t deadline, condition done, void *context) {
    for (bool is_late = false;;) {
        if (done(session, context)) return 1;
        if (hwdi_has_ended(session)) return hwdi_ended(session);
        if (is_late) return 0;
        is_late = hwdi_now() >= deadline;
        if (session->state == LOST) {
            hwdi_recover(session);
            continue;
        }
        if (session->state == REPLACING) {
            if (!is_late) wait_for_others(session, deadline);
            continue;
        }
        int count = receive(session);
        hwdi_advance(session);
        if (count == MAX_BATCH && !is_late) yield_lock(session);
        if (count > 0 || !hwdi_has_worker(session)) continue;
        if (session->at_eof && !session->asking)
            find_cause(session);
        else if (!is_late)
            wait_for_change(session, deadline);
    }
}

static bool may_send(hwd_session *session, void *context) { return (void)context, !session->sending && !hwdi_lacks_worker(session); }
static bool may_write(hwd_session *session, void *context) { return (void)context, !session->want_write || hwdi_lacks_worker(session); }

// Writes what the socket takes: 1 if something was written, 0 if it is full, or -errno.
static int write_some(hwd_session *session, struct msghdr *sent) {
    ssize_t count = sendmsg(session->socket, sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return errno == EINTR ? 1 : errno == EAGAIN ? 0 : -errno;
    // Descriptors go with the first byte.
    sent->msg_control = NULL;
    sent->msg_controllen = 0;
    while (sent->msg_iovlen > 0 && (size_t)count >= sent->msg_iov->iov_len) {
        count -= (ssize_t)sent->msg_iov->iov_len;
        sent->msg_iov++;
        sent->msg_iovlen--;
    }
    if (sent->msg_iovlen > 0) {
        sent->msg_iov->iov_base = (char *)sent->msg_iov->iov_base + count;
        sent->msg_iov->iov_len -= (size_t)count;
    }
    return 1;
}

static bool is_lost(hwd_session *session, void *context) { return (void)context, hwdi_lacks_worker(session); }

// The worker may have sent a reason before it closed the connection.
static int connection_lost(hwd_session *session, int number) {
    int result = hwdi_pump(session, hwdi_deadline(1000, 0), is_lost, NULL);
    if (result != 0) return result < 0 ? result : HWDI_LOST;
    char reason[256], text[128];
    snprintf(reason, sizeof reason, "the session's connection failed: %s", strerror_r(number, text, sizeof text));
    hwdi_end(session, -number, reason);
    return hwdi_ended(session);
}

static int write_all(hwd_session *session, struct msghdr *sent, int64_t deadline) {
    size_t parts = sent->msg_iovlen;
    size_t first = sent->msg_iov->iov_len;
    while (sent->msg_iovlen > 0) {
        if (hwdi_lacks_worker(session)) return HWDI_LOST;
        int written = write_some(session, sent);
        if (written < 0) return connection_lost(session, -written);
        if (written > 0) continue;
        session->want_write = true;
        hwdi_changed(session);
        int ready = hwdi_pump(session, deadline, may_write, NULL);
        if (ready < 0) return ready;
        if (ready > 0) continue;
        session->want_write = false;
        if (sent->msg_iovlen == parts && sent->msg_iov->iov_len == first)
            return hwdi_fail(-ETIMEDOUT, "the session read no message in time");
        hwdi_end(session, -ETIMEDOUT, "the session stopped reading within a message");
        return hwdi_ended(session);
    }
    return 0;
}

int hwdi_take_turn(hwd_session *session, int64_t deadline) {
    session->turns_wanted++;
    int ready = hwdi_pump(session, deadline, may_send, NULL);
    session->turns_wanted--;
    if (ready < 0) return ready;
    if (hwdi_has_ended(session)) return hwdi_ended(session);
    if (ready == 0) return hwdi_fail(-ETIMEDOUT, "another thread is sending");
    session->sending = true;
    return 0;
}

void hwdi_end_turn(hwd_session *session) {
    session->sending = false;
    // Waking the thread that polls costs a call of the kernel.
    if (session->turns_wanted > 0) hwdi_changed(session);
}

int hwdi_write(hwd_session *session, uint32_t opcode, struct iovec *parts, int count, int fd, int64_t deadline) {
    enum { MAX_PARTS = 2 + 2 * HWD_MAX_SIDE_DATA };
    struct iovec all[MAX_PARTS + 1];
    uint8_t header[HEADER_SIZE];
    size_t length = 0;
    int used = 1;
    for (int i = 0; i < count && used <= MAX_PARTS; i++) {
        if (parts[i].iov_len == 0) continue;
        all[used++] = parts[i];
        length += parts[i].iov_len;
    }
    if (length > MAX_PAYLOAD) return hwdi_fail(HWD_PARAMETER, "a message of %zu bytes is too long; %d is the limit", length, MAX_PAYLOAD);
    put_32(header, (uint32_t)length);
    put_32(header + 4, opcode);
    put_32(header + 8, fd >= 0);
    put_32(header + 12, session->sequence + 1);
    all[0] = (struct iovec){header, sizeof header};
    struct msghdr sent = {.msg_iov = all, .msg_iovlen = (size_t)used};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    if (fd >= 0) {
        sent.msg_control = control.bytes;
        sent.msg_controllen = sizeof control.bytes;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&sent);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    int result = write_all(session, &sent, deadline);
    if (result == 0) session->sequence++;
    return result;
}

int hwdi_send(hwd_session *session, uint32_t opcode, struct iovec *parts, int count, int fd, int64_t deadline) {
    int result = hwdi_write(session, opcode, parts, count, fd, deadline);
    hwdi_end_turn(session);
    return result;
}

void hwdi_send_invalidate(hwd_session *session) {
    uint8_t header[HEADER_SIZE] = {0};
    put_32(header + 4, INVALIDATE);
    put_32(header + 12, session->sequence + 1);
    if (!session->sending && send(session->socket, header, sizeof header, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) session->sequence++;
}

void hwdi_expect(hwd_session *session, waiter *reply) {
    reply->sequence = session->sequence + 1;
    reply->next = session->waiters;
    session->waiters = reply;
}

bool hwdi_forget(hwd_session *session, waiter *reply) {
    waiter **place = &session->waiters;
    while (*place && *place != reply) place = &(*place)->next;
    if (!*place) return false;
    *place = reply->next;
    return true;
}

static bool is_answered(hwd_session *session, void *context) { return (void)session, ((waiter *)context)->answered; }

int hwdi_await_reply(hwd_session *session, waiter *reply, int64_t deadline, char **body) {
    int result = hwdi_pump(session, deadline, is_answered, reply);
    hwdi_forget(session, reply);
    if (result > 0 && reply->lost)
        result = HWDI_LOST;
    else if (result > 0 && reply->status != 0)
        result = hwdi_fail(hwdi_is_status(reply->status) ? reply->status : session->malfunction, "%s", reply->body ? reply->body : "");
    else if (result == 0)
        result = hwdi_fail(-ETIMEDOUT, "the session did not answer in time");
    if (result > 0 && body)
        *body = reply->body;
    else
        free(reply->body);
    return result > 0 ? 0 : result;
}

int hwdi_request_in_turn(
    hwd_session *session, uint32_t opcode, const void *payload, size_t size, int fd, int64_t deadline, char **body) {
    waiter reply = {0};
    struct iovec part = {(void *)payload, size};
    hwdi_expect(session, &reply);
    int result = hwdi_write(session, opcode, &part, 1, fd, deadline);
    if (result == 0) return hwdi_await_reply(session, &reply, deadline, body);
    hwdi_forget(session, &reply);
    free(reply.body);
    return result;
}

// Another thread's messages may follow before the reply.
static int request_once(hwd_session *session, uint32_t opcode, const void *payload, size_t size, int fd, int64_t deadline, char **body) {
    int result = hwdi_take_turn(session, deadline);
    if (result < 0) return result;
    waiter reply = {0};
    struct iovec part = {(void *)payload, size};
    hwdi_expect(session, &reply);
    result = hwdi_send(session, opcode, &part, 1, fd, deadline);
    if (result == 0) return hwdi_await_reply(session, &reply, deadline, body);
    hwdi_forget(session, &reply);
    free(reply.body);
    return result;
}

int hwdi_request(hwd_session *session, uint32_t opcode, const void *payload, size_t size, int fd, int64_t deadline, char **body) {
    int result;
    do {
        result = request_once(session, opcode, payload, size, fd, deadline, body);
        // An answer that another worker may not give.
        if (result == session->malfunction && hwdi_may_continue(session)) {
            hwdi_lose(session, result, hwd_last_error());
            result = HWDI_LOST;
        }
    } while (result == HWDI_LOST);
    return result;
}
