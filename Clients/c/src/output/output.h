// SPDX-License-Identifier: MIT
// An output: a source's packets, a decompression session, and the transfer session for its pictures.
#ifndef HWDAEMON_VIDEO_OUTPUT_H
#define HWDAEMON_VIDEO_OUTPUT_H

#include "output/playback.h"

enum { MAX_TARGETS = 16, MAX_SOURCES = 16, MAX_HELD_FRAMES = 64, TARGET_TEXTS = 6 };

// Memory of a converted frame.
typedef struct target {
    hwd_pool *pool;
    int number;
    bool is_used, is_old; // is_old: of a session that is gone
    uint32_t width, height, plane_count;
    hwd_plane planes[HWD_MAX_PLANES];
} target;

typedef struct converter {
    hwd_session *session; // NULL before the first picture
    uint32_t width, height, pixel_format;
    target *targets[MAX_TARGETS];
    struct source_pool { hwd_pool *pool; int number; } sources[MAX_SOURCES]; // memory of the decoder; NULL
    int next_source;
    hwd_event *converting; // the picture; NULL: none
    target *into;
    bool is_orphan; // the picture was dropped meanwhile
    uint32_t restarts; // of earlier sessions
} converter;

typedef struct held_frame {
    uint64_t id; // 0: free
    target *shown;
    hwd_event *picture;
} held_frame;

struct hwd_video_output {
    hwd_daemon *daemon;
    hwd_output_config config; // without the source's format; texts are owned
    char *texts[TARGET_TEXTS + 1];
    playback playback;
    hwd_session *decoder;
    hwd_session_info info;
    int status; // negative: no frame comes any more
    char reason[256];

    // Packets.
    uint64_t run;            // of the playback that is decoded
    uint64_t last_old;       // packets up to this number are of an earlier stretch
    uint64_t last_number;
    int outstanding;         // packets sent whose pictures have not come
    uint64_t completions, completed, last_completion; // last_completion: with which the stretch ends; 0: none
    bool is_fed, is_read, skips_to_key;
    hwd_output_packet pending; // with is_pending: read and not sent
    bool is_pending;
    int tries; // to send it
    int64_t key, offset, span_last, span_before, span_duration; // span_last: NONE
    int length_size, highest;  // length_size 0: start codes

    converter converter;
    held_frame held[MAX_HELD_FRAMES];
    uint64_t last_id;
};

// ---- packets.c: what a source gives

// 1: `pending` is the next packet; 0: the end; negative: the source's error.
int hwdi_read_packet(hwd_video_output *of);
// Goes to the key frame at or before a time, which is pending then; its time, or an error.
int hwdi_seek_source(hwd_video_output *of, int64_t time, int64_t *key);
// Whether no other picture refers to that of the pending packet, by its first slice's header.
bool hwdi_can_be_left_out(hwd_video_output *of);
void hwdi_note_format(hwd_video_output *of, const uint8_t *format, size_t size);
// The time behind the last picture that was read; NONE.
int64_t hwdi_span_end(const hwd_video_output *of);

// ---- feed.c

// Takes pictures and sends packets without waiting for them; negative: the session has ended.
int hwdi_feed(hwd_video_output *of);
void hwdi_free_picture(hwd_video_output *of, hwd_event *picture);

// ---- convert.c

int hwdi_convert(hwd_video_output *of, int64_t host);
void hwdi_drop_frame(void *owner, queued *frame);
void hwdi_free_target(target *of);
void hwdi_close_converter(hwd_video_output *of);

#endif
