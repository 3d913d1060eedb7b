// SPDX-License-Identifier: MIT
#include "replay/replay.h"

int hwd_compression_create(hwd_daemon *daemon, const hwd_compression_config *config, hwd_session **session) {
    hwd_compression_config given;
    if (!daemon || !session) return hwdi_fail(-EINVAL, "a session needs a daemon and a pointer");
    *session = NULL;
    int result = hwdi_take(&given, sizeof given, config);
    if (result < 0 || (result = hwdi_check_size(given.width, given.height)) < 0) return result;
    text call = {0};
    hwdi_add_member(&call, "codec", given.codec ? given.codec : "hevc");
    hwdi_add(&call, ",\"width\":");
    hwdi_add_number(&call, given.width);
    hwdi_add(&call, ",\"height\":");
    hwdi_add_number(&call, given.height);
    hwdi_add_fourcc(&call, "pixel_format", given.pixel_format);
    hwdi_add_time_base(&call, given.time_base);
    hwdi_add_object(&call, "encoder_specification", given.specification);
    result = hwdi_create(daemon, HWD_COMPRESSION, &call, given.properties, given.timeout_ms, given.max_wait_ms, session);
    if (result < 0) return result;
    (*session)->info.width = given.width;
    (*session)->info.height = given.height;
    (*session)->info.pixel_format = given.pixel_format;
    hwdi_keep_frames(*session);
    (*session)->has_alpha = given.codec && strcmp(given.codec, "hevc-with-alpha") == 0;
    return 0;
}

int hwd_prepare(hwd_session *session, int timeout_ms) {
    int result = hwdi_enter(session, HWD_COMPRESSION);
    if (result < 0) return result;
    session->prepared = true;
    result = hwdi_request(session, PREPARE, NULL, 0, -1, hwdi_until(session, timeout_ms), NULL);
    hwdi_leave(session);
    return result;
}

// Side data as encodeFrameWithMetadata has them.
static int check_side_data(const hwd_frame *frame) {
    uint64_t total = 0;
    uint32_t kinds = 0;
    if (frame->side_data_count > HWD_MAX_SIDE_DATA || (frame->side_data_count && !frame->side_data))
        return hwdi_fail(HWD_PARAMETER, "the frame has %u side data; %d is the limit", frame->side_data_count, HWD_MAX_SIDE_DATA);
    for (uint32_t i = 0; i < frame->side_data_count; i++) {
        const hwd_side_data *data = &frame->side_data[i];
        if (data->kind < HWD_MASTERING_DISPLAY || data->kind > HWD_CLOSED_CAPTIONS)
            return hwdi_fail(HWD_PARAMETER, "side data are of unknown kind %u", data->kind);
        uint32_t size = hwdi_side_data_size(data->kind);
        if ((size && data->size != size) || (data->size && !data->bytes))
            return hwdi_fail(HWD_PARAMETER, "side data of kind %u have %u bytes", data->kind, data->size);
        if (kinds & 1u << data->kind) return hwdi_fail(HWD_PARAMETER, "the frame has several side data of kind %u", data->kind);
        kinds |= 1u << data->kind;
        total += data->size;
    }
    if (total > MAX_SIDE_DATA_BYTES)
        return hwdi_fail(HWD_PARAMETER, "the frame has %llu bytes of side data; %d is the limit", (unsigned long long)total, MAX_SIDE_DATA_BYTES);
    return 0;
}

static int check_options(hwd_session *session, const hwd_frame *frame) {
    const uint32_t alpha = HWD_ALPHA_PREMULTIPLIED | HWD_ALPHA_STRAIGHT;
    if (frame->flags & ~31u) return hwdi_fail(HWD_PARAMETER, "the frame has unknown flags");
    if (frame->flags & HWD_HAS_BASE_FRAME_QP && (frame->base_frame_qp < 0 || frame->base_frame_qp > 51))
        return hwdi_fail(HWD_PARAMETER, "the frame has BaseFrameQP %d, not 0 to 51", frame->base_frame_qp);
    if (frame->flags & alpha && !session->has_alpha)
        return hwdi_fail(HWD_PARAMETER, "the frame has a SourceAlphaMode, but the session codes no alpha");
    if ((frame->flags & alpha) == alpha) return hwdi_fail(HWD_PARAMETER, "the frame is both premultiplied and straight");
    if (frame->flags & HWD_HAS_COLOR && frame->color.full_range > 1)
        return hwdi_fail(HWD_PARAMETER, "the frame's full_range is neither 0 nor 1");
    return check_side_data(frame);
}

// Faults that would end the session are refused here, and the session continues.
static int check_frame(hwd_session *session, hwd_frame *frame) {
    const hwd_session_info *info = &session->info;
    if (hwdi_acquired_slot(session, frame) == NO_SLOT)
        return hwdi_fail(HWD_PARAMETER, "the frame was not acquired, or it was sent, and names no pool");
    if (frame->pts <= -TIME_BOUND || frame->pts >= TIME_BOUND || frame->duration < 0 || frame->duration >= TIME_BOUND)
        return hwdi_fail(HWD_PARAMETER, "the frame's times are not possible");
    if (session->has_pts && frame->pts <= session->last_pts)
        return hwdi_fail(HWD_PARAMETER, "the frame's pts is not greater than that of the frame before");
    hwd_pool *pool = hwdi_find_pool(session, frame->pool);
    if (!pool) return hwdi_fail(HWD_PARAMETER, "there is no pool %u", frame->pool);
    const char *fault = hwdi_check_planes(info->pixel_format, info->width, info->height, frame->planes, frame->plane_count, pool->size);
    if (fault) return hwdi_fail(HWD_PARAMETER, "the frame's planes: %s", fault);
    return check_options(session, frame);
}

static void put_planes(uint8_t *at, const hwd_plane *planes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++, at += 16) {
        put_64(at, planes[i].offset);
        put_32(at + 8, planes[i].stride);
        put_32(at + 12, 0);
    }
}

// The message, in a log entry.
static entry *make_entry(const hwd_frame *frame, uint64_t number) {
    uint8_t fixed[48 + 16 * HWD_MAX_PLANES], headers[HWD_MAX_SIDE_DATA][8];
    struct iovec parts[1 + 2 * HWD_MAX_SIDE_DATA];
    bool has_metadata = frame->side_data_count > 0 || frame->flags & HWD_HAS_COLOR;
    size_t planes = has_metadata ? 48 : 40;
    memset(fixed, 0, sizeof fixed);
    put_64(fixed, number);
    put_64(fixed + 8, (uint64_t)frame->pts);
    put_64(fixed + 16, (uint64_t)frame->duration);
    put_32(fixed + 24, frame->pool);
    put_32(fixed + 28, frame->flags & (HWD_FORCE_KEY_FRAME | HWD_ALPHA_PREMULTIPLIED | HWD_ALPHA_STRAIGHT));
    put_32(fixed + 32, frame->flags & HWD_HAS_BASE_FRAME_QP ? (uint32_t)frame->base_frame_qp : UINT32_MAX);
    if (has_metadata) {
        const hwd_color *color = &frame->color;
        bool has_color = frame->flags & HWD_HAS_COLOR;
        const uint8_t bytes[8] = {has_color, color->primaries, color->transfer, color->matrix, color->full_range,
                                  color->chroma_location, (uint8_t)frame->plane_count, (uint8_t)frame->side_data_count};
        memcpy(fixed + 36, bytes, sizeof bytes);
    } else {
        put_32(fixed + 36, frame->plane_count);
    }
    put_planes(fixed + planes, frame->planes, frame->plane_count);
    int count = 0;
    parts[count++] = (struct iovec){fixed, planes + 16 * (size_t)frame->plane_count};
    for (uint32_t i = 0; i < frame->side_data_count; i++) {
        const hwd_side_data *data = &frame->side_data[i];
        put_32(headers[i], data->kind);
        put_32(headers[i] + 4, data->size);
        parts[count++] = (struct iovec){headers[i], 8};
        parts[count++] = (struct iovec){(void *)data->bytes, data->size};
    }
    entry *made = hwdi_new_entry(FRAME_ENTRY, has_metadata ? ENCODE_FRAME_WITH_METADATA : ENCODE_FRAME, parts, count);
    if (made) {
        made->number = number;
        made->pts = frame->pts;
    }
    return made;
}

// Sends a frame that was checked, for which there is a credit.
static int send_frame(hwd_session *session, const hwd_frame *frame, int64_t deadline) {
    uint64_t number = session->last_number + 1;
    entry *made = make_entry(frame, number);
    if (!made) return -ENOMEM;
    if (!hwdi_timeline_add(&session->replay->times, frame->pts)) {
        hwdi_free_entry(made);
        return hwdi_fail_errno(ENOMEM, "a frame");
    }
    int64_t last_pts = session->last_pts;
    bool had_pts = session->has_pts;
    made->slot = hwdi_acquired_slot(session, frame);
    if (made->slot >= 0) session->slots[made->slot] = 2;
    session->last_number = number;
    session->last_pts = frame->pts;
    session->has_pts = session->prepared = true;
    hwdi_append(session, made);
    int result = hwdi_send_entry(session, made, deadline);
    if (result == 0) return 0;
    // The frame is the app's again, and no later one was sent.
    hwdi_timeline_remove(&session->replay->times);
    if (frame->slot > 0) session->slots[frame->slot - 1] = 1;
    session->last_pts = last_pts;
    session->has_pts = had_pts;
    session->last_number = number - 1;
    hwdi_changed(session);
    return result;
}

int hwd_encode(hwd_session *session, hwd_frame *frame, int timeout_ms) {
    hwd_frame given;
    int result = hwdi_take(&given, sizeof given, frame);
    if (result < 0 || (result = hwdi_enter(session, HWD_COMPRESSION)) < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    result = check_frame(session, &given);
    if (result == 0) result = hwdi_wait_credit(session, deadline);
    // Another thread may have sent a later frame, or this one, or have removed the pool, while this one waited.
    if (result == 0) result = check_frame(session, &given);
    if (result == 0) {
        given.number = session->last_number + 1;
        result = send_frame(session, &given, deadline);
    }
    if (result == 0) {
        given.slot = 0;
        result = hwdi_return(frame, &given, sizeof given);
    }
    hwdi_leave(session);
    return result;
}
