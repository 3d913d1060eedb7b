// SPDX-License-Identifier: MIT
#include "replay/replay.h"

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
    if (!daemon || !session) return hwdi_fail(-EINVAL, "a session needs a daemon and a pointer");
    *session = NULL;
    int result = hwdi_take(&given, sizeof given, config);
    if (result < 0 || (result = hwdi_check_size(given.width, given.height)) < 0) return result;
    if (given.target_width == 0) given.target_width = given.width;
    if (given.target_height == 0) given.target_height = given.height;
    if ((result = hwdi_check_size(given.target_width, given.target_height)) < 0) return result;
    if ((result = hwdi_check_tables(&given)) < 0) return result;
    uint32_t first = 0;
    char *options = NULL;
    if (given.table_count > 0 && (result = hwdi_options_with_tables(&given, &first, &options)) < 0) return result;
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
    hwdi_add_object(&call, "options", options ? options : given.options);
    free(options);
    hwdi_add_member(&call, "device", given.device);
    result = hwdi_create(daemon, HWD_TRANSFER, &call, NULL, given.timeout_ms, given.max_wait_ms, session);
    if (result < 0) return result;
    (*session)->info.width = given.width;
    (*session)->info.height = given.height;
    (*session)->info.pixel_format = given.source.pixel_format;
    (*session)->target_format = given.target.pixel_format;
    (*session)->target_width = given.target_width;
    (*session)->target_height = given.target_height;
    if (given.table_count == 0 || (result = hwdi_add_tables(*session, &given, first)) == 0) return 0;
    hwd_destroy(*session);
    *session = NULL;
    return result;
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
    if (frame->flags & ~(uint32_t)(HWD_HAS_COLOR | HWD_HAS_PTS)) return hwdi_fail(HWD_PARAMETER, "the frame has unknown flags");
    if (frame->flags & HWD_HAS_COLOR && frame->color.full_range > 1) return hwdi_fail(HWD_PARAMETER, "the frame's full_range is neither 0 nor 1");
    if (frame->flags & HWD_HAS_PTS && (frame->pts <= -TIME_BOUND || frame->pts >= TIME_BOUND))
        return hwdi_fail(HWD_PARAMETER, "the frame's pts is out of range");
    uint32_t from = session->info.pixel_format, to = session->target_format;
    int result = check_side(session, frame->source_pool, from, frame->source, frame->source_plane_count, false);
    if (result < 0) return result;
    return check_side(session, frame->target_pool, to, frame->target, frame->target_plane_count, true);
}

// The message, in a log entry.
static entry *make_entry(const hwd_transfer *frame) {
    uint8_t payload[32 + 2 * 16 * HWD_MAX_PLANES], *at = payload + 8;
    const bool is_timed = frame->flags & HWD_HAS_PTS;
    put_64(payload, frame->number);
    if (is_timed) put_64(at, (uint64_t)frame->pts), at += 8;
    put_32(at, frame->source_pool);
    put_32(at + 4, frame->target_pool);
    const hwd_color *color = &frame->color;
    const uint8_t bytes[8] = {frame->flags & HWD_HAS_COLOR ? 1 : 0, color->primaries, color->transfer, color->matrix, color->full_range,
                              color->chroma_location, (uint8_t)frame->source_plane_count, (uint8_t)frame->target_plane_count};
    memcpy(at + 8, bytes, sizeof bytes);
    uint8_t *end = put_planes(at + 16, frame->source, frame->source_plane_count);
    end = put_planes(end, frame->target, frame->target_plane_count);
    struct iovec part = {payload, (size_t)(end - payload)};
    entry *made = hwdi_new_entry(FRAME_ENTRY, is_timed ? TRANSFER_TIMED_FRAME : TRANSFER_FRAME, &part, 1);
    if (!made) return NULL;
    made->number = frame->number;
    made->transfer = malloc(sizeof *made->transfer);
    if (made->transfer) {
        *made->transfer = *frame;
        return made;
    }
    hwdi_free_entry(made);
    hwdi_fail_errno(ENOMEM, "a frame");
    return NULL;
}

int hwd_transfer_submit(hwd_session *session, hwd_transfer *frame, int timeout_ms) {
    hwd_transfer given;
    int result = hwdi_take(&given, sizeof given, frame);
    if (result < 0 || (result = hwdi_enter(session, HWD_TRANSFER)) < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    result = check_frame(session, &given);
    if (result == 0) result = hwdi_wait_credit(session, deadline);
    // Another thread may have removed a pool meanwhile.
    if (result == 0) result = check_frame(session, &given);
    if (result == 0) {
        given.number = session->last_number + 1;
        entry *made = make_entry(&given);
        result = -ENOMEM;
        if (made) {
            session->last_number++;
            hwdi_append(session, made);
            result = hwdi_send_entry(session, made, deadline);
        }
        if (result == 0) result = hwdi_return(frame, &given, sizeof given);
    }
    hwdi_leave(session);
    return result;
}

// The bytes from a picture's first sample to its last.
static void extent(const hwd_plane *planes, uint32_t count, uint64_t *start, uint64_t *end) {
    *start = UINT64_MAX, *end = 0;
    for (uint32_t i = 0; i < count; i++) {
        // hwdi_check_planes has set rows and row_bytes, and seen that the pool has room.
        uint64_t last = planes[i].offset + (uint64_t)planes[i].stride * (planes[i].rows - 1) + planes[i].row_bytes;
        if (planes[i].offset < *start) *start = planes[i].offset;
        if (last > *end) *end = last;
    }
}

static bool overwrites(hwd_session *session, const hwd_transfer *writer, const hwd_transfer *reader) {
    uint64_t start, end, first, last;
    hwd_pool *written = hwdi_registered_pool(session, writer->target_pool), *read = hwdi_registered_pool(session, reader->source_pool);
    if (!written || !read) return true;
    extent(writer->target, writer->target_plane_count, &start, &end);
    extent(reader->source, reader->source_plane_count, &first, &last);
    return written->file == read->file && written->device == read->device && start < last && first < end;
}

uint64_t hwdi_overwritten(hwd_session *session) {
    for (entry *writer = session->log; writer; writer = writer->next)
        for (entry *reader = session->log; writer->transfer && reader; reader = reader->next)
            if (reader->transfer && overwrites(session, writer->transfer, reader->transfer)) return writer->number;
    return 0;
}
