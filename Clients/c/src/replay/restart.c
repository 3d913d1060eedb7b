// SPDX-License-Identifier: MIT
// A session whose process failed continues in another one: the library repeats what was lost, the daemon supervises.
#include "replay/packets.h"
#include "replay/replay.h"

#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { END_TIMEOUT = 10000, QUESTION_TIMEOUT = 5000, QUESTION_INTERVAL = 100 };

bool hwdi_may_continue(const hwd_session *session) {
    if (hwdi_has_ended(session) || session->process > MAX_RESTARTS) return false;
    if (session->decoding) return session->decoding->keeps && session->decoding->whole;
    return !session->replay || session->replay->keeps_frames;
}

void hwdi_lose(hwd_session *session, int status, const char *reason) {
    if (!hwdi_has_worker(session)) return;
    // The daemon knows whether it was a failure: VideoToolbox has no status of its own for it in transfer sessions.
    if (status != session->malfunction || !hwdi_may_continue(session)) return hwdi_end(session, status, reason);
    // The thread that prepares a worker returns first.
    session->state = session->state == PREPARING ? REPLACING : LOST;
    session->status = status;
    snprintf(session->reason, sizeof session->reason, "%s", *reason ? reason : "its process failed");
    for (waiter *at = session->waiters, *next; at; at = next) {
        next = at->next;
        if (at->completes) {
            // The log has its request.
            hwdi_forget(session, at);
            free(at);
        } else if (!at->answered) {
            at->answered = at->lost = true;
        }
    }
    for (entry *at = session->log, *next; at; at = next) {
        next = at->next;
        // The caller sets them again.
        if (hwdi_is_change(at) && !at->confirmed) hwdi_remove_entry(session, at);
    }
    hwdi_signal(session);
    hwdi_changed(session);
}

int hwdi_ask_result(const char *address, const char *session, int64_t deadline, char **reply, json *found) {
    char parameters[256];
    json member;
    bool finished;
    *reply = NULL;
    // The id has no character that JSON escapes: Create's reply was checked for that.
    snprintf(parameters, sizeof parameters, "{\"session\":\"%s\",\"timeout_ms\":2000}", session);
    int fd = hwdi_connect(address, deadline);
    if (fd < 0) return fd;
    int result = hwdi_exchange(fd, "org.hwdaemon.GetSessionResult", parameters, false, deadline, reply);
    hwdi_close(fd);
    if (result == 0) result = hwdi_parameters(*reply, "GetSessionResult", found);
    if (result < 0) return result;
    return hwdi_json_member(*found, "finished", &member) && hwdi_json_boolean(member, &finished) && finished;
}

// The daemon continues a session whose end it has seen; a process may take seconds to leave its driver.
static int wait_for_end(const char *address, const char *session) {
    int64_t deadline = hwdi_deadline(END_TIMEOUT, 0);
    int result;
    do {
        char *reply;
        json found;
        const int64_t next = hwdi_deadline(QUESTION_INTERVAL, 0);
        result = hwdi_ask_result(address, session, hwdi_deadline(QUESTION_TIMEOUT, 0), &reply, &found);
        free(reply);
        // The daemon waits before such an answer; one that does not must not keep this process busy.
        if (result == 0) poll(NULL, 0, hwdi_milliseconds_until(next));
    } while (result == 0 && hwdi_now() < deadline);
    if (result == 0) return hwdi_fail(-ETIMEDOUT, "its process did not end within %d s", END_TIMEOUT / 1000);
    return result < 0 ? result : 0;
}

// The Create call that continues the present session.
static void write_call(hwd_session *session, text *call) {
    replay *of = session->replay;
    hwdi_add(call, session->call);
    // A transfer's properties are set afterwards.
    if (session->info.kind != HWD_TRANSFER && session->properties) {
        hwdi_add(call, ",\"properties\":");
        hwdi_add(call, session->properties);
    }
    hwdi_add_member(call, "resumes", session->info.session);
    if (of && of->delivered > 0) {
        hwdi_add(call, ",\"max_reorder\":");
        hwdi_add_number(call, of->times.depth < 0 ? 0 : of->times.depth);
    }
    hwdi_add(call, "}");
    if (!call->failed) call->bytes[0] = '{';
}

// Forgets the worker and what it has sent. Nobody uses its socket any more.
static void leave_worker(hwd_session *session) {
    struct epoll_event none = {0};
    hwdi_lose_receiver(session);
    for (arena *at = session->arenas, *next; at; at = next) {
        next = at->next;
        hwd_pool_unref(at->memory);
        free(at);
    }
    session->arenas = NULL;
    session->held_by_client = 0;
    session->has_errors = session->want_write = false;
    if (session->epoll >= 0) epoll_ctl(session->epoll, EPOLL_CTL_DEL, session->socket, &none);
    if (session->replay) {
        hwdi_discard_held(session->replay);
        hwdi_timeline_continue(&session->replay->times, session->replay->reorder_depth);
    }
    if (session->decoding) hwdi_rewind_packets(session);
    hwdi_rewind(session);
}

// Takes the next session's connection, in a turn of this thread's.
static int enter_worker(hwd_session *session, int fd, created *made) {
    hwd_session_info *info = &session->info;
    memcpy(session->texts[session->process], made->texts, sizeof made->texts);
    info->session = made->info.session;
    info->codec_id = made->info.codec_id;
    info->fallback_reason = made->info.fallback_reason;
    info->device_reason = made->info.device_reason;
    info->using_hardware = made->info.using_hardware;
    info->max_frames_in_flight = made->info.max_frames_in_flight;
    info->max_packets_in_flight = made->info.max_packets_in_flight;
    info->restart_count = session->process++;
    hwdi_close(session->socket);
    session->socket = fd;
    session->at_eof = false;
    session->state = PREPARING;
    session->sending = true;
    int result = session->replay ? hwdi_keep_more(session, made->max_frames_held) : 0;
    if (result < 0) return result;
    if (session->decoding) info->pixel_format = made->info.pixel_format;
    if (!hwdi_make_credits(session)) return hwdi_fail_errno(ENOMEM, "a session");
    struct epoll_event readable = {.events = EPOLLIN};
    if (session->epoll >= 0 && epoll_ctl(session->epoll, EPOLL_CTL_ADD, fd, &readable) < 0)
        return hwdi_fail_errno(errno, "a descriptor for event loops");
    return 0;
}

// Sends what the worker needs before the log.
static int prepare_worker(hwd_session *session) {
    replay *of = session->replay;
    int64_t deadline = hwdi_until(session, HWD_DEFAULT_TIMEOUT);
    int result = session->decoding ? hwdi_renew_memory(session) : 0;
    for (registered_pool *at = session->pools; at && result == 0; at = at->next)
        if (!at->removing && (result = hwdi_add_in_turn(session, at->number, at->pool, deadline)) == 0 && at->fence >= 0)
            result = hwdi_fence_in_turn(session, at, deadline);
    if (of && of->copies && result == 0) result = hwdi_add_in_turn(session, (uint32_t)COPIES_POOL, of->copies, deadline);
    if (session->info.kind == HWD_TRANSFER && session->properties && result == 0)
        result = hwdi_request_in_turn(session, SET_PROPERTIES, session->properties, strlen(session->properties), -1, deadline, NULL);
    if (result == 0) result = hwdi_send_effects(session, deadline);
    if (of && session->prepared && result == 0) result = hwdi_request_in_turn(session, PREPARE, NULL, 0, -1, deadline, NULL);
    if (session->decoding && result == 0) result = hwdi_send_preambles(session, deadline);
    return result;
}

static void give_up(hwd_session *session, int status, const char *failure) {
    char reason[2 * sizeof session->reason + 64];
    snprintf(reason, sizeof reason, "%s; the session cannot continue: %s", failure, hwd_last_error());
    hwdi_end(session, status, reason);
}

// Creates the next session, unlocked; its socket, or an error.
static int create_next(hwd_session *session, text *call, created *made) {
    const char *id = session->info.session;
    pthread_mutex_unlock(&session->lock);
    int result = call->failed ? hwdi_fail_errno(ENOMEM, "a call") : wait_for_end(session->address, id);
    if (result == 0) result = hwdi_exchange_create(session->address, session->info.kind, call->bytes, hwdi_deadline(CALL_TIMEOUT, 0), made);
    pthread_mutex_lock(&session->lock);
    if (result >= 0 && hwdi_has_ended(session)) {
        hwdi_close(result);
        hwdi_free_texts(made->texts);
        result = -ECANCELED;
    }
    return result;
}

static bool nobody_uses_socket(const hwd_session *session) {
    return !session->sending && !session->polling && !session->asking;
}

void hwdi_recover(hwd_session *session) {
    char failure[sizeof session->reason];
    const int status = session->status;
    memcpy(failure, session->reason, sizeof failure);
    session->state = REPLACING;
    hwdi_signal(session);
    shutdown(session->socket, SHUT_RDWR);
    session->turns_wanted++;
    // Bounded: a thread that polls wakes because the socket is shut down; one that asks the daemon has find_cause's timeout;
    // one that sends never blocks in sendmsg, and its waits end as soon as the worker is lost.
    while (!nobody_uses_socket(session)) pthread_cond_wait(&session->changed, &session->lock);
    session->turns_wanted--;
    text call = {0};
    created made;
    int fd = -EINVAL;
    uint64_t frame = session->replay ? 0 : hwdi_overwritten(session);
    if (frame) {
        hwdi_fail(status, "frame %llu may have overwritten a source", (unsigned long long)frame);
    } else if (!hwdi_has_ended(session)) {
        leave_worker(session);
        write_call(session, &call);
        fd = create_next(session, &call, &made);
    }
    free(call.bytes);
    if (fd < 0) {
        give_up(session, status, failure);
    } else {
        int result = enter_worker(session, fd, &made);
        if (result == 0) result = prepare_worker(session);
        hwdi_end_turn(session);
        if (result == session->malfunction) hwdi_lose(session, result, hwd_last_error());
        else if (result < 0 && result != HWDI_LOST) give_up(session, status, failure);
    }
    if (!hwdi_has_ended(session)) session->state = session->state == PREPARING ? SERVED : LOST;
    hwdi_signal(session);
    hwdi_changed(session);
    hwdi_advance(session);
}
