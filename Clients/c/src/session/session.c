// SPDX-License-Identifier: MIT
// Creation, the end, and what all kinds of sessions do alike.
#include "replay/packets.h"
#include "replay/replay.h"

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

// 0 where the parameter sets come with the packets.
static bool read_size(json reply, const char *name, uint32_t *size) {
    json member;
    int64_t number;
    if (!hwdi_json_member(reply, name, &member) || !hwdi_json_integer(member, &number) || number < 0 || number > INT32_MAX) return false;
    *size = (uint32_t)number;
    return true;
}

static char *read_text(json reply, const char *name) {
    json member;
    return hwdi_json_member(reply, name, &member) ? hwdi_json_string(member) : NULL;
}

// The members that the kinds' replies share; NULL or what is wrong.
static const char *read_reply(created *made, json reply) {
    hwd_session_info *info = &made->info;
    const struct kind *kind = &kinds[info->kind];
    json member;
    bool hardware;
    info->session = made->texts[0] = read_text(reply, "session");
    info->codec_id = made->texts[1] = read_text(reply, kind->id_member);
    info->fallback_reason = made->texts[2] = read_text(reply, "fallback_reason");
    info->device_reason = made->texts[3] = read_text(reply, "device_reason");
    if (!info->session || !is_id(info->session)) return "session";
    if (!info->codec_id) return kind->id_member;
    if (!hwdi_json_member(reply, kind->hardware_member, &member) || !hwdi_json_boolean(member, &hardware)) return kind->hardware_member;
    info->using_hardware = hardware;
    if (!read_credits(reply, "max_frames_in_flight", &info->max_frames_in_flight)) return "max_frames_in_flight";
    if (info->kind != HWD_TRANSFER && !read_credits(reply, "max_packets_in_flight", &info->max_packets_in_flight))
        return "max_packets_in_flight";
    // Absent where a daemon has no resumed-sessions.
    read_credits(reply, "max_frames_held", &made->max_frames_held);
    read_credits(reply, "reorder_depth", &made->reorder_depth);
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
    session->log_end = &session->log;
    session->process = 1;
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

void hwdi_free_texts(char **texts) {
    for (int i = 0; i < 4; i++) free(texts[i]);
}

// Connects and calls; the connection, or why there is no reply.
static int call_create(const char *address, const char *method, const char *parameters, int64_t deadline, char **reply) {
    int fd = hwdi_connect(address, deadline);
    if (fd < 0) return fd;
    int result = hwdi_exchange(fd, method, parameters, true, deadline, reply);
    if (result == 0) return fd;
    hwdi_close(fd);
    return result;
}

int hwdi_exchange_create(const char *address, uint32_t kind, const char *parameters, int64_t deadline, created *made) {
    const char *method = kinds[kind].method;
    char *reply;
    json found;
    memset(made, 0, sizeof *made);
    made->info.size = sizeof made->info;
    made->info.kind = kind;
    int fd = -ECONNRESET;
    // The process that was to serve the session may die while it replies.
    for (int attempt = 0; attempt < 3 && fd == -ECONNRESET; attempt++) fd = call_create(address, method, parameters, deadline, &reply);
    if (fd < 0) return fd;
    int result = hwdi_parameters(reply, method, &found);
    const char *missing = result == 0 ? read_reply(made, found) : NULL;
    free(reply);
    if (missing) result = hwdi_fail(-EPROTO, "the reply to %s has no valid %s", method, missing);
    if (result == 0) return fd;
    // A session's end is a message, which a daemon that has refused the session takes for a call.
    hwdi_close(fd);
    hwdi_free_texts(made->texts);
    return result;
}

// What another Create call needs.
static int keep_call(hwd_session *session, const text *parameters, const char *properties) {
    session->call = strdup(parameters->bytes);
    session->properties = properties ? strdup(properties) : NULL;
    return session->call && (session->properties || !properties) ? 0 : hwdi_fail_errno(ENOMEM, "a session");
}

bool hwdi_make_credits(hwd_session *session) {
    const hwd_session_info *info = &session->info;
    bool decodes = info->kind == HWD_DECOMPRESSION;
    uint32_t results = decodes ? info->max_frames_in_flight : info->max_packets_in_flight;
    uint64_t *releases = calloc(results + 1, sizeof *releases);
    flight *flights = calloc(info->max_packets_in_flight + 1, sizeof *flights);
    if (!releases || !flights) {
        free(releases);
        free(flights);
        return false;
    }
    free(session->releases);
    free(session->flights);
    session->releases = releases;
    session->max_releases = results;
    session->flights = flights;
    session->max_flights = decodes ? info->max_packets_in_flight : 0;
    return true;
}

static int connect_session(hwd_session *session, const char *parameters, int64_t deadline) {
    created made;
    int result = hwdi_exchange_create(session->address, session->info.kind, parameters, deadline, &made);
    if (result < 0) return result;
    session->socket = result;
    session->info = made.info;
    memcpy(session->texts[0], made.texts, sizeof made.texts);
    bool has_memory = hwdi_make_credits(session);
    if (has_memory && session->info.kind == HWD_COMPRESSION) has_memory = hwdi_make_replay(session, &made);
    if (has_memory && session->info.kind == HWD_DECOMPRESSION) has_memory = hwdi_make_packet_log(session);
    return has_memory ? 0 : hwdi_fail_errno(ENOMEM, "a session");
}

int hwdi_create(hwd_daemon *daemon, uint32_t kind, text *parameters, const char *properties, int timeout_ms, int max_wait_ms,
                hwd_session **out) {
    // hwdi_add… has recorded the cause, except where memory ran out.
    if (!parameters->bytes) return hwdi_fail_errno(ENOMEM, "a call");
    hwd_session *session = parameters->failed ? NULL : make_session(daemon, kind);
    int result = parameters->failed ? HWD_PARAMETER : session ? 0 : hwdi_fail_errno(errno ? errno : ENOMEM, "a session");
    if (result == 0) result = keep_call(session, parameters, properties);
    if (!parameters->failed) hwdi_add_object(parameters, "properties", properties);
    if (max_wait_ms) {
        hwdi_add(parameters, ",\"max_wait_ms\":");
        hwdi_add_number(parameters, max_wait_ms);
    }
    hwdi_add(parameters, "}");
    // The daemon answers that much later.
    int64_t deadline = hwdi_deadline(timeout_ms > 0 ? timeout_ms : -1, CALL_TIMEOUT);
    if (max_wait_ms > 0) deadline += (int64_t)max_wait_ms * 1000000;
    if (result == 0 && parameters->failed) result = HWD_PARAMETER;
    // A comma precedes each member.
    parameters->bytes[0] = '{';
    if (result == 0)
        result = connect_session(session, parameters->bytes, deadline);
    free(parameters->bytes);
    if (result < 0) {
        hwd_destroy(session);
        return result;
    }
    session->timeout = timeout_ms > 0 ? timeout_ms : SESSION_TIMEOUT;
    *out = session;
    return 0;
}

int hwd_get_info(hwd_session *session, hwd_session_info *info) {
    if (!session || !info) return hwdi_fail(-EINVAL, "hwd_get_info needs a session and a pointer for the information");
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    result = hwdi_return(info, &session->info, sizeof session->info);
    hwdi_leave(session);
    return result;
}

// The log repeats the request where the worker is lost.
static int complete(hwd_session *session, int64_t until_pts, int64_t deadline) {
    static const uint32_t opcodes[] = {
        [HWD_COMPRESSION] = COMPLETE_FRAMES, [HWD_DECOMPRESSION] = FINISH_DELAYED_FRAMES, [HWD_TRANSFER] = FINISH_FRAMES};
    const uint32_t opcode = opcodes[session->info.kind];
    uint8_t payload[8];
    put_64(payload, (uint64_t)until_pts);
    struct iovec part = {payload, opcode == COMPLETE_FRAMES ? sizeof payload : 0};
    entry *added = hwdi_new_entry(COMPLETION_ENTRY, opcode, &part, 1);
    if (!added) return -ENOMEM;
    added->pts = until_pts;
    hwdi_append(session, added);
    return hwdi_send_entry(session, added, deadline);
}

int hwd_complete(hwd_session *session, int64_t until_pts, int timeout_ms) {
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    if (session->event_count > MAX_UNFETCHED_EVENTS || session->completions > MAX_UNFETCHED_EVENTS)
        result = hwdi_fail(-EAGAIN, "%zu events were not fetched; fetch events first", session->event_count);
    else
        result = complete(session, until_pts, deadline);
    hwdi_leave(session);
    return result;
}

void hwd_invalidate(hwd_session *session) {
    if (hwdi_enter(session, 0) < 0) return;
    if (!hwdi_has_ended(session)) {
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
        hwdi_close(at->fence);
        free(at);
    }
    for (arena *at = session->arenas, *next; at; at = next) {
        next = at->next;
        hwd_pool_unref(at->memory);
        free(at);
    }
    hwd_pool_unref(session->frames);
    hwd_pool_unref(session->packets);
    for (size_t i = 0; i < sizeof session->texts / sizeof *session->texts; i++) hwdi_free_texts(session->texts[i]);
    for (entry *at = session->log, *next; at; at = next) {
        next = at->next;
        hwdi_free_entry(at);
    }
    hwdi_free_replay(session->replay);
    hwdi_free_effects(session);
    hwdi_free_packet_log(session->decoding);
    free(session->releases);
    free(session->call);
    free(session->properties);
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
