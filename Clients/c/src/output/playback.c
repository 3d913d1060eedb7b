// SPDX-License-Identifier: MIT
// Seeks, laps and the queue of decoded pictures. In a loop times run on, by the video's length from lap to lap.
#include "output/playback.h"

enum { TOLERANCE = 100000, GRID_TOLERANCE = 500000, USUAL_INTERVAL = 16666667 };

int hwdi_playback_open(playback *of, hwd_rational time_base, int64_t start, int64_t interval) {
    memset(of, 0, sizeof *of);
    of->frames = calloc(MAX_QUEUED, sizeof *of->frames);
    if (!of->frames) return hwdi_fail_errno(ENOMEM, "calloc");
    of->time_base = time_base, of->start = of->target = start;
    of->epsilon = interval > 0 ? GRID_TOLERANCE : TOLERANCE;
    of->grid.interval = interval, of->interval = interval > 0 ? interval : USUAL_INTERVAL;
    of->end = of->known = of->given = of->asked = of->shown_at = of->refresh = NONE;
    of->map.is_held = true;
    of->run = of->epoch = 1;
    of->map.item = hwdi_nanoseconds(of, start);
    return 0;
}

static void clear(playback *of, queued *frame) {
    if (of->drop) of->drop(of->owner, frame);
    frame->picture = frame->shown = NULL;
}

static void remove_first(playback *of, int count) {
    for (int i = 0; i < count; i++) clear(of, &of->frames[i]);
    of->count -= count;
    memmove(of->frames, of->frames + count, (size_t)of->count * sizeof *of->frames);
}

void hwdi_playback_close(playback *of) {
    if (of->frames) remove_first(of, of->count);
    free(of->frames);
    of->frames = NULL;
}

static void begin(playback *of, int64_t target) {
    of->run++;
    of->target = target;
    of->is_complete = false;
    of->skipped_count = 0;
}

int64_t hwdi_item(const playback *of, int64_t host) {
    int64_t item = hwdi_map_at(&of->map, host);
    int64_t laps = of->loops ? hwdi_laps(of, hwdi_ticks(of, item)) : 0;
    return item - (hwdi_nanoseconds(of, of->start + laps * of->length) - hwdi_nanoseconds(of, of->start));
}

void hwdi_seek(playback *of, int64_t item, int64_t tolerance) {
    if (item < 0) item = 0;
    if (of->end != NONE && item > hwdi_nanoseconds(of, of->end)) item = hwdi_nanoseconds(of, of->end);
    hwdi_map_hold(&of->map, item);
    of->epoch++;
    of->lap = 0;
    of->tolerance = tolerance;
    of->given = of->shown_at = of->known = NONE;
    remove_first(of, of->count);
    begin(of, hwdi_tick(of, item));
    // What lies before the frame of the time does not wait.
    of->asked = of->target;
}

void hwdi_loop(playback *of, bool loops) {
    if (loops == of->loops) return;
    of->loops = loops;
    // Frames of other laps are not decoded any more.
    int kept = 0;
    for (int i = 0; i < of->count; i++) {
        if (hwdi_laps(of, of->frames[i].time) == of->lap) of->frames[kept++] = of->frames[i];
        else clear(of, &of->frames[i]);
    }
    of->count = kept;
    of->known = kept > 0 ? of->frames[kept - 1].time : of->given;
    begin(of, of->known == NONE ? of->target : of->known);
    of->tolerance = 0;
}

void hwdi_measure(playback *of, int64_t end) {
    of->end = end;
    of->length = end > of->start ? end - of->start : 0;
}

void hwdi_land(playback *of, int64_t time) {
    if (!of->map.is_held) return;
    hwdi_map_hold(&of->map, hwdi_nanoseconds(of, time));
    of->target = of->asked = time;
}

int hwdi_waiting(const playback *of) {
    int waiting = 0;
    for (int i = 0; i < of->count; i++) waiting += of->frames[i].picture != NULL;
    return waiting;
}

int hwdi_lead(const playback *of) {
    int lead = 0;
    for (int i = 0; i < of->count; i++) lead += of->frames[i].picture && (of->asked == NONE || of->frames[i].time > of->asked);
    return lead;
}

void hwdi_queue(playback *of, int64_t time, int64_t duration, void *picture) {
    queued frame = {.time = time, .duration = duration > 0 ? duration : 0, .picture = picture};
    if (of->known != NONE && time <= of->known) {
        clear(of, &frame);
        return;
    }
    if ((of->given != NONE && time <= of->given) || of->count == MAX_QUEUED) {
        of->counts.dropped++;
        clear(of, &frame);
        return;
    }
    int place = hwdi_index(of, time) + 1;
    memmove(of->frames + place + 1, of->frames + place, (size_t)(of->count - place) * sizeof *of->frames);
    of->frames[place] = frame;
    of->count++;
    if (of->asked != NONE) hwdi_discard(of, of->asked);
}

void hwdi_skip(playback *of, int64_t time) {
    if (time < of->target) return;
    of->counts.skipped++;
    if (of->skipped_count < MAX_SKIPPED) of->skipped[of->skipped_count++] = time;
}

void hwdi_complete_playback(playback *of) {
    of->is_complete = true;
    if (of->end != NONE) return;
    if (of->count == 0) {
        of->end = (of->given == NONE ? of->start : of->given) + 1;
        return;
    }
    const queued *last = &of->frames[of->count - 1];
    int64_t duration = last->duration;
    if (duration == 0 && of->count > 1) duration = last->time - last[-1].time;
    of->end = last->time + (duration > 1 ? duration : 1);
}

void hwdi_discard(playback *of, int64_t time) {
    int index = hwdi_index(of, time);
    if (index <= 0) return;
    // Pictures on the way to the first one were never to be shown.
    int first = hwdi_index(of, of->target);
    for (int i = 0; i < index; i++) of->counts.dropped += of->frames[i].picture && i >= first;
    remove_first(of, index);
    int kept = 0;
    for (int i = 0; i < of->skipped_count; i++)
        if (of->skipped[i] >= of->frames[0].time) of->skipped[kept++] = of->skipped[i];
    of->skipped_count = kept;
}
