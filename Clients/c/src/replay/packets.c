// SPDX-License-Identifier: MIT
// The packets that another worker would need, in order. Changes and requests among them are entries of the session's log, each
// with the number of the packet that follows it.
#include "replay/packets.h"
#include "replay/replay.h"

bool hwdi_make_packet_log(hwd_session *session) {
    packet_log *log = session->decoding = calloc(1, sizeof *log);
    if (!log) return false;
    log->first = log->next = log->done_limit = 1;
    log->whole = true;
    hwdi_keep_packets(session);
    return true;
}

void hwdi_keep_packets(hwd_session *session) {
    json object, value;
    bool wanted = true;
    if (session->properties && hwdi_json_check(session->properties, strlen(session->properties), &object) &&
        hwdi_json_member(object, "ReplaysAfterFailure", &value))
        hwdi_json_boolean(value, &wanted);
    session->decoding->keeps = wanted;
}

void hwdi_free_packet_log(packet_log *freed) {
    if (!freed) return;
    for (size_t i = 0; i < freed->count; i++) free(freed->packets[freed->start + i].bytes);
    hwdi_clear_units(&freed->earlier);
    hwdi_clear_units(&freed->later);
    free(freed->packets);
    free(freed->format);
    free(freed);
}

uint64_t hwdi_packets_end(const packet_log *log) { return log->first + log->count; }

kept *hwdi_find_packet(packet_log *log, uint64_t number) {
    return number >= log->first && number < hwdi_packets_end(log) ? &log->packets[log->start + (number - log->first)] : NULL;
}

bool hwdi_is_pool_needed(packet_log *log, uint32_t pool) {
    for (uint64_t number = log->next; number < hwdi_packets_end(log); number++)
        if (hwdi_find_packet(log, number)->pool == pool) return true;
    return false;
}

static size_t weight(const kept *packet) { return packet->size + sizeof *packet; }

// ---- Forgetting

// Forgets the packets before one that was sent to the present worker, or is the next one.
static void forget(hwd_session *session, uint64_t number) {
    packet_log *log = session->decoding;
    found_units found;
    while (log->first < number) {
        // Changes before this packet come first.
        hwdi_fold_properties(session);
        kept *old = &log->packets[log->start];
        // Without memory for its sets the packets that follow cannot be decoded by another worker.
        if (old->has_units && !hwdi_find_units(old->bytes, old->size, log->length_size, &log->later, &found))
            log->keeps = false;
        free(old->bytes);
        log->bytes -= weight(old);
        log->start++;
        log->count--;
        log->first++;
    }
    if (log->count == 0) log->start = 0;
    if (log->done_limit < log->first) log->done_limit = log->first;
    if (log->key < log->first) log->key = 0;
    hwdi_fold_properties(session);
}

// Forgets what precedes the last key frame before which, itself included, every picture came: those that precede it in
// presentation order are given, and no other depends on what is before it in decoding order.
static void settle(hwd_session *session) {
    packet_log *log = session->decoding;
    const kept *packet;
    while ((packet = hwdi_find_packet(log, log->done_limit)) && packet->done) {
        if (packet->is_key) log->key = log->done_limit;
        log->done_limit++;
    }
    // The present worker may not have been sent it again.
    if (log->key == 0 || log->key >= log->next || (log->key == log->first && log->whole)) return;
    forget(session, log->key);
    log->whole = true;
}

bool hwdi_settle_format(packet_log *log, const entry *change) {
    uint8_t *format = malloc(change->size + 1);
    if (!format) return false;
    memcpy(format, change->payload, change->size);
    free(log->format);
    log->format = format;
    log->format_size = change->size;
    hwdi_move_units(&log->earlier, &log->later);
    return true;
}

// ---- Sending

// Room for another packet; false where memory ran out.
static bool make_room(packet_log *log) {
    if (log->start + log->count < log->capacity) return true;
    if (log->start > log->count) {
        memmove(log->packets, log->packets + log->start, log->count * sizeof *log->packets);
        log->start = 0;
        return true;
    }
    size_t capacity = 2 * log->capacity + 64;
    kept *grown = realloc(log->packets, capacity * sizeof *grown);
    if (!grown) return false;
    log->packets = grown;
    log->capacity = capacity;
    return true;
}

uint64_t hwdi_append_packet(hwd_session *session, const hwd_packet *packet, const uint8_t *data) {
    packet_log *log = session->decoding;
    kept added = {.data = data, .size = packet->data_size, .flags = packet->flags, .pts = packet->pts, .duration = packet->duration,
                  .pool = packet->pool, .offset = packet->offset};
    if (!make_room(log)) return 0;
    if (log->keeps) {
        found_units found;
        added.bytes = malloc(packet->data_size);
        if (!added.bytes) return 0;
        memcpy(added.bytes, data, packet->data_size);
        added.data = added.bytes;
        hwdi_find_units(added.bytes, packet->data_size, log->length_size, NULL, &found);
        added.has_units = found.has_units;
        added.done = packet->flags & HWD_DO_NOT_OUTPUT || !found.has_picture;
    }
    log->bytes += weight(&added);
    log->packets[log->start + log->count++] = added;
    return session->last_number = hwdi_packets_end(log) - 1;
}

void hwdi_take_back_packet(hwd_session *session) {
    packet_log *log = session->decoding;
    kept *last = &log->packets[log->start + log->count - 1];
    log->bytes -= weight(last);
    free(last->bytes);
    log->count--;
    session->last_number--;
    if (log->done_limit > hwdi_packets_end(log)) log->done_limit = hwdi_packets_end(log);
    // Requests that other threads made meanwhile follow the packet before.
    for (entry *at = session->log; at; at = at->next)
        if (at->number > hwdi_packets_end(log)) at->number = hwdi_packets_end(log);
}

void hwdi_packet_sent(hwd_session *session) {
    packet_log *log = session->decoding;
    hwdi_find_packet(log, log->next++)->sent = true;
    if (!log->keeps) return forget(session, log->next);
    settle(session);
    // Without key frames the packets would grow for ever. The next key frame makes the log whole again.
    if (log->bytes <= MAX_KEPT_PACKETS) return;
    log->whole = false;
    forget(session, log->next);
}

// ---- What comes

static void note_result(packet_log *log, kept *packet, uint64_t number) {
    packet->has_result = true;
    if (number > log->latest) log->latest = number;
}

bool hwdi_take_picture(hwd_session *session, uint64_t number, bool is_key) {
    kept *packet = hwdi_find_packet(session->decoding, number);
    if (!packet) return true;
    if (packet->repeated) return false;
    note_result(session->decoding, packet, number);
    packet->done = true;
    packet->is_key |= is_key;
    settle(session);
    return true;
}

// FNV-1a.
static uint32_t sum(const uint8_t *bytes, size_t size) {
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < size; i++) value = (value ^ bytes[i]) * 16777619u;
    return value;
}

bool hwdi_take_report(hwd_session *session, uint64_t number, const uint8_t *content, size_t size, uint32_t flags) {
    kept *packet = hwdi_find_packet(session->decoding, number);
    if (!packet) return true;
    if (packet->repeated) return false;
    uint32_t new = sum(content, size);
    for (int i = 0; i < packet->report_count; i++)
        if (packet->reports[i] == new) return false;
    if (packet->report_count < MAX_REPORTS) packet->reports[packet->report_count++] = new;
    note_result(session->decoding, packet, number);
    // Where alpha alone is dropped the picture comes.
    if (!(flags & HWD_DROPPED) || flags & HWD_ALPHA_ONLY) return true;
    packet->done = true;
    settle(session);
    return true;
}

void hwdi_packets_answered(hwd_session *session, uint64_t number) {
    forget(session, number);
    session->decoding->whole = true;
}

const char *hwdi_notice(const packet_log *log) {
    if (log->whole || !log->keeps) return "";
    return "the session ends if its process fails: the packets since the last key frame take more than 64 MiB";
}

// ---- Another worker

static void give_memory_back(hwd_session *session, uint64_t number) {
    item *event = hwdi_new_item(session, HWD_EVENT_FRAME_RELEASED);
    if (!event) return;
    event->event.number = number;
    hwdi_push(session, event);
}

void hwdi_rewind_packets(hwd_session *session) {
    packet_log *log = session->decoding;
    for (uint32_t i = 0; i < session->flight_count; i++)
        if (session->flights[i].reports_release) give_memory_back(session, session->flights[i].number);
    session->flight_count = 0;
    for (uint64_t number = log->first; number < hwdi_packets_end(log); number++) {
        kept *packet = hwdi_find_packet(log, number);
        // That of packets which were sent was in flight, or is given back.
        if (packet->pool && number >= log->next) give_memory_back(session, number);
        packet->pool = 0;
        // Reports of a packet without a picture may still come.
        packet->repeated = packet->done && (packet->has_result || number < log->latest);
    }
    log->next = log->first;
}
