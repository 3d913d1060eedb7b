// SPDX-License-Identifier: GPL-2.0-or-later
// What a session sends: parameter sets and packets.
#include "session.h"

#include <stdlib.h>

void free_packet(packet *at) {
    free(at->headers.bytes);
    free(at->data.bytes);
    free(at);
}

static bool copy_units(const uint8_t *bytes, size_t size, units *out) {
    *out = (units){malloc(size ? size : 1), size};
    if (!out->bytes) return false;
    memcpy(out->bytes, bytes, size);
    return true;
}

// Replaces start codes of 4 bytes by lengths.
static void set_lengths(units *sets) {
    size_t start = 0;
    for (size_t i = 4; i <= sets->size; i++) {
        bool ends = i == sets->size || (i + 4 <= sets->size && memcmp(sets->bytes + i, "\0\0\0\1", 4) == 0);
        if (!ends) continue;
        uint32_t length = (uint32_t)(i - start - 4);
        for (int k = 0; k < 4; k++) sets->bytes[start + (size_t)k] = (uint8_t)(length >> (24 - 8 * k));
        start = i;
        i += 3;
    }
}

static int read_headers(hardware *encoder, const uint8_t *record, size_t size, units *out) {
    size_t written = 0;
    int result = hwd_parameter_sets(record, size, NULL, 0, &written);
    if (result < 0) return result;
    uint8_t *bytes = malloc(written ? written : 1);
    if (!bytes) return set_fault(encoder, "no memory");
    if ((result = hwd_parameter_sets(record, size, bytes, written, &written)) < 0) {
        free(bytes);
        return result;
    }
    *out = (units){bytes, written};
    set_lengths(out);
    return 0;
}

// Takes a packet's bytes, so that the worker can use its memory again at once.
static int take_packet(hardware *encoder, const hwd_event *event) {
    if (event->pts < encoder->first_info || event->pts >= encoder->sent || encoder->received >= encoder->sent)
        return set_fault(encoder, "a packet belongs to no picture");
    packet *made = calloc(1, sizeof *made);
    if (!made || !copy_units(event->data, event->data_size, &made->data)) {
        free(made);
        return set_fault(encoder, "no memory");
    }
    made->number = event->pts;
    made->flags = event->flags;
    made->unit_type = event->nal_unit_type;
    made->temporal_id = event->temporal_id;
    made->has_headers = encoder->new_headers.size > 0;
    made->headers = encoder->new_headers;
    encoder->new_headers = (units){0};
    // A session's first decoding time is as many pictures before the first picture as the encoder reorders.
    if (encoder->received == 0 && event->dts < 0 && event->dts >= -X265_BFRAME_MAX) encoder->depth = -event->dts;
    encoder->received++;
    *encoder->last = made;
    encoder->last = &made->next;
    return 0;
}

static int take_event(hardware *encoder, const hwd_event *event) {
    switch (event->type) {
    case HWD_EVENT_FORMAT:
        free(encoder->new_headers.bytes);
        encoder->new_headers = (units){0};
        return read_headers(encoder, event->data, event->data_size, &encoder->new_headers);
    case HWD_EVENT_PACKET: return take_packet(encoder, event);
    case HWD_EVENT_COMPLETED: encoder->completions--; return 0;
    default: return 0;
    }
}

int receive(hardware *encoder, int timeout_ms) {
    hwd_event event;
    int result, found = 0;
    HWD_INIT(event);
    while ((result = hwd_next_event(encoder->session, &event, found ? 0 : timeout_ms)) > 0) {
        found = 1;
        int taken = take_event(encoder, &event);
        result = hwd_release(encoder->session, &event);
        if (taken < 0 || result < 0) return taken < 0 ? taken : result;
    }
    if (result >= 0 && found) log_restart(encoder);
    return result < 0 ? result : found;
}
