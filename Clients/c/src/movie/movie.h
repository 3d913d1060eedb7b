// SPDX-License-Identifier: MIT
// What the files of the movie writer share (ISO/IEC 14496-12; clauses in parentheses are its).
#ifndef HWDAEMON_MOVIE_INTERNAL_H
#define HWDAEMON_MOVIE_INTERNAL_H

#include "base/internal.h"
#include "hwdaemon-movie.h"

#include <stdatomic.h>

enum {
    HEAD_SPACE = 4096,              // bytes behind the first movie box for formats that come later
    MAX_FRAGMENT = 32 << 20,        // bytes of packets that wait for their fragment
    MAX_MOVIE_PACKET = 256 << 20,   // bytes
    MAX_SAMPLES = 1 << 24,          // of all tracks; below 64 bytes of tables each
    // What the readers that finish a file take of its fragments, all together:
    MAX_FRAGMENTS = (1 << 20) - 8,
    MAX_FRAGMENT_BOXES = 256 << 20, // bytes of their `moof` boxes
    MAX_RUNS = 1 << 21,             // runs of samples, each a `trun` of a track
    MAX_ENTRY = 1 << 16,            // bytes of a record, a sample entry or its boxes
};
#define MOVIE_TIME_BOUND ((int64_t)1 << 55)

// A table of rows that each are for several samples.
typedef struct movie_runs {
    text rows;
    uint32_t count, value, row_count;
} movie_runs;

// A packet that waits for its fragment; its bytes are in the track's data.
typedef struct waiting_packet {
    int64_t pts, dts;
    uint32_t size, duration;
    bool is_key;
} waiting_packet;

typedef struct movie_chunk {
    uint64_t offset;
    uint32_t count, entry;
} movie_chunk;

typedef struct movie_track {
    bool is_video;
    uint32_t time_scale, width, height, rotation;
    hwd_color color;
    text boxes;                                  // of the sample entry
    text entries;                                // sample entries, one after another
    size_t ends[HWD_MOVIE_MAX_FORMATS];          // where each ends
    uint32_t entry_count, entry;                 // the number of that of the packets that follow, from 1

    // What is in the file.
    text sizes, sync, chunks;
    movie_runs durations, shifts;
    uint32_t count;
    int64_t first, last, shown_first, shown_end; // decode times; times that are shown
    uint32_t last_duration;
    // The decode time at which the media's time line begins, and the first that is shown, as the first movie box states them.
    int64_t begin_decode, begin_shown;

    text data, waiting; // of waiting_packet
} movie_track;

struct hwd_movie {
    pthread_mutex_t lock;
    pid_t owner; // alone may it change the file
    int fd, folder; // the folder of the file's name; -1 where it may not be read
    atomic_bool is_named; // whether the folder is on the disk
    char *path, name[256]; // the name as errors print it
    bool is_quicktime, is_finished, has_head;
    int failure;           // why nothing more is appended; 0
    uint64_t position;     // bytes of the file
    uint64_t head, head_end;
    uint32_t sequence, samples, runs, waiting_count;
    uint64_t boxes; // bytes of the fragments' `moof` boxes
    size_t waiting_size;
    bool is_waiting;
    int track_count;
    movie_track tracks[HWD_MOVIE_MAX_TRACKS];
};

// ---- file.c; results are 0 or -errno, without hwd_last_error

int hwdi_movie_open(hwd_movie *movie, bool replaces);
// Removes the file while its name is still this file's.
void hwdi_movie_remove(const hwd_movie *movie);
// Appends bytes with one write, and keeps `reserve` bytes free behind them; where that fails, the file is what it was.
int hwdi_movie_write(hwd_movie *movie, const text *bytes, uint64_t reserve);
int hwdi_movie_replace(hwd_movie *movie, const void *bytes, size_t size, uint64_t at);
// Waits until the file, and its name the first time, are on the disk.
int hwdi_movie_sync(hwd_movie *movie);

// ---- boxes.c

void hwdi_put16(text *to, uint32_t value);
void hwdi_put32(text *to, uint32_t value);
void hwdi_put64(text *to, uint64_t value);
size_t hwdi_open_box(text *to, const char *type);
void hwdi_close_box(text *to, size_t start);
void hwdi_set32(text *in, size_t at, uint32_t value);
void hwdi_add_run(movie_runs *runs, uint32_t value);
void hwdi_file_type(text *to, bool is_quicktime);
// Adds a sample entry for an hvcC record, or finds it; -ENOSPC: the table is full; -ENOMEM.
int hwdi_add_video_entry(movie_track *track, bool is_quicktime, const void *record, size_t size);
// The movie box before the first fragment, and that of the finished file.
void hwdi_open_movie_box(const hwd_movie *movie, text *to);
void hwdi_finished_movie_box(hwd_movie *movie, text *to);

// ---- fragment.c

// 1: a random access picture; 0: another one; -1: no picture, or lengths that contradict the packet's.
int hwdi_picture_kind(const uint8_t *bytes, size_t size);
// Writes what waits. `next` is the track of the packet that follows, or -1, and `dts` its decode time.
int hwdi_write_fragment(hwd_movie *movie, int next, int64_t dts);

#endif
