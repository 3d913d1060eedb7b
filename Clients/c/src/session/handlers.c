// SPDX-License-Identifier: MIT
// What a worker's messages do. They are another process's: every field is checked.
#include "replay/packets.h"
#include "replay/replay.h"

static const uint64_t max_packet_memory = (uint64_t)1 << 30;  // of a compression session's arena or packet
static const uint64_t max_picture_memory = (uint64_t)16 << 30; // of a decompression session's arena
static const uint32_t own_memory = UINT32_MAX;

hwd_pool *hwdi_take_memory(hwd_session *session, message *received, uint64_t min_size, uint64_t max_size, const char *what) {
    const char *reason = "is too large";
    hwd_pool *memory = NULL;
    if (min_size <= max_size) {
        memory = hwdi_receive_memory(received->fds[0], min_size, max_size, &reason);
        received->fd_count = 0;
    }
    if (memory) return memory;
    char sentence[128];
    strcpy(sentence, what);
    strcat(strcat(sentence, " "), reason);
    hwdi_broken(session, sentence);
    return NULL;
}

static char *copy_text(const uint8_t *bytes, size_t size) {
    char *line = malloc(size + 1);
    if (line) hwdi_printable(line, size + 1, bytes, size);
    return line;
}

// The reply to a message of hwd_complete, or of a change that is repeated.
static void complete(hwd_session *session, waiter *reply, int32_t status, const uint8_t *body, size_t size) {
    const bool is_silent = reply->is_silent;
    hwdi_forget(session, reply);
    free(reply);
    if (status) {
        char reason[1024];
        hwdi_printable(reason, sizeof reason, body, size);
        return hwdi_lose(session, hwdi_is_status(status) ? status : session->malfunction, reason);
    }
    if (!is_silent) hwdi_did_complete(session);
}

static void handle_reply(hwd_session *session, message *received) {
    uint32_t sequence = get_32(received->payload);
    int32_t status = (int32_t)get_32(received->payload + 4);
    const uint8_t *body = received->payload + 8;
    size_t size = received->size - 8;
    if (sequence == 0 || sequence > session->sequence) return hwdi_broken(session, "it answered a message that was not sent");
    waiter *reply = session->waiters;
    while (reply && (reply->sequence != sequence || reply->answered)) reply = reply->next;
    // Otherwise it answers a request whose caller no longer waits.
    if (!reply) return;
    if (reply->completes) return complete(session, reply, status, body, size);
    reply->answered = true;
    reply->status = status;
    // At once: where the worker is lost before the thread that waits runs, what was not confirmed is forgotten.
    if (reply->change && status) hwdi_remove_entry(session, reply->change);
    else if (reply->change) reply->change->confirmed = true;
    reply->body = status ? copy_text(body, size) : calloc(1, size + 1);
    if (reply->body && !status) memcpy(reply->body, body, size);
}

static void handle_format(hwd_session *session, message *received) {
    item *event = hwdi_new_item(session, HWD_EVENT_FORMAT);
    if (!event) return;
    event->bytes = malloc(received->size + 1);
    if (!event->bytes) {
        hwdi_free_item(event);
        hwdi_end(session, HWD_ALLOCATION_FAILED, "no memory for an event");
        return;
    }
    memcpy(event->bytes, received->payload, received->size);
    event->size = received->size;
    event->event.data = event->bytes;
    event->event.data_size = received->size;
    hwdi_format_arrived(session, event);
}

static arena *find_arena(hwd_session *session, uint32_t number) {
    for (arena *at = session->arenas; at; at = at->next)
        if (at->number == number) return at;
    return NULL;
}

static void handle_add_arena(hwd_session *session, message *received) {
    bool compresses = session->info.kind == HWD_COMPRESSION;
    uint32_t number = get_32(received->payload), count = 0;
    for (arena *at = session->arenas; at; at = at->next) count++;
    if (get_32(received->payload + 4)) return hwdi_broken(session, "a reserved field is not zero");
    if (number == own_memory || find_arena(session, number) || count >= (compresses ? 1 : MAX_ARENAS))
        return hwdi_broken(session, "it sent an arena too many");
    hwd_pool *memory = hwdi_take_memory(session, received, get_64(received->payload + 8),
                                        compresses ? max_packet_memory : max_picture_memory, "an arena");
    arena *added = memory ? malloc(sizeof *added) : NULL;
    if (!added) {
        hwd_pool_unref(memory);
        hwdi_end(session, HWD_ALLOCATION_FAILED, "no memory for an arena");
        return;
    }
    *added = (arena){session->arenas, number, memory};
    session->arenas = added;
}

static void handle_remove_arena(hwd_session *session, message *received) {
    arena *found = find_arena(session, get_32(received->payload));
    if (!found) return hwdi_broken(session, "it removed an arena that does not exist");
    arena **place = &session->arenas;
    while (*place != found) place = &(*place)->next;
    *place = found->next;
    // Pictures that the app holds keep the memory.
    hwd_pool_unref(found->memory);
    free(found);
}

static void handle_frame_released(hwd_session *session, message *received) {
    uint64_t released = get_64(received->payload);
    if (session->replay) {
        entry *frame = hwdi_find_frame(session, released);
        if (!frame || !frame->sent || frame->read) return hwdi_broken(session, "it released what is not in flight");
        return hwdi_did_read(session, frame);
    }
    flight *found = hwdi_find_flight(session, released);
    if (!found) return hwdi_broken(session, "it released what is not in flight");
    bool reports = found->reports_release;
    uint64_t number = found->number;
    hwdi_end_flight(session, found);
    kept *packet = hwdi_find_packet(session->decoding, number);
    if (packet) packet->pool = 0;
    item *event = reports ? hwdi_new_item(session, HWD_EVENT_FRAME_RELEASED) : NULL;
    if (!event) return;
    event->event.number = number;
    hwdi_push(session, event);
}

static void handle_quality(hwd_session *session, message *received) {
    if (session->has_errors) return hwdi_broken(session, "it sent no packet with its quality");
    session->has_errors = true;
    session->errors_packet = get_64(received->payload);
    for (int i = 0; i < 3; i++) {
        uint64_t bits = get_64(received->payload + 16 + 8 * i);
        memcpy(&session->errors[i], &bits, sizeof bits);
    }
}

// The memory that a packet names, with a reference; NULL where it does not hold the packet.
static hwd_pool *packet_memory(hwd_session *session, message *received, uint64_t offset, uint32_t size) {
    uint32_t number = get_32(received->payload + 40);
    if ((number == own_memory) != (received->fd_count == 1)) return NULL;
    arena *found = number == own_memory ? NULL : find_arena(session, number);
    if (number != own_memory && !found) return NULL;
    hwd_pool *memory = found ? hwd_pool_ref(found->memory)
                             : hwdi_take_memory(session, received, size, max_packet_memory, "a packet's memory");
    if (memory && offset <= memory->size && size <= memory->size - offset) return memory;
    hwd_pool_unref(memory);
    return NULL;
}

static void handle_packet(hwd_session *session, message *received) {
    const uint8_t *at = received->payload;
    uint64_t number = get_64(at + 8), offset = get_64(at + 48);
    uint32_t size = get_32(at + 56), flags = get_32(at + 44);
    bool has_errors = session->has_errors;
    session->has_errors = false;
    if (has_errors && session->errors_packet != get_64(at)) return hwdi_broken(session, "it sent the quality of another packet");
    if (number == 0 || number > session->last_number || at[61] > 6 || at[62] || at[63])
        return hwdi_broken(session, "a packet has an impossible field");
    if (session->held_by_client >= session->info.max_packets_in_flight)
        return hwdi_broken(session, "it sent more packets than its credits allow");
    hwd_pool *memory = packet_memory(session, received, offset, size);
    if (!memory) return hwdi_broken(session, "a packet is outside the memory that it names");
    item *made = hwdi_new_item(session, HWD_EVENT_PACKET);
    if (!made) return hwd_pool_unref(memory);
    made->memory = memory;
    made->remote = get_64(at);
    hwd_event *event = &made->event;
    event->number = number;
    event->pts = (int64_t)get_64(at + 16);
    event->dts = (int64_t)get_64(at + 24);
    event->duration = (int64_t)get_64(at + 32);
    event->flags = (flags & (HWD_SYNC | HWD_DISPOSABLE)) | (has_errors ? (uint32_t)HWD_HAS_ERRORS : 0);
    event->nal_unit_type = at[60];
    event->temporal_id = at[61];
    event->data = (const uint8_t *)memory->bytes + offset;
    event->data_size = size;
    event->pool = memory;
    if (has_errors) memcpy(event->mean_squared_errors, session->errors, sizeof session->errors);
    session->held_by_client++;
    hwdi_packet_arrived(session, made);
}

static void handle_end(hwd_session *session, message *received) {
    int32_t status = (int32_t)get_32(received->payload);
    char reason[1024];
    hwdi_printable(reason, sizeof reason, received->payload + 4, received->size - 4);
    // Status 0 answers the app's own invalidation.
    if (status == 0) return hwdi_end(session, HWD_INVALID_SESSION, reason);
    hwdi_lose(session, hwdi_is_status(status) ? status : session->malfunction, reason);
}

static void report(hwd_session *session, message *received, uint32_t type, uint32_t flags) {
    int32_t status = (int32_t)get_32(received->payload + 8);
    if (status && !hwdi_is_status(status)) return hwdi_broken(session, "a report has an impossible status");
    item *made = hwdi_new_item(session, type);
    if (!made) return;
    made->event.number = get_64(received->payload);
    made->event.status = status;
    made->event.flags = flags;
    if (received->size > 16) {
        made->size = received->size - 16;
        made->event.reason = made->bytes = copy_text(received->payload + 16, made->size);
    }
    hwdi_push(session, made);
}

static void handle_report(hwd_session *session, message *received) {
    uint64_t number = get_64(received->payload);
    if (number == PREAMBLE_NUMBER && session->process > 1) return;
    if (number == 0 || number >= session->decoding->next) return hwdi_broken(session, "it reported a packet that was never sent");
    uint32_t bits = get_32(received->payload + 12), flags = (bits & 7) * HWD_DROPPED | (bits & 8 ? (uint32_t)HWD_RPU_NOT_APPLIED : 0);
    if (hwdi_take_report(session, number, received->payload + 8, received->size - 8, flags)) report(session, received, HWD_EVENT_REPORT, flags);
}

static void handle_transferred(hwd_session *session, message *received) {
    entry *found = hwdi_find_frame(session, get_64(received->payload));
    if (!found || !found->sent) return hwdi_broken(session, "it sent the result of a frame that is not in flight");
    if (get_32(received->payload + 12)) return hwdi_broken(session, "a reserved field is not zero");
    if (found->transfer) hwdi_advance_effects(session, found->transfer);
    hwdi_remove_entry(session, found);
    hwdi_fold_properties(session);
    report(session, received, HWD_EVENT_TRANSFERRED, 0);
}

enum { C = 1 << HWD_COMPRESSION, D = 1 << HWD_DECOMPRESSION, T = 1 << HWD_TRANSFER };

// Who may send what: the kinds of sessions, the sizes of the payload, the numbers of descriptors.
static const struct rule {
    uint32_t opcode, kinds, min_size, max_size, min_fds, max_fds;
    void (*handle)(hwd_session *session, message *received);
} rules[] = {
    {REPLY, C | D | T, 8, MAX_PAYLOAD, 0, 0, handle_reply},
    {FORMAT_DESCRIPTION, C, 1, MAX_PAYLOAD, 0, 0, handle_format},
    {ADD_ARENA, C | D, 16, 16, 1, 1, handle_add_arena},
    {FRAME_RELEASED, C | D, 8, 8, 0, 0, handle_frame_released},
    {PACKET, C, 64, 64, 0, 1, handle_packet},
    {END, C | D | T, 4, MAX_PAYLOAD, 0, 0, handle_end},
    {FRAME_DECODED, D, 88, MAX_PAYLOAD, 0, 0, hwdi_handle_picture},
    {PACKET_REPORT, D, 16, MAX_PAYLOAD, 0, 0, handle_report},
    {REMOVE_ARENA, D, 4, 4, 0, 0, handle_remove_arena},
    {QUALITY_METRICS, C, 40, 40, 0, 0, handle_quality},
    {FRAME_TRANSFERRED, T, 16, MAX_PAYLOAD, 0, 0, handle_transferred},
};

void hwdi_handle(hwd_session *session, message *received) {
    const struct rule *found = NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].opcode == received->opcode) found = &rules[i];
    if (!found || !(found->kinds & 1u << session->info.kind))
        hwdi_broken(session, "a message is not for this kind of session");
    else if (received->size < found->min_size || received->size > found->max_size)
        hwdi_broken(session, "a message has the wrong size");
    else if (received->fd_count < found->min_fds || received->fd_count > found->max_fds)
        hwdi_broken(session, "a message has the wrong number of file descriptors");
    else
        found->handle(session, received);
    for (uint32_t i = 0; i < received->fd_count; i++) hwdi_close(received->fds[i]);
}
