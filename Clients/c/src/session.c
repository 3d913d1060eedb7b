// SPDX-License-Identifier: MIT
// Creation, the end, and what all kinds of sessions do alike.
#include "session.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct kind {
    const char *method, *id_member, *hardware_member;
    int malfunction;
} kinds[] = {
    [HWD_COMPRESSION] = {"org.hwdaemon.CreateCompressionSession", "encoder_id", "using_hardware", HWD_VIDEO_ENCODER_MALFUNCTION},
    [HWD_DECOMPRESSION] = {"org.hwdaemon.CreateDecompressionSession", "decoder_id", "using_hardware", HWD_VIDEO_DECODER_MALFUNCTION},
    [HWD_TRANSFER] = {"org.hwdaemon.CreateTransferSession", "device", "using_gpu", HWD_INVALID_SESSION},
};

int hwdi_enter(hwd_session *session, uint32_t kind) {
    if (!session) return hwdi_fail(-EINVAL, "there is no session");
    // Another thread of the parent may have had the lock during fork(2).
    if (session->owner != getpid()) return hwdi_fail(-EPERM, "the session belongs to the process that created it");
    if (kind && session->info.kind != kind) return hwdi_fail(-EINVAL, "the function is for another kind of session");
    pthread_mutex_lock(&session->lock);
    return 0;
}

void hwdi_leave(hwd_session *session) { pthread_mutex_unlock(&session->lock); }

int64_t hwdi_until(const hwd_session *session, int timeout_ms) { return hwdi_deadline(timeout_ms, session->timeout); }

void hwdi_add_member(text *to, const char *name, const char *value) {
    if (!value) return;
    hwdi_add(to, ",");
    hwdi_add_string(to, name);
    hwdi_add(to, ":");
    hwdi_add_string(to, value);
}

void hwdi_add_object(text *to, const char *name, const char *object) {
    json checked;
    if (!object) return;
    if (!hwdi_json_check(object, strlen(object), &checked) || checked.at[0] != '{') {
        hwdi_fail(HWD_PARAMETER, "%s is no JSON object", name);
        to->failed = true;
        return;
    }
    hwdi_add(to, ",");
    hwdi_add_string(to, name);
    hwdi_add(to, ":");
    hwdi_add_bytes(to, checked.at, checked.size);
}

void hwdi_add_fourcc(text *to, const char *name, uint32_t fourcc) {
    char letters[5] = {0};
    put_32((uint8_t *)letters, fourcc);
    if (hwdi_planes(fourcc) == 0) {
        hwdi_fail(HWD_PARAMETER, "%s: the pixel format is unknown", name);
        to->failed = true;
    }
    hwdi_add_member(to, name, letters);
}

void hwdi_add_time_base(text *to, hwd_rational time_base) {
    if (time_base.numerator < 1 || time_base.denominator < 1) {
        hwdi_fail(HWD_PARAMETER, "the time base %d/%d is not a fraction of two numbers from 1 to %d", time_base.numerator,
                  time_base.denominator, INT32_MAX);
        to->failed = true;
    }
    hwdi_add(to, ",\"time_base\":{\"numerator\":");
    hwdi_add_number(to, time_base.numerator);
    hwdi_add(to, ",\"denominator\":");
    hwdi_add_number(to, time_base.denominator);
    hwdi_add(to, "}");
}

static bool is_id(const char *text) {
    size_t length = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    return length > 0 && length <= 128 && text[length] == 0;
}

static bool read_credits(json reply, const char *name, uint32_t *credits) {
    json member;
    int64_t number;
    if (!hwdi_json_member(reply, name, &member)) return false;
    if (!hwdi_json_integer(member, &number) || number < 1 || number > MAX_CREDITS) return false;
    *credits = (uint32_t)number;
    return true;
}

static bool read_size(json reply, const char *name, uint32_t *size) {
    json member;
    int64_t number;
    if (!hwdi_json_member(reply, name, &member) || !hwdi_json_integer(member, &number) || number < 1 || number > INT32_MAX) return false;
    *size = (uint32_t)number;
    return true;
}

static char *read_text(json reply, const char *name) {
    json member;
    return hwdi_json_member(reply, name, &member) ? hwdi_json_string(member) : NULL;
}

// The members that the kinds' replies share; NULL or what is wrong.
static const char *read_reply(hwd_session *session, json reply) {
    hwd_session_info *info = &session->info;
    const struct kind *kind = &kinds[info->kind];
    json member;
    bool hardware;
    info->session = session->texts[0] = read_text(reply, "session");
    info->codec_id = session->texts[1] = read_text(reply, kind->id_member);
    info->fallback_reason = session->texts[2] = read_text(reply, "fallback_reason");
    info->device_reason = session->texts[3] = read_text(reply, "device_reason");
    if (!info->session || !is_id(info->session)) return "session";
    if (!info->codec_id) return kind->id_member;
    if (!hwdi_json_member(reply, kind->hardware_member, &member) || !hwdi_json_boolean(member, &hardware)) return kind->hardware_member;
    info->using_hardware = hardware;
    if (!read_credits(reply, "max_frames_in_flight", &info->max_frames_in_flight)) return "max_frames_in_flight";
    if (info->kind != HWD_TRANSFER && !read_credits(reply, "max_packets_in_flight", &info->max_packets_in_flight))
        return "max_packets_in_flight";
    if (info->kind != HWD_DECOMPRESSION) return NULL;
    if (!read_size(reply, "width", &info->width)) return "width";
    if (!read_size(reply, "height", &info->height)) return "height";
    char *format = read_text(reply, "pixel_format");
    if (format && strlen(format) == 4) info->pixel_format = get_32((uint8_t *)format);
    free(format);
    return info->pixel_format ? NULL : "pixel_format";
}

static hwd_session *make_session(hwd_daemon *daemon, uint32_t kind) {
    hwd_session *session = calloc(1, sizeof *session);
    if (!session) return NULL;
    session->info.size = sizeof session->info;
    session->info.kind = kind;
    session->malfunction = kinds[kind].malfunction;
    session->owner = getpid();
    session->socket = session->epoll = session->ready = -1;
    session->last = &session->first;
    pthread_mutex_init(&session->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&session->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    session->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    session->address = strdup(daemon->address);
    // Written by recvmsg only as far as messages reach.
    session->in.buffer = malloc(2 * (HEADER_SIZE + MAX_PAYLOAD));
    if (session->wake >= 0 && session->address && session->in.buffer) return session;
    hwd_destroy(session);
    return NULL;
}

static int exchange_create(hwd_session *session, const char *parameters, int64_t deadline) {
    const char *method = kinds[session->info.kind].method;
    char *reply;
    json found;
    int result = session->socket = hwdi_connect(session->address, deadline);
    if (result < 0 || (result = hwdi_exchange(session->socket, method, parameters, true, deadline, &reply)) < 0) return result;
    result = hwdi_parameters(reply, method, &found);
    const char *missing = result == 0 ? read_reply(session, found) : NULL;
    free(reply);
    if (missing) result = hwdi_fail(-EPROTO, "the reply to %s has no valid %s", method, missing);
    return result;
}

int hwdi_create(hwd_daemon *daemon, uint32_t kind, text *parameters, int timeout_ms, hwd_session **out) {
    // hwdi_add… has recorded the cause, except where memory ran out.
    if (!parameters->bytes) return hwdi_fail_errno(ENOMEM, "a call");
    hwdi_add(parameters, "}");
    hwd_session *session = parameters->failed ? NULL : make_session(daemon, kind);
    if (!session) {
        bool refused = parameters->failed;
        free(parameters->bytes);
        return refused ? HWD_PARAMETER : hwdi_fail_errno(errno ? errno : ENOMEM, "a session");
    }
    // A comma precedes each member.
    parameters->bytes[0] = '{';
    int result = exchange_create(session, parameters->bytes, hwdi_deadline(timeout_ms > 0 ? timeout_ms : -1, CALL_TIMEOUT));
    free(parameters->bytes);
    if (result == 0) {
        const hwd_session_info *info = &session->info;
        session->timeout = timeout_ms > 0 ? timeout_ms : SESSION_TIMEOUT;
        session->max_flights = kind == HWD_DECOMPRESSION ? info->max_packets_in_flight : info->max_frames_in_flight;
        session->flights = calloc(session->max_flights, sizeof *session->flights);
        if (!session->flights) result = hwdi_fail_errno(ENOMEM, "a session");
    }
    if (result == 0) {
        *out = session;
        return 0;
    }
    // A session's end is a message, which a daemon that has refused the session takes for a call.
    hwdi_close(session->socket);
    session->socket = -1;
    hwd_destroy(session);
    return result;
}

int hwd_get_info(hwd_session *session, hwd_session_info *info) {
    if (!session || !info) return hwdi_fail(-EINVAL, "hwd_get_info needs a session and a place for the information");
    return hwdi_return(info, &session->info, sizeof session->info);
}

int hwd_complete(hwd_session *session, int64_t until_pts, int timeout_ms) {
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    static const uint32_t opcodes[] = {
        [HWD_COMPRESSION] = COMPLETE_FRAMES, [HWD_DECOMPRESSION] = FINISH_DELAYED_FRAMES, [HWD_TRANSFER] = FINISH_FRAMES};
    uint8_t payload[8];
    put_64(payload, (uint64_t)until_pts);
    struct iovec part = {payload, session->info.kind == HWD_COMPRESSION ? sizeof payload : 0};
    int64_t deadline = hwdi_until(session, timeout_ms);
    waiter *reply = NULL;
    if (session->event_count > MAX_UNFETCHED_EVENTS || session->completions > MAX_UNFETCHED_EVENTS)
        result = hwdi_fail(-EAGAIN, "%zu events were not fetched; fetch events first", session->event_count);
    else if (!(reply = calloc(1, sizeof *reply)))
        result = hwdi_fail_errno(ENOMEM, "hwd_complete");
    if (result == 0) result = hwdi_take_turn(session, deadline);
    if (result == 0) {
        reply->completes = true;
        session->completions++;
        // Before it is sent: another thread may receive the answer as soon as this one waits.
        hwdi_expect(session, reply);
        result = hwdi_send(session, opcodes[session->info.kind], &part, 1, -1, deadline);
        if (result < 0) {
            hwdi_forget(session, reply);
            session->completions--;
        }
    }
    if (result < 0) free(reply);
    hwdi_leave(session);
    return result;
}

void hwd_invalidate(hwd_session *session) {
    if (hwdi_enter(session, 0) < 0) return;
    if (!session->end) {
        // Closing the connection ends the session, too.
        hwdi_send_invalidate(session);
        shutdown(session->socket, SHUT_RDWR);
        hwdi_end(session, HWD_INVALID_SESSION, "the session was invalidated");
    }
    hwdi_leave(session);
}

static void free_items(item *first) {
    while (first) {
        item *next = first->next;
        hwdi_free_item(first);
        first = next;
    }
}

static void free_memory(hwd_session *session) {
    free_items(session->first);
    free_items(session->held);
    for (waiter *at = session->waiters, *next; at; at = next) {
        next = at->next;
        // After fork(2) there may be others, of threads that this process does not have.
        if (at->completes) free(at);
    }
    for (registered_pool *at = session->pools, *next; at; at = next) {
        next = at->next;
        hwd_pool_unref(at->pool);
        free(at);
    }
    for (arena *at = session->arenas, *next; at; at = next) {
        next = at->next;
        hwd_pool_unref(at->memory);
        free(at);
    }
    hwd_pool_unref(session->frames);
    hwd_pool_unref(session->packets);
    for (size_t i = 0; i < sizeof session->texts / sizeof *session->texts; i++) free(session->texts[i]);
    free(session->slots);
    free(session->flights);
    free(session->address);
}

void hwd_destroy(hwd_session *session) {
    if (!session) return;
    if (session->owner == getpid()) {
        if (session->socket >= 0) hwd_invalidate(session);
        pthread_cond_destroy(&session->changed);
        pthread_mutex_destroy(&session->lock);
    }
    hwdi_free_receiver(&session->in);
    hwdi_close(session->epoll);
    hwdi_close(session->ready);
    hwdi_close(session->wake);
    hwdi_close(session->socket);
    free_memory(session);
    free(session);
}
