// SPDX-License-Identifier: MIT
// The choice of frames without sessions, on a manual clock: counts of how many frames stay for how many refreshes.
#include "outputs.h"

enum { STAYS = 9, SECONDS = 60, QUEUED = 16 };

typedef struct run { int found[STAYS], last, stays, shown, dropped; } run;

static uint64_t state = 4;

static int64_t random_number(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static void fill(playback *of, int *next, int count) {
    for (; hwdi_waiting(of) < QUEUED && *next < count; ++*next) hwdi_queue(of, *next * (int64_t)1000, 1000, of);
    if (*next == count && !of->is_complete) hwdi_complete_playback(of);
}

static void ask(playback *of, int64_t host, run *into) {
    queued taken;
    int result = hwdi_choose(of, host, false, false, &taken);
    CHECK(result == HWD_OUTPUT_FRAME || (result == HWD_OUTPUT_SAME && into->shown > 0));
    if (result == HWD_OUTPUT_FRAME) {
        int number = (int)(taken.time / 1000);
        CHECK(into->shown == 0 || number > into->last);
        if (into->shown++ > 0) into->found[into->stays]++, into->dropped += number - into->last - 1;
        into->last = number, into->stays = 0;
    }
    CHECK(++into->stays < STAYS);
}

// Frames of numerator/denominator a second, at a display's rate of the same form, at a rate of play in millionths.
static run play(hwd_rational stream, hwd_rational display, int seconds, int64_t rate, int64_t wobble, int64_t interval) {
    run found = {.last = -1};
    playback of;
    CHECK(hwdi_playback_open(&of, (hwd_rational){stream.denominator, stream.numerator * 1000}, 0, interval) == 0);
    hwdi_map_set_rate(&of.map, rate, 0);
    int next = 0, count = (int)((int64_t)seconds * stream.numerator * rate / stream.denominator / RATE_ONE) + 1;
    int refreshes = (int)((int64_t)seconds * display.numerator / display.denominator);
    for (int refresh = 0; refresh < refreshes; refresh++) {
        fill(&of, &next, count);
        int64_t host = (int64_t)((__int128)refresh * 1000000000 * display.denominator / display.numerator);
        ask(&of, host + (wobble ? random_number(2 * wobble + 1) - wobble : 0), &found);
    }
    found.found[found.stays]++;
    CHECK(of.counts.late == 0);
    hwdi_playback_close(&of);
    return found;
}

static int difference(const run *found, const int expected[STAYS]) {
    int sum = 0;
    for (int i = 0; i < STAYS; i++) sum += abs(found->found[i] - expected[i]);
    return sum;
}

// Of each rate at 60, 59.94 and 144 Hz for 60 s. The last frame is cut by the end.
void test_cadences(void) {
    static const struct { hwd_rational stream; int expected[3][STAYS]; } rows[] = {
        {{24000, 1001}, {{[2] = 715, [3] = 723}, {[2] = 719, [3] = 719}, {[6] = 1429, [7] = 9}}},
        {{24, 1}, {{[2] = 719, [3] = 720}, {[2] = 723, [3] = 716}, {[6] = 1439}}},
        {{25, 1}, {{[2] = 899, [3] = 600}, {[2] = 902, [3] = 597}, {[5] = 359, [6] = 1140}}},
        {{30000, 1001}, {{[2] = 1793, [3] = 4}, {[2] = 1798}, {[4] = 350, [5] = 1447}}},
        {{30, 1}, {{[2] = 1799}, {[1] = 3, [2] = 1796}, {[4] = 359, [5] = 1440}}},
        {{50, 1}, {{[1] = 2399, [2] = 600}, {[1] = 2402, [2] = 597}, {[2] = 359, [3] = 2640}}},
        {{60000, 1001}, {{[1] = 3591, [2] = 4}, {[1] = 3596}, {[2] = 2148, [3] = 1447}}},
        {{60, 1}, {{[1] = 3599}, {[1] = 3597}, {[2] = 2159, [3] = 1440}}},
        {{120, 1}, {{[1] = 3600}, {[1] = 3597}, {[1] = 5759, [2] = 1440}}},
    };
    static const hwd_rational displays[] = {{60, 1}, {60000, 1001}, {144, 1}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int column = 0; column < 3; column++) {
            run found = play(rows[row].stream, displays[column], SECONDS, RATE_ONE, 0, 0);
            // Rates that drift: a refresh more or less on two frames, and the last one, which is cut.
            CHECK(difference(&found, rows[row].expected[column]) <= 5);
        }
    run half = play((hwd_rational){30, 1}, displays[0], 10, RATE_ONE / 2, 0, 0);
    CHECK(difference(&half, (int[STAYS]){[4] = 150}) <= 4);
    run twice = play((hwd_rational){60, 1}, displays[0], 10, 2 * RATE_ONE, 0, 0);
    CHECK(difference(&twice, (int[STAYS]){[1] = 600}) <= 1 && twice.dropped >= 598);
}

void test_wobble(void) {
    const hwd_rational sixty = {60, 1};
    run found = play(sixty, sixty, SECONDS, RATE_ONE, 1000000, 16666667);
    CHECK(found.found[1] >= 3560 && found.dropped <= 20);
    // Without the grid, the same times leave out hundreds.
    CHECK(play(sixty, sixty, SECONDS, RATE_ONE, 1000000, 0).dropped > 200);
}

void test_grid_restarts(void) {
    refresh_grid grid = {.interval = 10000000};
    CHECK(hwdi_snap(&grid, 0) == 0 && hwdi_snap(&grid, 1000000) == 0);
    CHECK(hwdi_snap(&grid, 10320000) == 10010000);
    CHECK(hwdi_snap(&grid, 500000000) == 500000000 && hwdi_snap(&grid, 5) == 5);
    CHECK(hwdi_snap(&grid, MOST_TIME) == MOST_TIME && hwdi_snap(&grid, -MOST_TIME) == -MOST_TIME);
}

// After a seek to any time the frame of that time comes first; in an epoch none comes twice, and none behind a later one.
void test_random_seeks(void) {
    enum { SEEKS = 50, FRAMES = 1800, REFRESHES = 20 };
    playback of;
    CHECK(hwdi_playback_open(&of, (hwd_rational){1, 30000}, 0, 0) == 0);
    hwdi_map_set_rate(&of.map, RATE_ONE, 0);
    int64_t host = 0;
    for (int i = 0; i < SEEKS; i++) {
        int64_t item = random_number((int64_t)58 * 1000000000);
        uint64_t epoch = of.epoch;
        hwdi_seek(&of, item, 0);
        CHECK(of.epoch == epoch + 1);
        int first = (int)(of.target / 1000), next = first;
        run found = {.last = -1};
        for (int refresh = 0; refresh < REFRESHES; refresh++, host += 16666667 + random_number(2000000) - 1000000) {
            fill(&of, &next, FRAMES);
            ask(&of, host, &found);
            CHECK(refresh > 0 || (found.shown == 1 && found.last == first));
        }
        CHECK(found.shown >= 9);
    }
    hwdi_playback_close(&of);
}

// A clock that stands, jumps back or is far away; laps; the end.
void test_clocks(void) {
    playback of;
    queued taken;
    int next = 0;
    CHECK(hwdi_playback_open(&of, (hwd_rational){1, 25000}, 0, 0) == 0);
    CHECK(hwdi_choose(&of, 0, false, false, &taken) == HWD_OUTPUT_SEEKING);
    hwdi_map_set_rate(&of.map, RATE_ONE, 0);
    fill(&of, &next, 10);
    CHECK(hwdi_choose(&of, 0, false, false, &taken) == HWD_OUTPUT_FRAME && taken.time == 0);
    CHECK(hwdi_choose(&of, 0, false, false, &taken) == HWD_OUTPUT_SAME);
    CHECK(hwdi_choose(&of, 120000000, false, false, &taken) == HWD_OUTPUT_FRAME && taken.time == 3000);
    CHECK(hwdi_choose(&of, 40000000, false, false, &taken) == HWD_OUTPUT_SAME);
    CHECK(hwdi_choose(&of, -40000000, false, false, &taken) == HWD_OUTPUT_BEFORE_START);
    CHECK(hwdi_choose(&of, MOST_TIME, false, false, &taken) == HWD_OUTPUT_AFTER_END);
    CHECK(hwdi_choose(&of, -MOST_TIME, false, false, &taken) == HWD_OUTPUT_BEFORE_START);
    CHECK(of.counts.dropped == 2);
    hwdi_playback_close(&of);
}
