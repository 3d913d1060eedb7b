// SPDX-License-Identifier: MIT
// The decoding times of packets across processes: they continue where those of the process that failed ended. A worker's decoding
// times are its frames' presentation times, delayed by the pictures that it reorders (D): packet i has that of frame i - D. D
// stays that of the first process, which no later one exceeds.
#include "replay/replay.h"

// More than a stream can reorder (H.265 A.4: sps_max_dec_pic_buffering is at most 16).
enum { MAX_DEPTH = 16, UNNEEDED = 64 };

static void forget_unneeded(timeline *line) {
    if (line->packets < line->first + MAX_DEPTH + 1 + UNNEEDED) return;
    uint64_t unneeded = line->packets - MAX_DEPTH - 1 - line->first;
    if (unneeded > line->count) unneeded = line->count;
    line->count -= unneeded;
    line->first += unneeded;
    memmove(line->times, line->times + unneeded, line->count * sizeof *line->times);
}

bool hwdi_timeline_add(timeline *line, int64_t pts) {
    forget_unneeded(line);
    if (line->count == line->capacity) {
        size_t capacity = 2 * line->capacity + 2 * UNNEEDED;
        int64_t *grown = realloc(line->times, capacity * sizeof *grown);
        if (!grown) return false;
        line->times = grown;
        line->capacity = capacity;
    }
    if (!line->has_start) line->start = pts;
    line->has_start = true;
    line->times[line->count++] = pts;
    return true;
}

void hwdi_timeline_remove(timeline *line) {
    if (line->count > 0) line->count--;
    if (line->count == 0 && line->first == 0) line->has_start = false;
}

void hwdi_timeline_continue(timeline *line, uint32_t reported) {
    if (line->packets == 0 || line->depth >= 0 || !line->has_start) return;
    line->joint_packet = line->packets;
    line->joint_time = line->last;
    int64_t depth = reported;
    size_t index = 0;
    while (index < line->count && line->times[index] != line->last) index++;
    if (index < line->count)
        depth = (int64_t)line->packets - 1 - (int64_t)(line->first + index);
    else if (line->early_count > 1 && line->early[1] > line->early[0] && line->start >= line->early[0])
        depth = (line->start - line->early[0]) / (line->early[1] - line->early[0]);
    if (depth < 0) depth = 0;
    if (depth > MAX_DEPTH) depth = MAX_DEPTH;
    // Each packet before the first presentation time needs a decoding time of its own.
    if (line->start > line->last) {
        uint64_t room = line->packets - 1 + (uint64_t)(line->start - line->last);
        if ((uint64_t)depth > room) depth = (int64_t)room;
    }
    line->depth = (int)depth;
}

static int64_t rewritten(const timeline *line, int64_t own) {
    if (line->packets >= (uint64_t)line->depth) {
        uint64_t frame = line->packets - (uint64_t)line->depth;
        return frame >= line->first && frame - line->first < line->count ? line->times[frame - line->first] : own;
    }
    // Packets before the first presentation time share the time that is left before it.
    int64_t steps = line->depth - (int64_t)line->joint_packet + 1;
    return line->joint_time + (line->start - line->joint_time) * (int64_t)(line->packets - line->joint_packet + 1) / steps;
}

int64_t hwdi_timeline_next(timeline *line, int64_t own) {
    int64_t time = own;
    if (line->depth >= 0) {
        time = rewritten(line, own);
    } else {
        if (line->early_count < 2) line->early[line->early_count++] = own;
        line->last = own;
    }
    line->packets++;
    return time;
}
