// SPDX-License-Identifier: MIT
#include "session.h"

static const int64_t time_bound = (int64_t)1 << 56;

int hwd_compression_create(hwd_daemon *daemon, const hwd_compression_config *config, hwd_session **session) {
    hwd_compression_config given;
    if (!daemon || !session) return hwdi_fail(-EINVAL, "a session needs a daemon and a place");
    *session = NULL;
    int result = hwdi_take(&given, sizeof given, config);
    if (result < 0) return result;
    text call = {0};
    hwdi_add_member(&call, "codec", given.codec ? given.codec : "hevc");
    hwdi_add(&call, ",\"width\":");
    hwdi_add_number(&call, given.width);
    hwdi_add(&call, ",\"height\":");
    hwdi_add_number(&call, given.height);
    hwdi_add_fourcc(&call, "pixel_format", given.pixel_format);
    hwdi_add_time_base(&call, given.time_base);
    hwdi_add_object(&call, "encoder_specification", given.specification);
    hwdi_add_object(&call, "properties", given.properties);
    result = hwdi_create(daemon, HWD_COMPRESSION, &call, given.timeout_ms, session);
    if (result < 0) return result;
    (*session)->info.width = given.width;
    (*session)->info.height = given.height;
    (*session)->info.pixel_format = given.pixel_format;
    return 0;
}

int hwd_prepare(hwd_session *session, int timeout_ms) {
    int result = hwdi_enter(session, HWD_COMPRESSION);
    if (result < 0) return result;
    result = hwdi_request(session, PREPARE, NULL, 0, -1, hwdi_deadline(timeout_ms, SESSION_TIMEOUT), NULL);
    hwdi_leave(session);
    return result;
}

static bool frames_are_made(hwd_session *session, void *context) { return (void)context, !session->making_frames; }

// Allocates and registers the session's own memory for frames, once.
static int make_frames(hwd_session *session, int64_t deadline) {
    enum { MAX_FRAMES_SIZE = 1 << 30, PAGE = 4096 };
    int ready = hwdi_pump(session, deadline, frames_are_made, NULL);
    if (ready < 0) return ready;
    if (ready == 0) return hwdi_fail(-EAGAIN, "another thread allocates memory");
    if (session->frames) return 0;
    const hwd_session_info *info = &session->info;
    hwd_plane planes[HWD_MAX_PLANES];
    uint64_t size;
    int count = hwd_layout(info->pixel_format, info->width, info->height, 0, planes, &size);
    if (count < 0) return count;
    size = (size + PAGE - 1) / PAGE * PAGE;
    // The daemon limits the memory of all pools together, so large frames get fewer slots.
    uint64_t slots = MAX_FRAMES_SIZE / size;
    if (slots > info->max_frames_in_flight) slots = info->max_frames_in_flight;
    if (slots < 2) slots = 2;
    hwd_pool *pool;
    int result = hwd_pool_create(size * slots, &pool);
    if (result < 0) return result;
    session->making_frames = true;
    int number = hwdi_register_pool(session, pool, deadline);
    session->making_frames = false;
    hwdi_changed(session);
    uint8_t *states = number < 0 ? NULL : calloc(slots, 1);
    if (!states) {
        hwd_pool_unref(pool);
        return number < 0 ? number : hwdi_fail_errno(ENOMEM, "frames");
    }
    session->slots = states;
    session->slot_count = (uint32_t)slots;
    session->slot_size = size;
    session->frames_number = (uint32_t)number;
    session->frames = pool;
    return 0;
}

static uint32_t free_slot(hwd_session *session) {
    for (uint32_t i = 0; i < session->slot_count; i++)
        if (!session->slots[i]) return i;
    return session->slot_count;
}

static bool has_slot(hwd_session *session, void *context) {
    return (void)context, free_slot(session) < session->slot_count;
}

int hwd_acquire_frame(hwd_session *session, hwd_frame *frame, int timeout_ms) {
    hwd_frame made = {.size = sizeof made};
    if (!frame) return hwdi_fail(-EINVAL, "hwd_acquire_frame has no place for the frame");
    int result = hwdi_enter(session, HWD_COMPRESSION);
    if (result < 0) return result;
    int64_t deadline = hwdi_deadline(timeout_ms, SESSION_TIMEOUT);
    // Memory is allocated once, also for a caller that does not wait.
    result = make_frames(session, hwdi_deadline(SESSION_TIMEOUT, 0));
    if (result == 0) {
        result = hwdi_pump(session, deadline, has_slot, NULL);
        if (result == 0) result = hwdi_fail(-EAGAIN, "no frame was released in time; fetch and release events");
    }
    if (result > 0) {
        const hwd_session_info *info = &session->info;
        uint32_t slot = free_slot(session);
        made.slot = slot + 1;
        made.pool = session->frames_number;
        made.plane_count = (uint32_t)hwd_layout(
            info->pixel_format, info->width, info->height, slot * session->slot_size, made.planes, NULL);
        for (uint32_t i = 0; i < made.plane_count; i++)
            made.planes[i].data = (uint8_t *)session->frames->bytes + made.planes[i].offset;
        result = hwdi_return(frame, &made, sizeof made);
        if (result == 0) session->slots[slot] = 1;
    }
    hwdi_leave(session);
    return result;
}

// The slot of a frame that was acquired and not sent; -1 for a frame in the app's memory, -2 for neither.
static int32_t acquired_slot(hwd_session *session, const hwd_frame *frame) {
    if (frame->slot == 0) return frame->pool && frame->pool != session->frames_number ? -1 : -2;
    if (frame->slot > session->slot_count || session->slots[frame->slot - 1] != 1) return -2;
    return (int32_t)frame->slot - 1;
}

int hwd_discard_frame(hwd_session *session, hwd_frame *frame) {
    hwd_frame given;
    int result = hwdi_take(&given, sizeof given, frame);
    if (result < 0 || (result = hwdi_enter(session, HWD_COMPRESSION)) < 0) return result;
    int32_t slot = acquired_slot(session, &given);
    if (slot >= 0) {
        session->slots[slot] = 0;
        hwdi_changed(session);
        given.slot = 0;
        result = hwdi_return(frame, &given, sizeof given);
    } else {
        result = hwdi_fail(-EINVAL, "the frame was not acquired, or it was sent");
    }
    hwdi_leave(session);
    return result;
}

// Faults that would end the session are refused here, and the session continues.
static int check_frame(hwd_session *session, hwd_frame *frame) {
    const hwd_session_info *info = &session->info;
    if (frame->pts <= -time_bound || frame->pts >= time_bound || frame->duration < 0 || frame->duration >= time_bound)
        return hwdi_fail(HWD_PARAMETER, "the frame's times are not possible");
    if (session->has_pts && frame->pts <= session->last_pts)
        return hwdi_fail(HWD_PARAMETER, "the frame's pts is not greater than that of the frame before");
    if (frame->flags & ~31u) return hwdi_fail(HWD_PARAMETER, "the frame has unknown flags");
    hwd_pool *pool = hwdi_find_pool(session, frame->pool);
    if (!pool) return hwdi_fail(HWD_PARAMETER, "there is no pool %u", frame->pool);
    const char *fault = hwdi_check_planes(info->pixel_format, info->width, info->height, frame->planes, frame->plane_count, pool->size);
    if (fault) return hwdi_fail(HWD_PARAMETER, "the frame's planes: %s", fault);
    uint64_t total = 0;
    if (frame->side_data_count > HWD_MAX_SIDE_DATA || (frame->side_data_count && !frame->side_data))
        return hwdi_fail(HWD_PARAMETER, "the frame has too much side data");
    for (uint32_t i = 0; i < frame->side_data_count; i++) total += frame->side_data[i].size;
    return total <= MAX_SIDE_DATA_BYTES ? 0 : hwdi_fail(HWD_PARAMETER, "the frame has too much side data");
}

static void put_planes(uint8_t *at, const hwd_plane *planes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++, at += 16) {
        put_64(at, planes[i].offset);
        put_32(at + 8, planes[i].stride);
        put_32(at + 12, 0);
    }
}

static int send_frame(hwd_session *session, const hwd_frame *frame, uint64_t number, int64_t deadline) {
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
    return hwdi_send(session, has_metadata ? ENCODE_FRAME_WITH_METADATA : ENCODE_FRAME, parts, count, -1, deadline);
}

int hwd_encode(hwd_session *session, hwd_frame *frame, int timeout_ms) {
    hwd_frame given;
    int result = hwdi_take(&given, sizeof given, frame);
    if (result < 0 || (result = hwdi_enter(session, HWD_COMPRESSION)) < 0) return result;
    int64_t deadline = hwdi_deadline(timeout_ms, SESSION_TIMEOUT);
    uint64_t number;
    int32_t slot = acquired_slot(session, &given);
    if (slot == -2) result = hwdi_fail(HWD_PARAMETER, "the frame was not acquired, or it was sent, and names no pool");
    if (result == 0) result = check_frame(session, &given);
    if (result == 0) result = hwdi_take_credit(session, deadline, "frames", &number);
    if (result == 0) {
        flight *taken = hwdi_find_flight(session, number);
        taken->reports_release = slot < 0;
        taken->pools[0] = given.pool;
        result = send_frame(session, &given, number, deadline);
        // The worker cannot have released what is not sent, so the flight still exists after a failure.
        taken = hwdi_find_flight(session, number);
        if (result < 0 && taken) {
            hwdi_end_flight(session, taken);
            hwdi_changed(session);
        } else if (result == 0) {
            if (taken) taken->slot = slot;
            if (slot >= 0) session->slots[slot] = taken ? 2 : 0;
            session->last_pts = given.pts;
            session->has_pts = true;
            given.number = number;
            given.slot = 0;
            result = hwdi_return(frame, &given, sizeof given);
        }
    }
    hwdi_leave(session);
    return result;
}
