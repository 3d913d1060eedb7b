// SPDX-License-Identifier: MIT
// The frame of a host time.
#include "output/playback.h"

// A picture that is later than its own time is shown only if none was for this long, in nanoseconds.
enum { LATE_LIMIT = 100000000, LONGEST_INTERVAL = 200000000 };

int64_t hwdi_tick(const playback *of, int64_t item) {
    return hwdi_ticks(of, item + of->epsilon);
}

int hwdi_index(const playback *of, int64_t time) {
    int low = 0, high = of->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (of->frames[middle].time <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

// Whether no other picture can be that of the time: decoders return pictures in the order of their times.
static bool is_settled(const playback *of, int index, int64_t time) {
    if (index < 0) return false;
    const queued *frame = &of->frames[index];
    return of->is_complete || index + 1 < of->count || time - frame->time < frame->duration;
}

// Whether the latest picture is better than none: the machine is too slow, and none was shown for long.
static bool is_overdue(const playback *of, int index, int64_t host) {
    if (!of->is_strained || index < 0 || !of->frames[index].picture) return false;
    return of->shown_at != NONE && host - of->shown_at >= LATE_LIMIT;
}

static int outside(const playback *of, int64_t time) {
    int64_t passed = of->lap * of->length;
    if (of->end != NONE && !of->loops && time >= of->end + passed) return HWD_OUTPUT_AFTER_END;
    return time < of->start + passed && !(of->loops && of->lap) ? HWD_OUTPUT_BEFORE_START : HWD_OUTPUT_FRAME;
}

static int missing(const playback *of) {
    return of->map.is_held ? HWD_OUTPUT_SEEKING : HWD_OUTPUT_NOT_DECODED;
}

// Whether a picture that was left out belongs to the time, and an earlier question could have had this one.
static bool is_late(const playback *of, const queued *frame, int64_t time) {
    if (of->asked == NONE || of->asked < frame->time) return false;
    for (int i = 0; i < of->skipped_count; i++)
        if (frame->time < of->skipped[i] && of->skipped[i] <= time) return true;
    return false;
}

static int take(playback *of, queued *frame, int64_t time, int64_t host, queued *taken) {
    *taken = *frame;
    frame->picture = frame->shown = NULL;
    of->given = taken->time;
    hwdi_discard(of, time);
    int64_t lap = hwdi_laps(of, taken->time);
    of->epoch += (uint64_t)(lap > of->lap ? lap - of->lap : of->lap - lap);
    of->lap = lap;
    hwdi_map_start(&of->map, host);
    if (taken->status < 0) return taken->status;
    of->counts.shown++;
    of->shown_at = host;
    return HWD_OUTPUT_FRAME;
}

static int choose(playback *of, int64_t time, int64_t host, bool converts, bool waits, queued *taken) {
    int where = outside(of, time);
    if (where != HWD_OUTPUT_FRAME) {
        // Where nothing can be shown, nothing is waited for.
        if (of->count > 0 || of->is_complete) hwdi_map_start(&of->map, host);
        return where;
    }
    int index = hwdi_index(of, time);
    // The source begins later than it says.
    if (index < 0 && of->given == NONE && (of->count > 0 || of->is_complete)) {
        hwdi_map_start(&of->map, host);
        return HWD_OUTPUT_BEFORE_START;
    }
    if (!is_settled(of, index, time) && (waits || !is_overdue(of, index, host))) {
        // A clock that jumped back.
        if (of->given != NONE && time < of->given) return HWD_OUTPUT_SAME;
        hwdi_discard(of, time);
        return missing(of);
    }
    queued *frame = &of->frames[index];
    if (!frame->picture || (of->given != NONE && frame->time <= of->given)) return HWD_OUTPUT_SAME;
    if (converts && !frame->shown && frame->status == 0) return missing(of);
    if (is_late(of, frame, time) && of->shown_at != NONE && host - of->shown_at < LATE_LIMIT) {
        if (of->drop) of->drop(of->owner, frame);
        frame->picture = frame->shown = NULL;
        of->counts.dropped++;
        return missing(of);
    }
    return take(of, frame, time, host, taken);
}

int hwdi_choose(playback *of, int64_t host, bool converts, bool waits, queued *taken) {
    if (of->grid.interval > 0) host = hwdi_snap(&of->grid, host);
    else if (of->refresh != NONE && host > of->refresh && host - of->refresh < LONGEST_INTERVAL) of->interval = host - of->refresh;
    of->refresh = host;
    int64_t time = hwdi_tick(of, hwdi_map_at(&of->map, host));
    int result = choose(of, time, host, converts, waits, taken);
    of->asked = time;
    return result;
}

bool hwdi_is_new(const playback *of, int64_t host, bool converts) {
    refresh_grid grid = of->grid;
    host = hwdi_snap(&grid, host);
    int64_t time = hwdi_tick(of, hwdi_map_at(&of->map, host));
    int index = hwdi_index(of, time);
    if (outside(of, time) != HWD_OUTPUT_FRAME || !is_settled(of, index, time)) return false;
    const queued *frame = &of->frames[index];
    return frame->picture && (of->given == NONE || frame->time > of->given) && (!converts || frame->shown || frame->status < 0);
}

void hwdi_give_up(playback *of, int reason) {
    if (reason != HWD_OUTPUT_NOT_DECODED) return;
    of->counts.late++;
    of->is_strained = true;
}

int hwdi_expected(playback *of, int64_t host, queued *found[2]) {
    enum { STEPS = 4 };
    int count = 0;
    int64_t from = of->refresh == NONE ? host : of->refresh;
    if (!of->map.is_held && from < of->map.host) from = of->map.host;
    for (int step = 0; step < STEPS && count < 2; step++) {
        int64_t time = hwdi_tick(of, hwdi_map_at(&of->map, from + of->interval * step));
        int index = hwdi_index(of, time);
        if (outside(of, time) != HWD_OUTPUT_FRAME) continue;
        if (!is_settled(of, index, time) && !(step == 0 && is_overdue(of, index, from))) continue;
        queued *frame = &of->frames[index];
        bool is_new = frame->picture && (of->given == NONE || frame->time > of->given);
        if (is_new && (count == 0 || found[0] != frame)) found[count++] = frame;
    }
    return count;
}
