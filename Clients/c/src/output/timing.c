// SPDX-License-Identifier: MIT
// Item times of host times, and refreshes without jitter.
#include "output/playback.h"

__extension__ typedef __int128 wide;

static int64_t clamp(wide value) {
    return value > MOST_TIME ? MOST_TIME : value < -MOST_TIME ? -MOST_TIME : (int64_t)value;
}

// Rounded down; `by` is positive.
static wide divide(wide value, wide by) {
    return value / by - (value % by < 0);
}

int64_t hwdi_map_at(const time_map *map, int64_t host) {
    return clamp(map->item + divide(((wide)host - map->host) * map->rate, RATE_ONE));
}

void hwdi_map_set_rate(time_map *map, int64_t rate, int64_t host) {
    if (map->is_held) {
        map->held_rate = rate;
        return;
    }
    map->item = hwdi_map_at(map, host);
    map->host = host, map->rate = rate;
}

void hwdi_map_hold(time_map *map, int64_t item) {
    if (!map->is_held) map->held_rate = map->rate;
    map->is_held = true, map->rate = 0, map->item = item;
}

void hwdi_map_start(time_map *map, int64_t host) {
    if (!map->is_held) return;
    map->is_held = false, map->rate = map->held_rate, map->host = host;
}

enum { UNIT = 1024, LONGEST_STEP = 8, CORRECTION = 32 };

static int64_t restart(refresh_grid *grid, int64_t host) {
    grid->has_position = true;
    grid->last_host = grid->last = host;
    grid->position = 0;
    return host;
}

// `position` is relative to `last`, so that no host time is too large for it.
int64_t hwdi_snap(refresh_grid *grid, int64_t host) {
    wide interval = (wide)grid->interval * UNIT;
    if (interval == 0) return host;
    if (!grid->has_position) return restart(grid, host);
    wide since = ((wide)host - grid->last_host) * UNIT;
    // Both questions of one refresh have one answer.
    if (since >= 0 && since < interval / 2) return grid->last;
    wide distance = ((wide)host - grid->last) * UNIT - grid->position;
    wide steps = divide(distance + interval / 2, interval);
    if (steps > LONGEST_STEP || distance < -interval / 2) return restart(grid, host);
    wide step = (steps < 1 ? 1 : steps) * interval;
    wide position = grid->position + step + divide(distance - step, CORRECTION);
    wide whole = divide(position, UNIT);
    grid->last = clamp(grid->last + whole);
    grid->position = (int64_t)(position - whole * UNIT);
    grid->last_host = host;
    return grid->last;
}

int64_t hwdi_ticks(const playback *of, int64_t nanoseconds) {
    return clamp(divide((wide)nanoseconds * of->time_base.denominator, (wide)of->time_base.numerator * 1000000000));
}

int64_t hwdi_nanoseconds(const playback *of, int64_t ticks) {
    return clamp(-divide(-(wide)ticks * of->time_base.numerator * 1000000000, of->time_base.denominator));
}

int64_t hwdi_laps(const playback *of, int64_t time) {
    return of->length > 0 ? clamp(divide((wide)time - of->start, of->length)) : 0;
}
