// SPDX-License-Identifier: MIT
#include "session.h"

static void add_image(text *call, const char *name, const hwd_image *image) {
    text inner = {0};
    hwdi_add_fourcc(&inner, "pixel_format", image->pixel_format);
    hwdi_add_member(&inner, "primaries", image->primaries);
    hwdi_add_member(&inner, "transfer", image->transfer);
    hwdi_add_member(&inner, "matrix", image->matrix);
    hwdi_add_member(&inner, "range", image->range);
    hwdi_add_member(&inner, "siting", image->siting);
    hwdi_add_member(&inner, "alpha", image->alpha);
    hwdi_add(call, ",");
    hwdi_add_string(call, name);
    hwdi_add(call, ":{");
    if (inner.bytes) hwdi_add(call, inner.bytes + 1);
    hwdi_add(call, "}");
    call->failed |= inner.failed;
    free(inner.bytes);
}

int hwd_transfer_create(hwd_daemon *daemon, const hwd_transfer_config *config, hwd_session **session) {
    hwd_transfer_config given;
    if (!daemon || !session) return hwdi_fail(-EINVAL, "a session needs a daemon and a place");
    *session = NULL;
    int result = hwdi_take(&given, sizeof given, config);
    if (result < 0 || (result = hwdi_check_size(given.width, given.height)) < 0) return result;
    if (given.target_width == 0) given.target_width = given.width;
    if (given.target_height == 0) given.target_height = given.height;
    if ((result = hwdi_check_size(given.target_width, given.target_height)) < 0) return result;
    text call = {0};
    hwdi_add(&call, ",\"width\":");
    hwdi_add_number(&call, given.width);
    hwdi_add(&call, ",\"height\":");
    hwdi_add_number(&call, given.height);
    // Daemons before the feature "scaling" refuse the members.
    if (given.target_width != given.width || given.target_height != given.height) {
        hwdi_add(&call, ",\"target_width\":");
        hwdi_add_number(&call, given.target_width);
        hwdi_add(&call, ",\"target_height\":");
        hwdi_add_number(&call, given.target_height);
    }
    add_image(&call, "source", &given.source);
    add_image(&call, "target", &given.target);
    hwdi_add_object(&call, "options", given.options);
    hwdi_add_member(&call, "device", given.device);
    result = hwdi_create(daemon, HWD_TRANSFER, &call, given.timeout_ms, session);
    if (result < 0) return result;
    (*session)->info.width = given.width;
    (*session)->info.height = given.height;
    (*session)->info.pixel_format = given.source.pixel_format;
    (*session)->target_format = given.target.pixel_format;
    (*session)->target_width = given.target_width;
    (*session)->target_height = given.target_height;
    return 0;
}

static int check_side(hwd_session *session, uint32_t number, uint32_t format, hwd_plane *planes, uint32_t count, bool written) {
    hwd_pool *pool = hwdi_find_pool(session, number);
    if (!pool) return hwdi_fail(HWD_PARAMETER, "there is no pool %u", number);
    if (written && !pool->writable) return hwdi_fail(HWD_PARAMETER, "pool %u may only be read", number);
    const uint32_t width = written ? session->target_width : session->info.width;
    const uint32_t height = written ? session->target_height : session->info.height;
    const char *fault = hwdi_check_planes(format, width, height, planes, count, pool->size);
    return fault ? hwdi_fail(HWD_PARAMETER, "the frame's planes: %s", fault) : 0;
}

static uint8_t *put_planes(uint8_t *at, const hwd_plane *planes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++, at += 16) {
        put_64(at, planes[i].offset);
        put_32(at + 8, planes[i].stride);
        put_32(at + 12, 0);
    }
    return at;
}

static int check_frame(hwd_session *session, hwd_transfer *frame) {
    if (frame->flags & ~(uint32_t)HWD_HAS_COLOR) return hwdi_fail(HWD_PARAMETER, "the frame has unknown flags");
    if (frame->flags & HWD_HAS_COLOR && frame->color.full_range > 1) return hwdi_fail(HWD_PARAMETER, "the frame's full_range is neither 0 nor 1");
    uint32_t from = session->info.pixel_format, to = session->target_format;
    int result = check_side(session, frame->source_pool, from, frame->source, frame->source_plane_count, false);
    if (result < 0) return result;
    return check_side(session, frame->target_pool, to, frame->target, frame->target_plane_count, true);
}

static int send_frame(hwd_session *session, hwd_transfer *frame, uint64_t number, int64_t deadline) {
    uint8_t payload[24 + 2 * 16 * HWD_MAX_PLANES];
    put_64(payload, number);
    put_32(payload + 8, frame->source_pool);
    put_32(payload + 12, frame->target_pool);
    const hwd_color *color = &frame->color;
    const uint8_t bytes[8] = {frame->flags & HWD_HAS_COLOR ? 1 : 0, color->primaries, color->transfer, color->matrix, color->full_range,
                              color->chroma_location, (uint8_t)frame->source_plane_count, (uint8_t)frame->target_plane_count};
    memcpy(payload + 16, bytes, sizeof bytes);
    uint8_t *end = put_planes(payload + 24, frame->source, frame->source_plane_count);
    end = put_planes(end, frame->target, frame->target_plane_count);
    struct iovec part = {payload, (size_t)(end - payload)};
    int result = hwdi_take_turn(session, deadline);
    if (result < 0) return result;
    // Another thread may have removed a pool meanwhile.
    if ((result = check_frame(session, frame)) < 0) {
        hwdi_end_turn(session);
        return result;
    }
    return hwdi_send(session, TRANSFER_FRAME, &part, 1, -1, deadline);
}

int hwd_transfer_submit(hwd_session *session, hwd_transfer *frame, int timeout_ms) {
    hwd_transfer given;
    int result = hwdi_take(&given, sizeof given, frame);
    if (result < 0 || (result = hwdi_enter(session, HWD_TRANSFER)) < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    uint64_t number;
    result = check_frame(session, &given);
    if (result == 0) result = hwdi_take_credit(session, deadline, "frames", &number);
    if (result == 0) {
        result = send_frame(session, &given, number, deadline);
        flight *taken = hwdi_find_flight(session, number);
        if (result < 0 && taken) {
            hwdi_end_flight(session, taken);
            hwdi_changed(session);
        } else if (result == 0) {
            given.number = number;
            result = hwdi_return(frame, &given, sizeof given);
        }
    }
    hwdi_leave(session);
    return result;
}
