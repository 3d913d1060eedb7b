// SPDX-License-Identifier: MIT
// What a compression session keeps to continue in another process where its own fails: frames without packets, and how far the
// stream that the app has reaches. All functions are called with the session's lock.
#ifndef HWDAEMON_REPLAY_H
#define HWDAEMON_REPLAY_H

#include "session/session.h"

// Decoding times across processes: packet i of the stream has the presentation time of frame i - depth.
typedef struct timeline {
    int64_t *times; // of frames that may still be needed
    size_t count, capacity;
    uint64_t first; // the number of the first of them, from 0
    bool has_start;
    int64_t start; // the first presentation time
    int64_t early[2], last; // the first two decoding times, and the last one
    uint32_t early_count;
    uint64_t packets;
    int depth; // once another process has taken over; until then -1, and decoding times are passed on
    uint64_t joint_packet; // the first packet after that, and the time before it
    int64_t joint_time;
} timeline;

// False where memory ran out.
bool hwdi_timeline_add(timeline *line, int64_t pts);
// Takes back the last time.
void hwdi_timeline_remove(timeline *line);
// Prepares for the packets of another process. `reported`: the depth that the first one reported.
void hwdi_timeline_continue(timeline *line, uint32_t reported);
// The decoding time of the next packet, whose worker computed `own`.
int64_t hwdi_timeline_next(timeline *line, int64_t own);

typedef struct replay {
    bool keeps_frames;
    bool stopped;     // there were more frames than may be kept
    char notice[192]; // why frames are not kept although nobody refused that; empty
    uint32_t max_frames_held, reorder_depth;

    // Packets in decoding order that wait for those of earlier frames (gate.c).
    item *held, **held_end;
    uint32_t held_count;
    size_t held_bytes;
    uint64_t delivered, highest; // frames up to this one have had their packets delivered; the latest that is held
    item *next_format;           // of packets to come
    uint8_t *format;             // the last one that the app has
    size_t format_size;
    timeline times;

    // Frames whose memory the app has back (copies.c).
    hwd_pool *copies;
    uint64_t copy_size;
    uint32_t copy_count;
    bool *copied; // slots in use
} replay;

enum { COPIES_POOL = -1 }; // the number of the copies' pool: larger than every other

bool hwdi_make_replay(hwd_session *session, const created *made);
void hwdi_free_replay(replay *freed);
// Decides whether frames are kept, by the properties and the memory that they would take.
void hwdi_keep_frames(hwd_session *session);
// Grows the copies for a new worker, before it gets the pool; 0, or an error.
int hwdi_keep_more(hwd_session *session, uint32_t max_frames_held);

// ---- gate.c

// Takes the worker's packet, or format description, on its way to the app.
void hwdi_packet_arrived(hwd_session *session, item *packet);
void hwdi_format_arrived(hwd_session *session, item *format);
// Forgets the packets of a process that has failed.
void hwdi_discard_held(replay *of);
// Passes on all that is held.
void hwdi_open_gate(hwd_session *session);
// Passes on that the oldest request for results is answered, unless a packet of it is held.
void hwdi_did_complete(hwd_session *session);
// Copies a packet of the worker's, so that it can be given back; false where that is not possible.
bool hwdi_move_packet(hwd_session *session, item *packet);
// Copies the packets that wait for the app.
void hwdi_move_delivered(hwd_session *session);

// ---- copies.c

// Keeps or returns a frame that the worker has read.
void hwdi_did_read(hwd_session *session, entry *frame);
// Returns a frame's memory to the app.
void hwdi_return_frame(hwd_session *session, entry *frame);
void hwdi_free_copy(hwd_session *session, entry *frame);
// HWD_PARAMETER where a frame in a pool of the app's is in flight: what was read of it has been copied.
int hwdi_vacate_pool(hwd_session *session, uint32_t number);

// ---- effects.c

void hwdi_free_effects(hwd_session *session);
int hwdi_check_tables(const hwd_transfer_config *config);
// Create's options with the number of tables, which the caller frees. `first`: the number of the first table.
int hwdi_options_with_tables(const hwd_transfer_config *config, uint32_t *first, char **options);
// Adds tables to a session that was created.
int hwdi_add_tables(hwd_session *session, const hwd_transfer_config *config, uint32_t first);
// Keeps a change that no remaining frame preceded; false where memory ran out.
bool hwdi_settle_effects(hwd_session *session, const entry *change);
// Takes the changes that held for a frame.
void hwdi_advance_effects(hwd_session *session, const hwd_transfer *answered);
// Sends a worker what it needs before the log, in a turn.
int hwdi_send_effects(hwd_session *session, int64_t deadline);

// ---- restart.c

// Frames of a transfer session: one that may have overwritten the source of another; 0 if there is none.
uint64_t hwdi_overwritten(hwd_session *session);

#endif
