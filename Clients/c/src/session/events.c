// SPDX-License-Identifier: MIT
// The queue of events, and the descriptor that shows whether it is empty.
#include "session/session.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

item *hwdi_new_item(hwd_session *session, uint32_t type) {
    item *made = calloc(1, sizeof *made);
    if (!made) {
        hwdi_end(session, HWD_ALLOCATION_FAILED, "no memory for an event");
        return NULL;
    }
    made->event.size = sizeof made->event;
    made->event.type = type;
    made->process = session->process;
    return made;
}

void hwdi_free_item(item *freed) {
    if (!freed) return;
    hwdi_free_item(freed->format);
    hwd_pool_unref(freed->memory);
    free(freed->bytes);
    free(freed);
}

// Makes the eventfd readable while events wait, messages were read and not handled, or the session has ended.
void hwdi_signal(hwd_session *session) {
    if (session->ready < 0) return;
    bool wanted = session->first || hwdi_has_ended(session) || session->state == LOST || hwdi_has_message(session);
    if (wanted == session->is_ready) return;
    session->is_ready = wanted;
    uint64_t count = 1;
    ssize_t moved = wanted ? write(session->ready, &count, sizeof count) : read(session->ready, &count, sizeof count);
    // It holds 1 or 0, so neither can fail.
    (void)moved;
}

void hwdi_push(hwd_session *session, item *added) {
    if (session->event_count >= MAX_EVENTS || session->event_bytes + added->size > MAX_EVENT_BYTES) {
        hwdi_free_item(added);
        hwdi_broken(session, "it sent more events than its credits allow");
        return;
    }
    added->next = NULL;
    *session->last = added;
    session->last = &added->next;
    session->event_count++;
    session->event_bytes += added->size;
    hwdi_signal(session);
}

static bool has_event(hwd_session *session, void *context) { return (void)context, session->first; }

int hwd_next_event(hwd_session *session, hwd_event *event, int timeout_ms) {
    if (!event) return hwdi_fail(-EINVAL, "hwd_next_event has no pointer for the event");
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    result = hwdi_pump(session, hwdi_until(session, timeout_ms), has_event, NULL);
    item *found = session->first;
    if (result > 0 && (result = hwdi_return(event, &found->event, sizeof found->event)) == 0) {
        session->first = found->next;
        if (!session->first) session->last = &session->first;
        session->event_count--;
        session->event_bytes -= found->size;
        hwdi_signal(session);
        if (found->memory || found->bytes) {
            uint64_t id = ++session->last_item;
            found->event.id = id;
            found->next = session->held;
            session->held = found;
            hwdi_return(event, &found->event, sizeof found->event);
        } else {
            hwdi_free_item(found);
        }
        result = 1;
    }
    hwdi_leave(session);
    return result;
}

// Whether the worker that has the memory still runs.
static bool is_current(const hwd_session *session, const item *released) {
    return hwdi_has_worker(session) && released->process == session->process;
}

// Returns a packet's or picture's memory to the worker. After a failure it is still the app's, unless the session has ended.
static int give_back(hwd_session *session, const item *released) {
    uint32_t type = released->event.type;
    if (!is_current(session, released) || (type != HWD_EVENT_PACKET && type != HWD_EVENT_PICTURE)) return 0;
    uint8_t payload[8];
    put_64(payload, released->remote);
    struct iovec part = {payload, sizeof payload};
    int64_t deadline = hwdi_until(session, HWD_DEFAULT_TIMEOUT);
    int result = hwdi_take_turn(session, deadline);
    if (result == 0 && !is_current(session, released)) {
        hwdi_end_turn(session);
        return 0;
    }
    if (result == 0)
        result = hwdi_send(session, type == HWD_EVENT_PACKET ? RELEASE_PACKET : RELEASE_FRAME, &part, 1, -1, deadline);
    if (result == 0 && released->process == session->process) session->held_by_client--;
    return hwdi_has_ended(session) || result == HWDI_LOST ? 0 : result;
}

int hwd_release(hwd_session *session, const hwd_event *event) {
    hwd_event given;
    int result = hwdi_take(&given, sizeof given, event);
    if (result < 0 || (result = hwdi_enter(session, 0)) < 0) return result;
    item **place = &session->held;
    while (*place && (*place)->event.id != given.id) place = &(*place)->next;
    item *found = *place;
    if (given.id == 0) {
        result = 0;
    } else if (!found) {
        result = hwdi_fail(-EINVAL, "the event was released before, or is another session's");
    } else {
        *place = found->next;
        // The worker may reuse the memory of a packet at once: no thread may still find it.
        result = give_back(session, found);
        if (result == 0) {
            hwdi_free_item(found);
        } else {
            found->next = session->held;
            session->held = found;
        }
    }
    hwdi_leave(session);
    return result;
}

int hwd_get_fd(hwd_session *session) {
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    if (session->epoll < 0) {
        session->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        session->epoll = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event readable = {.events = EPOLLIN};
        if (session->ready < 0 || session->epoll < 0 ||
            epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->socket, &readable) < 0 ||
            epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->ready, &readable) < 0) {
            result = hwdi_fail_errno(errno, "a descriptor for event loops");
            hwdi_close(session->ready);
            hwdi_close(session->epoll);
            session->ready = session->epoll = -1;
        }
        hwdi_signal(session);
    }
    if (result == 0) result = session->epoll;
    hwdi_leave(session);
    return result;
}
