// SPDX-License-Identifier: MIT
// What a session was sent and another worker would need: frames without a result, and the changes and requests among them, or
// among packets to decode, in order. What credits or another thread delay is sent later.
#include "replay/packets.h"
#include "replay/replay.h"

#include <poll.h>

entry *hwdi_new_entry(enum entry_kind kind, uint32_t opcode, const struct iovec *parts, int count) {
    size_t size = 0, at = 0;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    if (size > MAX_PAYLOAD) {
        hwdi_fail(HWD_PARAMETER, "a message of %zu bytes is too long; %d is the limit", size, MAX_PAYLOAD);
        return NULL;
    }
    entry *made = calloc(1, sizeof *made);
    if (made) made->payload = malloc(size + 1);
    if (!made || !made->payload) {
        free(made);
        hwdi_fail_errno(ENOMEM, "a message");
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len > 0) memcpy(made->payload + at, parts[i].iov_base, parts[i].iov_len);
        at += parts[i].iov_len;
    }
    made->kind = kind;
    made->opcode = opcode;
    made->size = size;
    made->slot = made->copy = -1;
    if (kind == EFFECTS_ENTRY) made->pts = (int64_t)get_64(made->payload);
    return made;
}

void hwdi_free_entry(entry *freed) {
    if (!freed) return;
    free(freed->payload);
    free(freed->transfer);
    free(freed);
}

void hwdi_append(hwd_session *session, entry *added) {
    added->next = NULL;
    added->serial = ++session->last_serial;
    if (session->decoding) added->number = hwdi_packets_end(session->decoding);
    *session->log_end = added;
    session->log_end = &added->next;
    session->completions += added->kind == COMPLETION_ENTRY;
}

void hwdi_remove_entry(hwd_session *session, entry *removed) {
    entry **place = &session->log;
    while (*place && *place != removed) place = &(*place)->next;
    if (!*place) return;
    *place = removed->next;
    if (session->log_end == &removed->next) session->log_end = place;
    session->completions -= removed->kind == COMPLETION_ENTRY;
    hwdi_free_entry(removed);
}

entry *hwdi_find_entry(hwd_session *session, uint64_t serial) {
    entry *at = session->log;
    while (at && at->serial != serial) at = at->next;
    return at;
}

entry *hwdi_find_frame(hwd_session *session, uint64_t number) {
    entry *at = session->log;
    while (at && (at->kind != FRAME_ENTRY || at->number != number)) at = at->next;
    return at;
}

entry *hwdi_first_completion(hwd_session *session) {
    entry *at = session->log;
    while (at && (at->kind != COMPLETION_ENTRY || !at->sent)) at = at->next;
    return at;
}

uint32_t hwdi_unread(const hwd_session *session) {
    uint32_t count = 0;
    for (const entry *at = session->log; at; at = at->next) count += at->kind == FRAME_ENTRY && !at->read;
    return count;
}

bool hwdi_all_sent(hwd_session *session, void *context) {
    (void)context;
    for (const entry *at = session->log; at; at = at->next)
        if (!at->sent) return false;
    if (session->decoding && session->decoding->next < hwdi_packets_end(session->decoding)) return false;
    return !hwdi_lacks_worker(session);
}

static bool has_credit(hwd_session *session, void *context) {
    return (void)context, !hwdi_lacks_worker(session) && hwdi_unread(session) < session->info.max_frames_in_flight;
}

int hwdi_wait_credit(hwd_session *session, int64_t deadline) {
    if (session->event_count > MAX_UNFETCHED_EVENTS)
        return hwdi_fail(-EAGAIN, "%zu events were not fetched; fetch events first", session->event_count);
    int result = hwdi_pump(session, deadline, has_credit, NULL);
    if (result < 0) return result;
    if (hwdi_has_ended(session)) return hwdi_ended(session);
    if (result > 0) return 0;
    return hwdi_fail(-EAGAIN, "%u frames are in flight and none was released in time; fetch and release events", hwdi_unread(session));
}

// ---- Sending

// The next entry that may be sent.
static entry *next_to_send(const hwd_session *session) {
    uint32_t in_flight = 0;
    for (entry *at = session->log; at; at = at->next) {
        // Packets precede it.
        if (session->decoding && !at->sent && at->number > session->decoding->next) return NULL;
        if (at->sent) in_flight += at->kind == FRAME_ENTRY && !at->read;
        else if (at->kind == FRAME_ENTRY && in_flight >= session->info.max_frames_in_flight) return NULL;
        else return at;
    }
    return NULL;
}

static bool may_send(const hwd_session *session) {
    return next_to_send(session) || (session->decoding && hwdi_may_send_packet(session));
}

// A request whose answer nobody waits for: a refusal ends the session.
static int write_request(hwd_session *session, uint32_t opcode, struct iovec *part, int64_t deadline) {
    waiter *reply = calloc(1, sizeof *reply);
    if (!reply) return hwdi_fail_errno(ENOMEM, "a request");
    reply->completes = true;
    reply->is_silent = opcode == CHANGE_FORMAT;
    // Before it is sent: another thread may receive the answer as soon as this one waits.
    hwdi_expect(session, reply);
    int result = hwdi_write(session, opcode, part, 1, -1, deadline);
    if (result == 0) return 0;
    // Where the worker is lost, hwdi_lose has freed it.
    if (hwdi_forget(session, reply)) free(reply);
    return result;
}

// In a turn.
static int write_entry(hwd_session *session, entry *sent, int64_t deadline) {
    struct iovec part = {sent->payload, sent->size};
    const bool is_request = sent->kind == COMPLETION_ENTRY || sent->kind == FORMAT_ENTRY;
    int result = is_request ? write_request(session, sent->opcode, &part, deadline)
                            : hwdi_write(session, sent->opcode, &part, 1, -1, deadline);
    if (result == 0) sent->sent = true;
    return result;
}

// What may_send has found, in a turn.
static int write_next(hwd_session *session, int64_t deadline) {
    entry *next = next_to_send(session);
    return next ? write_entry(session, next, deadline) : hwdi_write_packet(session, deadline);
}

int hwdi_send_logged(hwd_session *session, int64_t deadline) {
    int result = 0;
    // Another thread may send it, too.
    while (result == 0 && may_send(session)) {
        if ((result = hwdi_take_turn(session, deadline)) < 0) return result;
        if (may_send(session)) result = write_next(session, deadline);
        hwdi_end_turn(session);
    }
    return result;
}

int hwdi_send_entry(hwd_session *session, entry *added, int64_t deadline) {
    // Another thread may free the entry while this one waits, and a later one may take its address.
    const uint64_t serial = added->serial;
    int result = hwdi_send_logged(session, deadline);
    if (result == 0 || result == HWDI_LOST) return 0;
    entry *at = hwdi_find_entry(session, serial);
    if (!at || at->sent || (at->next && !hwdi_has_ended(session))) return hwdi_has_ended(session) ? result : 0;
    hwdi_remove_entry(session, at);
    return result;
}

void hwdi_release_later(hwd_session *session, uint64_t remote) {
    if (session->release_count < session->max_releases) session->releases[session->release_count++] = remote;
}

static int write_release(hwd_session *session, int64_t deadline) {
    uint8_t payload[8];
    put_64(payload, session->releases[session->release_count - 1]);
    struct iovec part = {payload, sizeof payload};
    int result = hwdi_write(session, session->decoding ? RELEASE_FRAME : RELEASE_PACKET, &part, 1, -1, deadline);
    if (result < 0) return result;
    session->release_count--;
    session->held_by_client--;
    return 0;
}

static int write_again(hwd_session *session, int64_t deadline) {
    uint8_t payload[8];
    put_64(payload, (uint64_t)session->again_pts);
    struct iovec part = {payload, sizeof payload};
    session->completes_again = false;
    return write_request(session, COMPLETE_FRAMES, &part, deadline);
}

// Whether the socket takes a message now. Otherwise the thread that polls sees when it does.
static bool is_writable(hwd_session *session) {
    struct pollfd socket = {session->socket, POLLOUT, 0};
    bool writable = poll(&socket, 1, 0) > 0;
    if (!writable && !session->want_write) {
        session->want_write = true;
        hwdi_changed(session);
    }
    return writable;
}

void hwdi_advance(hwd_session *session) {
    if (session->sending || !hwdi_has_worker(session)) return;
    // Packets that the app has not fetched must not keep the worker from the frames that it has to code again.
    if (session->replay && session->process > 1 && !hwdi_all_sent(session, NULL)) hwdi_move_delivered(session);
    int result = 0;
    // A worker that stops reading within a message has the session's timeout.
    int64_t deadline = hwdi_until(session, HWD_DEFAULT_TIMEOUT);
    while (result == 0 && hwdi_has_worker(session)) {
        if (session->release_count == 0 && !session->completes_again && !may_send(session)) return;
        if (!is_writable(session)) return;
        session->sending = true;
        if (session->release_count > 0) result = write_release(session, deadline);
        else if (session->completes_again) result = write_again(session, deadline);
        else result = write_next(session, deadline);
        hwdi_end_turn(session);
    }
}

// ---- Properties, and another worker

// Makes properties part of the next Create call; false where memory ran out.
static bool merge_properties(hwd_session *session, const entry *change) {
    const char *old = session->properties ? session->properties : "{}";
    json base, over;
    text merged = {0};
    // Both were checked when they were set.
    if (hwdi_json_check(old, strlen(old), &base) && hwdi_json_check((char *)change->payload, change->size, &over))
        hwdi_add_merged(&merged, base, over);
    if (!merged.bytes || merged.failed) {
        free(merged.bytes);
        return false;
    }
    free(session->properties);
    session->properties = merged.bytes;
    return true;
}

// Whether no frame or packet precedes the log's first entry, which is a change.
static bool begins_with_change(const hwd_session *session) {
    const entry *first = session->log;
    if (!first || !hwdi_is_change(first)) return false;
    return !session->decoding || first->number <= session->decoding->first;
}

static bool settle(hwd_session *session, const entry *change) {
    if (change->kind == FORMAT_ENTRY) return hwdi_settle_format(session->decoding, change);
    return change->kind == EFFECTS_ENTRY ? hwdi_settle_effects(session, change) : merge_properties(session, change);
}

void hwdi_fold_properties(hwd_session *session) {
    while (begins_with_change(session) && session->log->sent && session->log->confirmed) {
        entry *first = session->log;
        if (!settle(session, first)) return;
        hwdi_remove_entry(session, first);
    }
}

void hwdi_rewind(hwd_session *session) {
    entry *next;
    session->release_count = 0;
    session->completes_again = false;
    for (entry *at = session->log; at; at = next) {
        next = at->next;
        at->sent = at->read = at->coded = false;
        if (at->kind != FRAME_ENTRY || !at->delivered) continue;
        // Its packet came before the worker had released it.
        hwdi_return_frame(session, at);
        hwdi_remove_entry(session, at);
    }
    // These become part of the Create call.
    while (begins_with_change(session) && session->log->confirmed) {
        entry *first = session->log;
        first->sent = true;
        hwdi_fold_properties(session);
        if (session->log == first) return;
    }
}
