// SPDX-License-Identifier: MIT
// Packets on their way to the worker: the session's own memory, which they are copied to, filled first fit; and the messages.
#include "replay/packets.h"

enum { FIRST_SIZE = 4 << 20, ALIGNMENT = 64, ASYNCHRONOUS = 1, NO_OUTPUT = 2 };

// ---- Memory

// Where a packet fits; false while it does not.
static bool find_room(const hwd_session *session, uint64_t size, uint64_t *offset) {
    uint64_t start = 0;
    // Packets in flight are few: the next start after each of them that overlaps.
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < session->flight_count; i++) {
            const flight *other = &session->flights[i];
            if (other->size == 0 || other->offset >= start + size || other->offset + other->size <= start) continue;
            start = (other->offset + other->size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
            moved = true;
        }
    }
    *offset = start;
    return session->packets && start + size <= session->packets->size;
}

bool hwdi_has_space(hwd_session *session, void *context) {
    const struct need *need = context;
    const packet_log *log = session->decoding;
    uint64_t offset;
    if (hwdi_lacks_worker(session)) return false;
    // To wait until the worker has all could be to wait for pictures that the app has to release.
    if (!hwdi_all_sent(session, NULL)) return log->keeps && hwdi_packets_end(log) - log->next < session->max_flights;
    return session->flight_count < session->max_flights && (!need->own_memory || find_room(session, need->size, &offset));
}

// Whether the worker has no packet in the session's own memory, nor gets one.
static bool is_unused(hwd_session *session, void *context) {
    (void)context;
    for (uint32_t i = 0; i < session->flight_count; i++)
        if (session->flights[i].size > 0) return false;
    return hwdi_all_sent(session, NULL);
}

static int create_memory(uint64_t size, hwd_pool **pool) { return hwd_pool_create(size * 2 > FIRST_SIZE ? size * 2 : FIRST_SIZE, pool); }

static int wait_until_unused(hwd_session *session, int64_t deadline) {
    int unused = hwdi_pump(session, deadline, is_unused, NULL);
    return unused == 0 ? hwdi_fail(-EAGAIN, "the session read no packet in time") : unused;
}

// Replaces the memory by a larger one.
static int grow(hwd_session *session, uint64_t size, int64_t deadline) {
    hwd_pool *pool;
    int result = wait_until_unused(session, deadline);
    if (result > 0) result = create_memory(size, &pool);
    if (result < 0) return result;
    int number = hwdi_register_pool(session, pool, hwdi_until(session, HWD_DEFAULT_TIMEOUT));
    // Another worker may have been sent packets meanwhile.
    if (number > 0 && (result = wait_until_unused(session, hwdi_until(session, HWD_DEFAULT_TIMEOUT))) < 0) {
        hwdi_unregister_pool(session, (uint32_t)number, hwdi_until(session, HWD_DEFAULT_TIMEOUT));
        number = result;
    }
    if (number < 0) {
        hwd_pool_unref(pool);
        return number;
    }
    uint32_t old = session->packets_number;
    hwd_pool_unref(session->packets);
    session->packets = pool;
    session->packets_number = (uint32_t)number;
    return old ? hwdi_unregister_pool(session, old, hwdi_until(session, HWD_DEFAULT_TIMEOUT)) : 0;
}

int hwdi_reserve_memory(hwd_session *session, uint64_t size, int64_t deadline) {
    return session->packets && session->packets->size >= size ? 0 : grow(session, size, deadline);
}

int hwdi_renew_memory(hwd_session *session) {
    packet_log *log = session->decoding;
    uint64_t size = log->earlier.size > log->later.size ? log->earlier.size : log->later.size;
    for (uint64_t number = log->first; number < hwdi_packets_end(log); number++) {
        const kept *packet = hwdi_find_packet(log, number);
        if (packet->size > size) size = packet->size;
    }
    if (session->packets && session->packets->size >= size) return 0;
    hwd_pool *pool;
    int result = create_memory(size, &pool);
    if (result == 0) result = hwdi_replace_pool(session, session->packets_number, pool);
    if (result < 0) {
        hwd_pool_unref(pool);
        return result;
    }
    hwd_pool_unref(session->packets);
    session->packets = pool;
    session->packets_number = (uint32_t)result;
    return 0;
}

// ---- Messages

bool hwdi_may_send_packet(const hwd_session *session) {
    packet_log *log = session->decoding;
    const kept *next = hwdi_find_packet(log, log->next);
    uint64_t offset;
    return next && session->flight_count < session->max_flights && (next->pool || find_room(session, next->size, &offset));
}

// decodeFrame of a packet for which a flight is added.
static int write_message(hwd_session *session, const kept *packet, flight sent, uint32_t pool, uint32_t flags, int64_t deadline) {
    uint8_t payload[48] = {0};
    put_64(payload, sent.number);
    put_64(payload + 8, (uint64_t)packet->pts);
    put_64(payload + 16, (uint64_t)packet->duration);
    put_32(payload + 24, pool);
    put_32(payload + 28, flags);
    put_64(payload + 32, sent.offset);
    put_32(payload + 40, packet->size);
    struct iovec part = {payload, sizeof payload};
    session->flights[session->flight_count++] = sent;
    int result = hwdi_write(session, DECODE_FRAME, &part, 1, -1, deadline);
    flight *added = result < 0 ? hwdi_find_flight(session, sent.number) : NULL;
    if (added) hwdi_end_flight(session, added);
    return result;
}

int hwdi_write_packet(hwd_session *session, int64_t deadline) {
    packet_log *log = session->decoding;
    const uint64_t number = log->next;
    kept *packet = hwdi_find_packet(log, number);
    flight sent = {number, packet->pool != 0, packet->offset, 0};
    uint32_t flags = (packet->reply ? 0 : ASYNCHRONOUS) | (packet->flags & HWD_DO_NOT_OUTPUT || packet->repeated ? NO_OUTPUT : 0);
    uint32_t pool = packet->pool;
    if (pool == 0) {
        find_room(session, packet->size, &sent.offset);
        sent.size = packet->size;
        memcpy((uint8_t *)session->packets->bytes + sent.offset, packet->data, packet->size);
        pool = session->packets_number;
    }
    if (packet->reply) {
        // Also where an earlier worker was lost before it answered.
        hwdi_forget(session, packet->reply);
        free(packet->reply->body);
        *packet->reply = (waiter){0};
        hwdi_expect(session, packet->reply);
    }
    log->writing = number;
    int result = write_message(session, packet, sent, pool, flags, deadline);
    log->writing = 0;
    if (result == 0) {
        hwdi_packet_sent(session);
    } else if ((packet = hwdi_find_packet(log, number)) && packet->reply) {
        // Its thread waits on until the packet is sent, to another worker perhaps.
        hwdi_forget(session, packet->reply);
    }
    return result;
}

// ---- What another worker needs first

static bool is_read(hwd_session *session, void *context) { return (void)context, hwdi_lacks_worker(session) || session->flight_count == 0; }

static int send_preamble(hwd_session *session, const preamble *of, int64_t deadline) {
    if (of->count == 0) return 0;
    uint8_t *to = session->packets->bytes;
    for (size_t i = 0; i < of->count; to += of->units[i++].size) memcpy(to, of->units[i].bytes, of->units[i].size);
    kept packet = {.size = (uint32_t)of->size, .pts = HWD_NO_PTS};
    flight sent = {PREAMBLE_NUMBER, false, 0, of->size};
    int result = write_message(session, &packet, sent, session->packets_number, ASYNCHRONOUS | NO_OUTPUT, deadline);
    if (result < 0) return result;
    // Another may follow with the same number.
    result = hwdi_pump(session, deadline, is_read, NULL);
    if (result == 0) return hwdi_fail(-ETIMEDOUT, "the session read no packet in time");
    return result < 0 ? result : hwdi_lacks_worker(session) ? HWDI_LOST : 0;
}

int hwdi_send_preambles(hwd_session *session, int64_t deadline) {
    packet_log *log = session->decoding;
    int result = send_preamble(session, &log->earlier, deadline);
    if (result == 0 && log->format)
        result = hwdi_request_in_turn(session, CHANGE_FORMAT, log->format, log->format_size, -1, deadline, NULL);
    return result < 0 ? result : send_preamble(session, &log->later, deadline);
}
