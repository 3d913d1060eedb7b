// SPDX-License-Identifier: MIT
#include "session.h"

enum { FIRST_SIZE = 4 << 20, ALIGNMENT = 64 };

int hwd_decompression_create(hwd_daemon *daemon, const hwd_decompression_config *config, hwd_session **session) {
    hwd_decompression_config given;
    if (!daemon || !session) return hwdi_fail(-EINVAL, "a session needs a daemon and a place");
    *session = NULL;
    int result = hwdi_take(&given, sizeof given, config);
    if (result < 0) return result;
    if (!given.format || given.format_size == 0 || given.format_size > MAX_CALL)
        return hwdi_fail(HWD_PARAMETER, "a format description of %zu bytes is not possible", given.format_size);
    text call = {0};
    hwdi_add_member(&call, "codec", given.codec ? given.codec : "hevc");
    hwdi_add(&call, ",\"format_description\":\"");
    hwdi_add_hex(&call, given.format, given.format_size);
    hwdi_add(&call, "\"");
    hwdi_add_time_base(&call, given.time_base);
    if (given.pixel_format) hwdi_add_fourcc(&call, "pixel_format", given.pixel_format);
    hwdi_add_object(&call, "decoder_specification", given.specification);
    return hwdi_create(daemon, HWD_DECOMPRESSION, &call, given.properties, given.timeout_ms, given.max_wait_ms, session);
}

// ---- The session's own memory, which packets are copied to: filled first fit.

// Where a packet fits; false while it does not.
static bool find_room(hwd_session *session, uint64_t size, uint64_t *offset) {
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

struct need {
    uint64_t size, offset;
};

static bool has_room(hwd_session *session, void *context) {
    struct need *need = context;
    return find_room(session, need->size, &need->offset);
}

static bool is_empty(hwd_session *session, void *context) {
    (void)context;
    for (uint32_t i = 0; i < session->flight_count; i++)
        if (session->flights[i].size > 0) return false;
    return true;
}

// Replaces the memory by a larger one, once it is empty.
static int grow(hwd_session *session, uint64_t size, int64_t deadline) {
    int empty = hwdi_pump(session, deadline, is_empty, NULL);
    if (empty < 0) return empty;
    if (empty == 0) return hwdi_fail(-EAGAIN, "the session read no packet in time");
    hwd_pool *pool;
    int result = hwd_pool_create(size * 2 > FIRST_SIZE ? size * 2 : FIRST_SIZE, &pool);
    if (result < 0) return result;
    int number = hwdi_register_pool(session, pool, hwdi_until(session, HWD_DEFAULT_TIMEOUT));
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

static int store(hwd_session *session, hwd_packet *packet, int64_t deadline) {
    struct need need = {packet->data_size, 0};
    if (!session->packets || session->packets->size < need.size) {
        int result = grow(session, need.size, deadline);
        if (result < 0) return result;
    }
    int result = hwdi_pump(session, deadline, has_room, &need);
    if (result < 0) return result;
    if (result == 0) return hwdi_fail(-EAGAIN, "the session read no packet in time");
    memcpy((uint8_t *)session->packets->bytes + need.offset, packet->data, need.size);
    packet->pool = session->packets_number;
    packet->offset = need.offset;
    return 0;
}

// ---- Sending

static int check_packet(hwd_session *session, const hwd_packet *packet) {
    if (packet->flags & ~(uint32_t)(HWD_SYNCHRONOUS | HWD_DO_NOT_OUTPUT)) return hwdi_fail(HWD_PARAMETER, "the packet has unknown flags");
    if (packet->data_size == 0 || packet->data_size > MAX_PACKET || (packet->pool == 0 && !packet->data))
        return hwdi_fail(HWD_PARAMETER, "a packet of %u bytes is not possible", packet->data_size);
    if (packet->pts != HWD_NO_PTS && (packet->pts <= -TIME_BOUND || packet->pts >= TIME_BOUND))
        return hwdi_fail(HWD_PARAMETER, "the packet's pts is not possible");
    if (packet->duration < 0 || packet->duration >= TIME_BOUND)
        return hwdi_fail(HWD_PARAMETER, "the packet's duration is not possible");
    if (packet->pool == 0) return 0;
    hwd_pool *pool = hwdi_find_pool(session, packet->pool);
    if (!pool || packet->pool == session->packets_number) return hwdi_fail(HWD_PARAMETER, "there is no pool %u of the app's", packet->pool);
    if (packet->offset > pool->size || packet->data_size > pool->size - packet->offset)
        return hwdi_fail(HWD_PARAMETER, "the packet ends past its pool");
    return 0;
}

// `reply` is expected where the packet is synchronous.
static int send_packet(hwd_session *session, const hwd_packet *packet, uint64_t number, waiter *reply, int64_t deadline) {
    uint8_t payload[48] = {0};
    bool synchronous = packet->flags & HWD_SYNCHRONOUS;
    put_64(payload, number);
    put_64(payload + 8, (uint64_t)packet->pts);
    put_64(payload + 16, (uint64_t)packet->duration);
    put_32(payload + 24, packet->pool);
    put_32(payload + 28, (synchronous ? 0 : 1) | (packet->flags & HWD_DO_NOT_OUTPUT ? 2 : 0));
    put_64(payload + 32, packet->offset);
    put_32(payload + 40, packet->data_size);
    struct iovec part = {payload, sizeof payload};
    int result = hwdi_take_turn(session, deadline);
    if (result < 0) return result;
    // Another thread may have removed the pool meanwhile.
    uint32_t pool = packet->pool;
    if (pool != session->packets_number && (result = check_packet(session, packet)) < 0) {
        hwdi_end_turn(session);
        return result;
    }
    if (synchronous) hwdi_expect(session, reply);
    result = hwdi_send(session, DECODE_FRAME, &part, 1, -1, deadline);
    if (result < 0 && synchronous) hwdi_forget(session, reply);
    return result;
}

static bool may_store(hwd_session *session, void *context) { return (void)context, !session->storing; }

// With `storing` set, so that packets of several threads do not share a place.
static int decode(hwd_session *session, hwd_packet *packet, waiter *reply, int64_t deadline) {
    uint64_t number;
    bool own_memory = packet->pool == 0;
    int result = hwdi_take_credit(session, deadline, "packets", &number);
    if (result < 0) return result;
    if (own_memory) result = store(session, packet, deadline);
    flight *taken = hwdi_find_flight(session, number);
    if (result == 0 && !taken) {
        hwdi_broken(session, "it released what was not sent");
        result = hwdi_ended(session);
    } else if (result == 0) {
        taken->reports_release = !own_memory;
        taken->offset = packet->offset;
        taken->size = own_memory ? packet->data_size : 0;
        result = send_packet(session, packet, number, reply, deadline);
        taken = hwdi_find_flight(session, number);
    }
    if (result < 0 && taken) hwdi_end_flight(session, taken);
    if (result == 0) packet->number = number;
    return result;
}

int hwd_decode(hwd_session *session, hwd_packet *packet, int timeout_ms) {
    hwd_packet given;
    int result = hwdi_take(&given, sizeof given, packet);
    if (result < 0 || (result = hwdi_enter(session, HWD_DECOMPRESSION)) < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    waiter reply = {0};
    result = hwdi_pump(session, deadline, may_store, NULL);
    if (result > 0) {
        result = check_packet(session, &given);
        if (result == 0) {
            uint32_t pool = given.pool;
            session->storing = true;
            result = decode(session, &given, &reply, deadline);
            session->storing = false;
            given.pool = pool;
            hwdi_changed(session);
            if (result == 0) {
                hwdi_return(packet, &given, sizeof given);
                if (given.flags & HWD_SYNCHRONOUS) result = hwdi_await_reply(session, &reply, deadline, NULL);
            }
        }
    } else if (result == 0) {
        result = hwdi_fail(-EAGAIN, "another thread is sending a packet");
    }
    hwdi_leave(session);
    return result;
}

static int send_format(hwd_session *session, uint32_t opcode, const void *format, size_t size, int timeout_ms) {
    if (!format || size == 0 || size > MAX_PAYLOAD)
        return hwdi_fail(HWD_PARAMETER, "a format description of %zu bytes is not possible", size);
    int result = hwdi_enter(session, HWD_DECOMPRESSION);
    if (result < 0) return result;
    result = hwdi_request(session, opcode, format, size, -1, hwdi_until(session, timeout_ms), NULL);
    hwdi_leave(session);
    return result;
}

int hwd_can_accept_format(hwd_session *session, const void *format, size_t size, int timeout_ms) {
    return send_format(session, CAN_ACCEPT_FORMAT, format, size, timeout_ms);
}

int hwd_change_format(hwd_session *session, const void *format, size_t size, int timeout_ms) {
    return send_format(session, CHANGE_FORMAT, format, size, timeout_ms);
}
