// SPDX-License-Identifier: MIT
// Holds packets back until those that are delivered form an unbroken run of frames in presentation order. What was delivered
// before a failure is then exactly the first frames of the stream, so that another stream can begin with the next one. Without
// reordering each packet passes at once, otherwise a group of pictures at a time.
#include "replay/packets.h"
#include "replay/replay.h"

// A worker has memory for 64 packets, and waits when the client has all.
enum { MAX_HELD_IN_PLACE = 8, MAX_HELD_BYTES = 2 << 20 };

static bool is_given(const replay *of, const item *format) {
    return of->format && of->format_size == format->size && !memcmp(of->format, format->bytes, format->size);
}

// Passes a record on, unless the app has it: another process repeats it.
static void give_format(hwd_session *session, item *format) {
    replay *of = session->replay;
    if (session->process > 1 && is_given(of, format)) return hwdi_free_item(format);
    uint8_t *copy = malloc(format->size);
    if (!copy) {
        hwdi_free_item(format);
        return hwdi_end(session, HWD_ALLOCATION_FAILED, "no memory for a format description");
    }
    memcpy(copy, format->bytes, format->size);
    free(of->format);
    of->format = copy;
    of->format_size = format->size;
    hwdi_push(session, format);
}

void hwdi_format_arrived(hwd_session *session, item *format) {
    replay *of = session->replay;
    hwdi_free_item(of->next_format);
    of->next_format = NULL;
    if (of->held)
        of->next_format = format;
    else
        give_format(session, format);
}

static void deliver(hwd_session *session, item *packet) {
    replay *of = session->replay;
    entry *frame = hwdi_find_frame(session, packet->event.number);
    item *format = packet->format;
    packet->format = NULL;
    if (format) give_format(session, format);
    packet->event.dts = hwdi_timeline_next(&of->times, packet->event.dts);
    hwdi_push(session, packet);
    if (!frame) return;
    hwdi_free_copy(session, frame);
    frame->delivered = true;
    // Otherwise its memory is still the worker's.
    if (!frame->read) return;
    hwdi_return_frame(session, frame);
    hwdi_remove_entry(session, frame);
}

void hwdi_open_gate(hwd_session *session) {
    replay *of = session->replay;
    item *next;
    for (item *packet = of->held; packet; packet = next) {
        next = packet->next;
        deliver(session, packet);
    }
    of->delivered += of->held_count;
    of->held = NULL;
    of->held_end = &of->held;
    of->held_count = 0;
    of->held_bytes = 0;
    hwdi_fold_properties(session);
}

void hwdi_discard_held(replay *of) {
    item *next;
    for (item *packet = of->held; packet; packet = next) {
        next = packet->next;
        hwdi_free_item(packet);
    }
    hwdi_free_item(of->next_format);
    of->next_format = NULL;
    of->held = NULL;
    of->held_end = &of->held;
    of->held_count = 0;
    of->held_bytes = 0;
}

bool hwdi_move_packet(hwd_session *session, item *packet) {
    hwd_pool *pool;
    size_t size = packet->event.data_size;
    if (packet->process != session->process || hwd_pool_create(size ? size : 1, &pool) < 0) return false;
    if (size > 0) memcpy(pool->bytes, packet->event.data, size);
    hwd_pool_unref(packet->memory);
    packet->memory = packet->event.pool = pool;
    packet->event.data = pool->bytes;
    packet->process = 0;
    hwdi_release_later(session, packet->remote);
    return true;
}

void hwdi_move_delivered(hwd_session *session) {
    for (item *at = session->first; at; at = at->next)
        if (at->event.type == HWD_EVENT_PACKET) hwdi_move_packet(session, at);
}

static void hold(hwd_session *session, item *packet) {
    enum { FIRST = 1 };
    replay *of = session->replay;
    uint64_t number = packet->event.number;
    of->highest = of->held && of->highest > number ? of->highest : number;
    packet->next = NULL;
    *of->held_end = packet;
    of->held_end = &packet->next;
    of->held_count++;
    of->held_bytes += packet->event.data_size;
    if (of->delivered + of->held_count == of->highest) return hwdi_open_gate(session);
    if (of->held_count > MAX_HELD_IN_PLACE || (of->held_count > FIRST && of->held_bytes > MAX_HELD_BYTES))
        hwdi_move_packet(session, packet);
}

void hwdi_packet_arrived(hwd_session *session, item *packet) {
    replay *of = session->replay;
    const hwd_event *event = &packet->event;
    entry *frame = hwdi_find_frame(session, event->number);
    packet->format = of->next_format;
    of->next_format = NULL;
    const char *fault = NULL;
    if (of->keeps_frames && (!frame || !frame->sent || frame->coded))
        fault = "it sent a packet of an unknown frame, or a second packet of a frame";
    else if (of->keeps_frames && (event->dts > event->pts || event->dts < -2 * TIME_BOUND || event->pts >= TIME_BOUND))
        fault = "a packet has impossible times";
    if (fault) {
        hwdi_free_item(packet);
        return hwdi_broken(session, fault);
    }
    if (frame) frame->coded = true;
    if (of->keeps_frames) return hold(session, packet);
    of->delivered++;
    deliver(session, packet);
    hwdi_fold_properties(session);
}

void hwdi_did_complete(hwd_session *session) {
    replay *of = session->replay;
    entry *request = hwdi_first_completion(session);
    if (!request) return hwdi_broken(session, "it answered a request that was not made");
    int64_t latest = INT64_MIN;
    bool waits = false;
    // Packets of the request may follow one in decoding order that waits for a frame of a later time.
    for (item *packet = of ? of->held : NULL; packet; packet = packet->next) {
        if (packet->event.pts > latest) latest = packet->event.pts;
        waits |= packet->event.pts <= request->pts;
    }
    if (waits) {
        session->completes_again = true;
        session->again_pts = latest;
        return;
    }
    const uint64_t next_packet = request->number;
    hwdi_remove_entry(session, request);
    if (session->decoding) hwdi_packets_answered(session, next_packet);
    hwdi_fold_properties(session);
    item *event = hwdi_new_item(session, HWD_EVENT_COMPLETED);
    if (event) hwdi_push(session, event);
}
