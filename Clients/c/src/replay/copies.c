// SPDX-License-Identifier: MIT
// Frames that the worker has read, until their packets are delivered: in the session's own memory, or in copies of the app's.
#include "replay/packets.h"
#include "replay/replay.h"

#include <stdio.h>

// The most bytes of frames that a session keeps, wherever they are, and more frames than x265 holds with most presets.
enum { MAX_KEPT_BYTES = 512 << 20, USUAL_COUNT = 64, PLANE_SIZE = 16 };

bool hwdi_make_replay(hwd_session *session, const created *made) {
    replay *of = session->replay = calloc(1, sizeof *of);
    if (!of) return false;
    of->held_end = &of->held;
    of->times.depth = -1;
    of->max_frames_held = made->max_frames_held;
    of->reorder_depth = made->reorder_depth;
    return true;
}

void hwdi_free_replay(replay *freed) {
    if (!freed) return;
    hwdi_discard_held(freed);
    hwd_pool_unref(freed->copies);
    free(freed->copied);
    free(freed->format);
    free(freed->times.times);
    free(freed);
}

static bool is_refused(const hwd_session *session) {
    json object, value;
    bool wanted;
    if (!session->properties || !hwdi_json_check(session->properties, strlen(session->properties), &object)) return false;
    // The statistics of two passes are lost with their process.
    if (hwdi_json_member(object, "MultiPassStorage", &value) && value.at[0] == '"') return true;
    return hwdi_json_member(object, "ReplaysAfterFailure", &value) && hwdi_json_boolean(value, &wanted) && !wanted;
}

void hwdi_keep_frames(hwd_session *session) {
    replay *of = session->replay;
    const hwd_session_info *info = &session->info;
    hwd_plane planes[HWD_MAX_PLANES];
    of->keeps_frames = false;
    of->notice[0] = 0;
    if (is_refused(session) || of->stopped || of->max_frames_held == 0 ||
        hwd_layout(info->pixel_format, info->width, info->height, 0, planes, &of->copy_size) < 0)
        return;
    uint64_t most = MAX_KEPT_BYTES / of->copy_size;
    of->keeps_frames = of->max_frames_held <= most;
    of->copy_count = (uint32_t)(most < USUAL_COUNT ? most : USUAL_COUNT);
    if (of->copy_count < of->max_frames_held) of->copy_count = of->max_frames_held;
    if (!of->keeps_frames)
        snprintf(of->notice, sizeof of->notice,
                 "the session ends if its process fails: %u frames would have to be kept, which take more than %d MiB", of->max_frames_held,
                 MAX_KEPT_BYTES >> 20);
}

// Replaces the pool of copies by a larger one; no worker has mapped it yet.
static int grow_copies(replay *of, uint32_t count) {
    hwd_pool *pool = NULL;
    if (of->copies) {
        int result = hwd_pool_create(of->copy_size * count, &pool);
        if (result < 0) return result;
    }
    if (of->copied) {
        bool *copied = realloc(of->copied, count * sizeof *copied);
        if (!copied) {
            hwd_pool_unref(pool);
            return hwdi_fail_errno(ENOMEM, "copies of frames");
        }
        memset(copied + of->copy_count, 0, (count - of->copy_count) * sizeof *copied);
        of->copied = copied;
    }
    for (uint32_t i = 0; pool && of->copied && i < of->copy_count; i++)
        if (of->copied[i])
            memcpy((uint8_t *)pool->bytes + of->copy_size * i, (uint8_t *)of->copies->bytes + of->copy_size * i, of->copy_size);
    if (pool) hwd_pool_unref(of->copies);
    if (pool) of->copies = pool;
    of->copy_count = count;
    return 0;
}

int hwdi_keep_more(hwd_session *session, uint32_t max_frames_held) {
    replay *of = session->replay;
    of->max_frames_held = max_frames_held;
    if (!of->keeps_frames) return 0;
    uint64_t most = MAX_KEPT_BYTES / of->copy_size;
    // A worker may announce more frames than fit: keeping stops at the first frame beyond the limit.
    uint32_t wanted = max_frames_held < most ? max_frames_held : (uint32_t)most;
    return wanted > of->copy_count ? grow_copies(of, wanted) : 0;
}

void hwdi_return_frame(hwd_session *session, entry *frame) {
    if (frame->returned) return;
    frame->returned = true;
    if (frame->slot >= 0) {
        session->slots[frame->slot] = 0;
        return hwdi_changed(session);
    }
    item *event = hwdi_new_item(session, HWD_EVENT_FRAME_RELEASED);
    if (!event) return;
    event->event.number = frame->number;
    hwdi_push(session, event);
}

void hwdi_free_copy(hwd_session *session, entry *frame) {
    if (frame->copy >= 0) session->replay->copied[frame->copy] = false;
    frame->copy = -1;
}

// Makes the memory for copies; its pages are allocated with the copies that use them.
static bool make_copies(replay *of) {
    if (!of->copied) of->copied = calloc(of->copy_count, sizeof *of->copied);
    return of->copied && (of->copies || hwd_pool_create(of->copy_size * of->copy_count, &of->copies) == 0);
}

// A free slot, or -1.
static int32_t take_slot(const replay *of) {
    for (uint32_t i = 0; i < of->copy_count; i++)
        if (!of->copied[i]) return (int32_t)i;
    return -1;
}

static void copy_plane(uint8_t *to, const hwd_plane *target, const uint8_t *from, const hwd_plane *source) {
    for (uint32_t row = 0; row < source->rows; row++)
        memcpy(to + target->offset + (uint64_t)row * target->stride, from + source->offset + (uint64_t)row * source->stride,
               source->row_bytes);
}

// Where a frame's message has its pool and its planes.
static uint8_t *planes_of(entry *frame) {
    return frame->payload + (frame->opcode == ENCODE_FRAME_WITH_METADATA ? 48 : 40);
}

// Why frames are no longer kept.
static const char too_many[] = "the encoder holds more frames than are kept", not_copied[] = "a frame could not be copied";

// Copies a frame, and lets its message name the copy; NULL, or why that is not possible.
static const char *make_copy(hwd_session *session, entry *frame) {
    replay *of = session->replay;
    const hwd_session_info *info = &session->info;
    hwd_plane source[HWD_MAX_PLANES] = {{0}}, target[HWD_MAX_PLANES];
    uint8_t *planes = planes_of(frame);
    hwd_pool *pool = hwdi_registered_pool(session, get_32(frame->payload + 24));
    if (!pool || !make_copies(of)) return not_copied;
    int32_t slot = take_slot(of);
    if (slot < 0) return too_many;
    int count = hwd_layout(info->pixel_format, info->width, info->height, of->copy_size * (uint64_t)slot, target, NULL);
    for (int i = 0; i < count; i++) {
        source[i].offset = get_64(planes + PLANE_SIZE * i);
        source[i].stride = get_32(planes + PLANE_SIZE * i + 8);
    }
    if (count < 0 || hwdi_check_planes(info->pixel_format, info->width, info->height, source, (uint32_t)count, pool->size))
        return not_copied;
    if (!hwdi_access_pool(pool, true)) return not_copied;
    for (int i = 0; i < count; i++) {
        copy_plane(of->copies->bytes, &target[i], pool->bytes, &source[i]);
        put_64(planes + PLANE_SIZE * i, target[i].offset);
        put_32(planes + PLANE_SIZE * i + 8, target[i].stride);
    }
    hwdi_access_pool(pool, false);
    put_32(frame->payload + 24, (uint32_t)COPIES_POOL);
    of->copied[slot] = true;
    frame->copy = slot;
    return NULL;
}

// Stops keeping frames, and says why in the notices.
static void stop_keeping(hwd_session *session, const char *reason) {
    replay *of = session->replay;
    of->keeps_frames = false;
    of->stopped = true;
    snprintf(of->notice, sizeof of->notice, "the session ends if its process fails: %s", reason);
    hwdi_open_gate(session);
    item *format = of->next_format;
    of->next_format = NULL;
    if (format) hwdi_format_arrived(session, format);
    entry *next;
    for (entry *at = session->log; at; at = next) {
        next = at->next;
        if (at->kind != FRAME_ENTRY || !at->read) continue;
        hwdi_free_copy(session, at);
        hwdi_return_frame(session, at);
        hwdi_remove_entry(session, at);
    }
}

// Whether a frame may stay where it is: the session has other slots for those to come. Memory of the app's is returned at once.
static bool may_stay(const hwd_session *session, const entry *frame) {
    uint32_t kept = 0;
    for (const entry *at = session->log; at; at = at->next)
        kept += at->kind == FRAME_ENTRY && at->slot >= 0 && at->read && !at->returned;
    // The frame itself is among them.
    return frame->slot >= 0 && kept <= session->spare_slots;
}

// Whether the frames that the worker has read, in copies and elsewhere, may all be kept.
static bool may_keep_all(const hwd_session *session) {
    uint64_t count = 0;
    for (const entry *at = session->log; at; at = at->next) count += at->kind == FRAME_ENTRY && at->read;
    return count * session->replay->copy_size <= MAX_KEPT_BYTES;
}

// Keeps a frame that the worker has read; NULL, or why that is not possible.
static const char *keep(hwd_session *session, entry *frame) {
    if (!may_keep_all(session)) return too_many;
    if (frame->returned || may_stay(session, frame)) return NULL;
    const char *reason = make_copy(session, frame);
    if (!reason) hwdi_return_frame(session, frame);
    return reason;
}

void hwdi_did_read(hwd_session *session, entry *frame) {
    replay *of = session->replay;
    frame->read = true;
    if (frame->delivered || !of->keeps_frames) {
        hwdi_return_frame(session, frame);
        hwdi_remove_entry(session, frame);
        hwdi_fold_properties(session);
    } else {
        const char *reason = keep(session, frame);
        if (reason) stop_keeping(session, reason);
    }
    hwdi_changed(session);
}

static bool is_kept_in(const entry *frame, uint32_t pool) {
    return frame->kind == FRAME_ENTRY && !frame->returned && frame->slot < 0 && get_32(frame->payload + 24) == pool;
}

int hwdi_vacate_pool(hwd_session *session, uint32_t number) {
    if (session->decoding && hwdi_is_pool_needed(session->decoding, number)) return hwdi_fail(HWD_PARAMETER, "the pool has a packet in flight");
    if (session->info.kind != HWD_COMPRESSION) return 0;
    for (entry *at = session->log; at; at = at->next)
        if (is_kept_in(at, number) && !at->read) return hwdi_fail(HWD_PARAMETER, "the pool has a frame in flight");
    return 0;
}
