// SPDX-License-Identifier: MIT
// Which frame of a video is shown when, without sessions. Host and item times are nanoseconds, times of frames are ticks.
#ifndef HWDAEMON_PLAYBACK_H
#define HWDAEMON_PLAYBACK_H

#include "base/internal.h"
#include "hwdaemon-output.h"

enum { MAX_QUEUED = 128, MAX_SKIPPED = 256, RATE_ONE = 1000000 };

// No time.
#define NONE INT64_MIN
// Host and item times, and ticks, lie within it.
#define MOST_TIME ((int64_t)1 << 62)

// ---- timing.c

typedef struct time_map {
    int64_t rate, held_rate; // in millionths
    int64_t host, item;      // the anchor
    bool is_held;            // the item time stands until the first frame is given
} time_map;

int64_t hwdi_map_at(const time_map *map, int64_t host);
void hwdi_map_set_rate(time_map *map, int64_t rate, int64_t host);
void hwdi_map_hold(time_map *map, int64_t item);
void hwdi_map_start(time_map *map, int64_t host);

// Host times of refreshes without jitter: steps of whole intervals, corrected by 1/32 of the error.
typedef struct refresh_grid {
    int64_t interval;        // ns; 0: no grid
    int64_t position, last_host, last; // position in 1/1024 ns
    bool has_position;
} refresh_grid;

int64_t hwdi_snap(refresh_grid *grid, int64_t host);

// ---- playback.c

typedef struct queued {
    int64_t time, duration; // duration 0: unknown
    void *picture;          // as it was decoded; NULL once it is given
    void *shown;            // converted; NULL
    int status;             // negative: why it cannot be converted
    char reason[256];
} queued;

typedef struct playback {
    hwd_rational time_base;
    int64_t start, end; // end: behind the last picture; NONE
    int64_t epsilon;
    time_map map;
    refresh_grid grid;
    bool loops;
    int64_t length, lap; // ticks of a lap, 0 until the source was read to its end; and the lap of the last frame given
    int64_t tolerance;   // of the seek, in ticks; below 0: the key frame
    uint64_t epoch, run; // a run is a stretch of decoding: pictures of earlier ones are not taken
    hwd_output_counts counts;
    queued *frames; // MAX_QUEUED, in the order of their times
    int count;
    int64_t skipped[MAX_SKIPPED];
    int skipped_count;
    int64_t target; // earlier pictures only lead there
    int64_t known;  // pictures up to this time are known, because decoding was repeated; NONE
    bool is_complete, is_strained;
    int64_t given, asked, shown_at; // ticks, ticks, host; NONE
    int64_t refresh, interval;      // the last question, and how far apart they are
    void (*drop)(void *owner, queued *frame); // gives back what a frame has
    void *owner;
} playback;

int hwdi_playback_open(playback *of, hwd_rational time_base, int64_t start, int64_t interval);
void hwdi_playback_close(playback *of);
int64_t hwdi_ticks(const playback *of, int64_t nanoseconds);
int64_t hwdi_nanoseconds(const playback *of, int64_t ticks);
int64_t hwdi_laps(const playback *of, int64_t time);
int64_t hwdi_item(const playback *of, int64_t host);
void hwdi_seek(playback *of, int64_t item, int64_t tolerance);
void hwdi_loop(playback *of, bool loops);
void hwdi_measure(playback *of, int64_t end);
void hwdi_land(playback *of, int64_t time);
// Takes a picture, or drops it.
void hwdi_queue(playback *of, int64_t time, int64_t duration, void *picture);
void hwdi_skip(playback *of, int64_t time);
void hwdi_complete_playback(playback *of);
int hwdi_waiting(const playback *of);
// Pictures that wait for a later time than that of the last question.
int hwdi_lead(const playback *of);

// ---- choice.c

// HWD_OUTPUT_FRAME and what was taken out of the queue, another reason, or the status of a picture that cannot be converted.
int hwdi_choose(playback *of, int64_t host, bool converts, bool waits, queued *taken);
// Whether a question for a host time would give a frame.
bool hwdi_is_new(const playback *of, int64_t host, bool converts);
void hwdi_give_up(playback *of, int reason);
// The frames that are shown next, two at most.
int hwdi_expected(playback *of, int64_t host, queued *found[2]);
int64_t hwdi_tick(const playback *of, int64_t item);
int hwdi_index(const playback *of, int64_t time); // the last frame at or before a time; -1
void hwdi_discard(playback *of, int64_t time);

#endif
