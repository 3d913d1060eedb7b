// SPDX-License-Identifier: GPL-2.0-or-later
// Pictures on their way to the session, and one call of x265_encoder_encode.
#include "session.h"

#include <errno.h>
#include <stdlib.h>

enum {
    STEP = 50,        // ms between looks at events while the session takes nothing
    TIME_LIMIT = 60,  // s until a session that returns nothing has failed
    KEPT_INFOS = 64   // infos that decoding times still need; more than any encoder reorders
};

picture_info *info_of(hardware *encoder, int64_t number) { return &encoder->infos[number & (encoder->info_capacity - 1)]; }

void drop_infos(hardware *encoder, int64_t before) {
    for (; encoder->first_info < before; encoder->first_info++) free(info_of(encoder, encoder->first_info)->messages.bytes);
}

static bool reserve_info(hardware *encoder) {
    int64_t count = encoder->sent - encoder->first_info, capacity = encoder->info_capacity;
    if (count < capacity) return true;
    int64_t larger = capacity ? 2 * capacity : 4 * KEPT_INFOS;
    picture_info *made = calloc((size_t)larger, sizeof *made);
    if (!made) return false;
    for (int64_t i = encoder->first_info; i < encoder->sent; i++) made[i & (larger - 1)] = *info_of(encoder, i);
    free(encoder->infos);
    encoder->infos = made;
    encoder->info_capacity = larger;
    return true;
}

static unsigned sample(const uint8_t *row, uint32_t x, bool is_wide) {
    return is_wide ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

// Copies a row of samples of `from` bits to `to` bits (8, or 10 in 2 bytes).
static void copy_row(uint8_t *to, const uint8_t *from, uint32_t count, int to_bits, int from_bits) {
    if (to_bits == from_bits) {
        memcpy(to, from, to_bits > 8 ? 2 * (size_t)count : count);
        return;
    }
    unsigned greatest = (1U << to_bits) - 1;
    for (uint32_t x = 0; x < count; x++) {
        unsigned value = sample(from, x, from_bits > 8);
        value = (from_bits > to_bits ? value >> (from_bits - to_bits) : value << (to_bits - from_bits)) & greatest;
        if (to_bits > 8)
            ((uint16_t *)(void *)to)[x] = (uint16_t)value;
        else
            to[x] = (uint8_t)value;
    }
}

static void copy_planes(const hardware *encoder, const x265_picture *in, const hwd_frame *frame) {
    int bits = encoder->param.internalBitDepth;
    for (uint32_t i = 0; i < frame->plane_count; i++) {
        const hwd_plane *plane = &frame->planes[i];
        for (uint32_t y = 0; y < plane->rows; y++)
            copy_row(plane->data + (size_t)y * plane->stride, (const uint8_t *)in->planes[i] + (ptrdiff_t)y * in->stride[i],
                     plane->row_bytes / (bits > 8 ? 2 : 1), bits, in->bitDepth);
    }
}

// Calls until it is not refused for want of memory or credits, which packets that are taken free.
static int acquire(hardware *encoder, hwd_frame *frame) {
    double until = seconds_now() + TIME_LIMIT;
    int result;
    while ((result = hwd_acquire_frame(encoder->session, frame, STEP)) == -EAGAIN) {
        int received = receive(encoder, 0);
        if (received < 0) return received;
        if (seconds_now() > until) return -EAGAIN;
    }
    return result;
}

static int submit(hardware *encoder, hwd_frame *frame) {
    double until = seconds_now() + TIME_LIMIT;
    int result;
    while ((result = hwd_encode(encoder->session, frame, STEP)) == -EAGAIN) {
        int received = receive(encoder, 0);
        if (received < 0) return received;
        if (seconds_now() > until) return -EAGAIN;
    }
    return result;
}

int send_picture(hardware *encoder, const x265_picture *in) {
    hwd_frame frame;
    HWD_INIT(frame);
    if (!reserve_info(encoder)) return set_fault(encoder, "no memory");
    picture_info *info = info_of(encoder, encoder->sent);
    *info = (picture_info){in->pts, in->userData, {0}};
    int result = acquire(encoder, &frame);
    if (result < 0) return result;
    copy_planes(encoder, in, &frame);
    frame.pts = encoder->sent;
    frame.duration = 1;
    if (in->sliceType == X265_TYPE_IDR || in->sliceType == X265_TYPE_I) frame.flags |= HWD_FORCE_KEY_FRAME;
    if (in->forceqp > 0 && in->forceqp <= 52) {
        frame.flags |= HWD_HAS_BASE_FRAME_QP;
        frame.base_frame_qp = in->forceqp - 1;
    }
    if (!make_messages(&in->userSEI, &info->messages)) return set_fault(encoder, "no memory");
    if (in->quantOffsets && !encoder->has_noted_offsets) {
        encoder->has_noted_offsets = true;
        log_choice("quantOffsets, regions of interest, have no effect in hardware");
    }
    if ((result = submit(encoder, &frame)) < 0) {
        free(info->messages.bytes);
        return result;
    }
    encoder->sent++;
    return receive(encoder, 0);
}

static bool is_valid(const hardware *encoder, const x265_picture *in) {
    for (int i = 0; i < 3; i++)
        if (!in->planes[i]) return false;
    return in->colorSpace == encoder->param.internalCsp && in->bitDepth >= 8 && in->bitDepth <= 16;
}

// Waits until there is a packet to return or, with `until_all`, until every packet has come.
static int wait_for_packets(hardware *encoder, bool until_all) {
    double until = seconds_now() + TIME_LIMIT;
    while (encoder->received < encoder->sent && (until_all || !encoder->first)) {
        int result = receive(encoder, STEP);
        if (result < 0) return result;
        if (result > 0) until = seconds_now() + TIME_LIMIT;
        bool complete = encoder->requested == encoder->sent && encoder->completions == 0;
        if (complete && encoder->received < encoder->sent) return set_fault(encoder, "pictures were lost");
        if (seconds_now() > until) return set_fault(encoder, "no picture came in time");
    }
    return 0;
}

static int flush(hardware *encoder) {
    if (encoder->first || encoder->received == encoder->sent) return 0;
    if (encoder->requested < encoder->sent) {
        int result = hwd_complete(encoder->session, HWD_ALL_FRAMES, HWD_DEFAULT_TIMEOUT);
        if (result < 0) return result;
        encoder->requested = encoder->sent;
        encoder->completions++;
    }
    return wait_for_packets(encoder, false);
}

static int fail(hardware *encoder, int result) {
    const char *cause = encoder->fault ? encoder->fault : hwd_last_error();
    log_error(&encoder->param, "hardware failed after %lld pictures: %s", (long long)encoder->returned, *cause ? cause : hwd_status_name(result));
    encoder->failed = true;
    return -1;
}

int hardware_encode(hardware *encoder, x265_nal **nals, uint32_t *count, const x265_picture *in, x265_picture *out) {
    if (count) *count = 0;
    if (encoder->failed) return -1;
    if (in && (!is_valid(encoder, in) || !are_messages_valid(&in->userSEI))) {
        log_error(&encoder->param, "a picture has another format than the encoder, or SEI messages that cannot be written");
        return -1;
    }
    int result = in ? send_picture(encoder, in) : flush(encoder);
    if (result >= 0 && in && encoder->synchronous) result = wait_for_packets(encoder, true);
    if (result < 0) return fail(encoder, result);
    // The decoding times of the first packets need as many presentation times.
    bool has_times = !in || encoder->returned >= encoder->depth || encoder->sent > encoder->depth;
    if (!encoder->first || !has_times) return 0;
    result = return_packet(encoder, out);
    drop_infos(encoder, encoder->returned - KEPT_INFOS);
    if (result < 0) return fail(encoder, result);
    if (nals) *nals = encoder->output.nals;
    if (count) *count = encoder->output.count;
    return 1;
}
