// SPDX-License-Identifier: MIT
// Packets of a source, which may give anything.
#include "output/output.h"

#include <stdio.h>

#define PTS_BOUND ((int64_t)1 << 55)

enum { EMPTY_LIMIT = 100000 }; // empty packets in a row

static int check(const hwd_output_packet *packet) {
    if (!packet->data || packet->data_size > MAX_PACKET) return hwdi_fail(-EINVAL, "the source's packet has no data or too much");
    if (packet->pts < -PTS_BOUND || packet->pts > PTS_BOUND) return hwdi_fail(-EINVAL, "the source's packet has no possible time");
    if (packet->format_size > MAX_CALL || (packet->format && packet->format_size == 0))
        return hwdi_fail(-EINVAL, "the source's format description has no possible size");
    return 1;
}

int hwdi_read_packet(hwd_video_output *of) {
    if (of->is_pending) return 1;
    hwd_output_packet *packet = &of->pending;
    for (int i = 0; i < EMPTY_LIMIT; i++) {
        HWD_INIT(*packet);
        int result = of->config.source.next(of->config.source.context, packet);
        if (result < 0) return hwdi_fail(result, "the source fails");
        if (result == 0) return 0;
        if (packet->data_size == 0) continue;
        if ((result = check(packet)) < 0) return result;
        if (packet->duration < 0 || packet->duration > PTS_BOUND) packet->duration = 0;
        of->is_pending = true;
        of->tries = 0;
        return 1;
    }
    return hwdi_fail(-EINVAL, "the source's packets are empty");
}

int hwdi_seek_source(hwd_video_output *of, int64_t time, int64_t *key) {
    of->is_pending = false;
    if (time > PTS_BOUND) time = PTS_BOUND;
    if (time < -PTS_BOUND) time = -PTS_BOUND;
    int result = of->config.source.seek(of->config.source.context, time);
    if (result < 0) return hwdi_fail(result, "the source cannot seek");
    while ((result = hwdi_read_packet(of)) > 0 && !(of->pending.flags & HWD_OUTPUT_KEY)) of->is_pending = false;
    if (result < 0) return result;
    *key = result > 0 ? of->pending.pts : time;
    return 0;
}

void hwdi_note_format(hwd_video_output *of, const uint8_t *format, size_t size) {
    // Rec. ISO/IEC 14496-15, 8.3.3.1: the version of a record, and the size of a length.
    of->length_size = size > 22 && format[0] == 1 ? (format[21] & 3) + 1 : 0;
}

// Where a NAL unit begins from `*at` on, and its end; false at the packet's end.
static bool next_unit(const uint8_t *data, size_t size, int length_size, size_t *at, size_t *end) {
    if (length_size == 0) {
        for (; *at + 3 <= size; (*at)++) {
            if (data[*at] || data[*at + 1] || data[*at + 2] != 1) continue;
            *at += 3, *end = *at;
            return true;
        }
        return false;
    }
    if (size < (size_t)length_size || *at > size - (size_t)length_size) return false;
    size_t length = 0;
    for (int i = 0; i < length_size; i++) length = length << 8 | data[(*at)++];
    *end = length > size - *at ? size : *at + length;
    return true;
}

bool hwdi_can_be_left_out(hwd_video_output *of) {
    const uint8_t *data = of->pending.data;
    size_t size = of->pending.data_size, at = 0, end = 0;
    for (; next_unit(data, size, of->length_size, &at, &end) && at + 2 <= size; at = end) {
        // Rec. ITU-T H.265, 7.3.1.2 and table 7-1: the even types to 14 are of pictures that none of their level refers to.
        int kind = data[at] >> 1 & 0x3f, layer = (data[at] & 1) << 5 | data[at + 1] >> 3;
        if (kind >= 32 || layer != 0) continue;
        int level = (data[at + 1] & 7) > 0 ? (data[at + 1] & 7) - 1 : 0;
        bool is_highest = level >= of->highest;
        if (is_highest) of->highest = level;
        return is_highest && (level > 0 || (kind <= 14 && kind % 2 == 0));
    }
    return false;
}

int64_t hwdi_span_end(const hwd_video_output *of) {
    if (of->span_last == NONE) return NONE;
    int64_t duration = of->span_duration;
    if (duration <= 0 && of->span_before != NONE) duration = of->span_last - of->span_before;
    return of->span_last + (duration > 1 ? duration : 1);
}
