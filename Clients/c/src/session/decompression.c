// SPDX-License-Identifier: MIT
#include "replay/packets.h"

int hwd_decompression_create(hwd_daemon *daemon, const hwd_decompression_config *config, hwd_session **session) {
    hwd_decompression_config given;
    if (!daemon || !session) return hwdi_fail(-EINVAL, "a session needs a daemon and a pointer");
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
    result = hwdi_create(daemon, HWD_DECOMPRESSION, &call, given.properties, given.timeout_ms, given.max_wait_ms, session);
    if (result == 0) (*session)->decoding->length_size = hwdi_length_size(given.format, given.format_size);
    return result;
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

static bool is_written(hwd_session *session, void *context) { return session->decoding->writing != *(uint64_t *)context; }

// Adds a packet for which there is room, and sends it. Where its worker is lost, another one is sent it.
static int add_packet(hwd_session *session, hwd_packet *packet, waiter *reply, int64_t deadline) {
    packet_log *log = session->decoding;
    hwd_pool *pool = packet->pool ? hwdi_find_pool(session, packet->pool) : NULL;
    const uint8_t *data = pool ? (uint8_t *)pool->bytes + packet->offset : packet->data;
    uint64_t number = hwdi_append_packet(session, packet, data);
    if (number == 0) return hwdi_fail_errno(ENOMEM, "a packet");
    if (reply) hwdi_find_packet(log, number)->reply = reply;
    int result = hwdi_send_logged(session, deadline);
    packet->number = number;
    // Another thread may be sending it, which has the session's timeout.
    while (log->writing == number && !hwdi_has_ended(session)) hwdi_pump(session, hwdi_until(session, HWD_DEFAULT_TIMEOUT), is_written, &number);
    if (hwdi_has_ended(session)) return hwdi_ended(session);
    const kept *added = number >= log->next ? hwdi_find_packet(log, number) : NULL;
    // Sent, or copied for another worker.
    if (!added || added->sent || result == HWDI_LOST || (result == 0 && added->bytes)) return 0;
    hwdi_take_back_packet(session);
    return result < 0 ? result : hwdi_fail(-EAGAIN, "the session read no packet in time");
}

// With `storing` set, so that packets of several threads do not share a place.
static int decode(hwd_session *session, hwd_packet *packet, waiter *reply, int64_t deadline) {
    struct need need = {packet->data_size, packet->pool == 0};
    int result = check_packet(session, packet);
    if (result < 0) return result;
    if (session->event_count > MAX_UNFETCHED_EVENTS)
        return hwdi_fail(-EAGAIN, "%zu events were not fetched; fetch events first", session->event_count);
    if (need.own_memory && (result = hwdi_reserve_memory(session, need.size, deadline)) < 0) return result;
    result = hwdi_pump(session, deadline, hwdi_has_space, &need);
    if (result < 0) return result;
    if (hwdi_has_ended(session)) return hwdi_ended(session);
    if (result == 0)
        return hwdi_fail(-EAGAIN, "%u packets are in flight and none was released in time; fetch and release events", session->flight_count);
    // Another thread may have removed the pool meanwhile.
    result = check_packet(session, packet);
    return result < 0 ? result : add_packet(session, packet, reply, deadline);
}

struct synchronous {
    waiter reply;
    uint64_t number;
};

// Where the packet is not sent to another worker, the one before has returned its picture.
static bool is_taken(hwd_session *session, void *context) {
    const struct synchronous *of = context;
    return of->reply.answered && (!of->reply.lost || !hwdi_find_packet(session->decoding, of->number));
}

// Waits until a decoder has taken a packet.
static int await_decoder(hwd_session *session, struct synchronous *of, int64_t deadline) {
    int result = hwdi_pump(session, deadline, is_taken, of);
    waiter *reply = &of->reply;
    while (result > 0 && !reply->lost && reply->status == session->malfunction && hwdi_may_continue(session)) {
        hwdi_lose(session, reply->status, reply->body ? reply->body : "");
        reply->lost = true;
        result = hwdi_pump(session, deadline, is_taken, of);
    }
    if (result == 0) result = hwdi_fail(-ETIMEDOUT, "the session did not answer in time");
    if (result > 0 && !reply->lost && reply->status)
        result = hwdi_fail(hwdi_is_status(reply->status) ? reply->status : session->malfunction, "%s", reply->body ? reply->body : "");
    return result < 0 ? result : 0;
}

static bool may_store(hwd_session *session, void *context) { return (void)context, !session->storing; }

int hwd_decode(hwd_session *session, hwd_packet *packet, int timeout_ms) {
    hwd_packet given;
    int result = hwdi_take(&given, sizeof given, packet);
    if (result < 0 || (result = hwdi_enter(session, HWD_DECOMPRESSION)) < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    struct synchronous of = {0};
    bool waits = given.flags & HWD_SYNCHRONOUS;
    result = hwdi_pump(session, deadline, may_store, NULL);
    if (result > 0) {
        session->storing = true;
        result = decode(session, &given, waits ? &of.reply : NULL, deadline);
        session->storing = false;
        hwdi_changed(session);
        if (result == 0) hwdi_return(packet, &given, sizeof given);
        of.number = given.number;
        if (result == 0 && waits) result = await_decoder(session, &of, deadline);
    } else if (result == 0) {
        result = hwdi_fail(-EAGAIN, "another thread is sending a packet");
    }
    kept *sent = waits && of.number ? hwdi_find_packet(session->decoding, of.number) : NULL;
    if (sent && sent->reply == &of.reply) sent->reply = NULL;
    hwdi_forget(session, &of.reply);
    free(of.reply.body);
    hwdi_leave(session);
    return result;
}

// Enters the session.
static int check_format(hwd_session *session, const void *format, size_t size) {
    if (!format || size == 0 || size > MAX_PAYLOAD)
        return hwdi_fail(HWD_PARAMETER, "a format description of %zu bytes is not possible", size);
    return hwdi_enter(session, HWD_DECOMPRESSION);
}

int hwd_can_accept_format(hwd_session *session, const void *format, size_t size, int timeout_ms) {
    int result = check_format(session, format, size);
    if (result < 0) return result;
    result = hwdi_request(session, CAN_ACCEPT_FORMAT, format, size, -1, hwdi_until(session, timeout_ms), NULL);
    hwdi_leave(session);
    return result;
}

int hwd_change_format(hwd_session *session, const void *format, size_t size, int timeout_ms) {
    int result = check_format(session, format, size);
    if (result < 0) return result;
    result = hwdi_change(session, FORMAT_ENTRY, CHANGE_FORMAT, format, size, hwdi_until(session, timeout_ms));
    hwdi_leave(session);
    return result;
}
