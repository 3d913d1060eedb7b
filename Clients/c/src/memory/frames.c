// SPDX-License-Identifier: MIT
// A compression session's own memory for frames.
#include "replay/replay.h"

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
    const replay *of = session->replay;
    uint64_t wanted = info->max_frames_in_flight + (of->keeps_frames ? of->max_frames_held : 0);
    if (slots > wanted) slots = wanted;
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
    session->spare_slots = slots > info->max_frames_in_flight ? (uint32_t)slots - info->max_frames_in_flight : 0;
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
    if (!frame) return hwdi_fail(-EINVAL, "hwd_acquire_frame has no pointer for the frame");
    int result = hwdi_enter(session, HWD_COMPRESSION);
    if (result < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    // Memory is registered once, also for a caller that does not wait.
    result = make_frames(session, hwdi_until(session, HWD_DEFAULT_TIMEOUT));
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

int32_t hwdi_acquired_slot(hwd_session *session, const hwd_frame *frame) {
    if (frame->slot == 0) return frame->pool && frame->pool != session->frames_number ? APP_MEMORY : NO_SLOT;
    if (frame->slot > session->slot_count || session->slots[frame->slot - 1] != 1) return NO_SLOT;
    return (int32_t)frame->slot - 1;
}

int hwd_discard_frame(hwd_session *session, hwd_frame *frame) {
    hwd_frame given;
    int result = hwdi_take(&given, sizeof given, frame);
    if (result < 0 || (result = hwdi_enter(session, HWD_COMPRESSION)) < 0) return result;
    int32_t slot = hwdi_acquired_slot(session, &given);
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
