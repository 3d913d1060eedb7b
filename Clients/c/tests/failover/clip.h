// SPDX-License-Identifier: MIT
// A clip whose pictures are known, and a session that decodes it while its process is killed.
#ifndef CLIP_H
#define CLIP_H

#include "api/api.h"

enum { MAX_PACKETS = 256, HELD = 4, PLACES = 6 };

typedef struct clip {
    uint8_t *file;
    size_t file_size;
    const uint8_t *record; // hvcC
    size_t record_size;
    int count;
    struct unit { const uint8_t *bytes; uint32_t size; int64_t pts; bool is_key; } packets[MAX_PACKETS];
    int64_t times[MAX_PACKETS]; // of the pictures, rising
    uint8_t *pictures;          // by another decoder: YU12, without padding
    size_t picture_size;
    int picture_count;
} clip;

// Of an .mp4 with 4-byte lengths; INDEX has a line "pts,size,pos" for each packet.
void load_clip(clip *of, const char *file, const char *index, const char *pictures);
// The same packets and format description with start codes.
void use_start_codes(clip *of);

typedef struct decoding {
    const clip *of;
    hwd_daemon *daemon;
    hwd_session *session;
    hwd_pool *pool; // of the program, for every other packet; NULL
    int pool_number;
    uint64_t place_size, places[PLACES]; // numbers of the packets there; 0: free
    hwd_event held[HELD];                // pictures that are compared and released later
    int held_count, picture_count, report_count, answers;
    bool is_partial; // pictures are not compared
    void (*watch)(const hwd_event *event, int watched); // sees events as they come; NULL
    int watched;
} decoding;

void open_decoding(decoding *run, hwd_daemon *daemon, const clip *of, uint32_t pixel_format, const char *properties, bool own_pool);
// Sends a packet; the result of hwd_decode.
int send_packet(decoding *run, int index, uint32_t flags);
// Takes what has come; waits for one event where `wait` is set. False: the session has ended.
bool fetch_decoded(decoding *run, bool wait);
// Waits for the answer to a request for all pictures.
void finish_decoding(decoding *run);
// Takes what comes until nothing has come for a while: all pictures but those that the decoder holds back.
void drain_decoded(decoding *run);
// Kills the process, after the session has met so many deaths.
void kill_decoder(decoding *run, uint32_t deaths);
// Frees everything; every picture has come.
void close_decoding(decoding *run, uint32_t restarts);
void free_decoding(decoding *run);

#endif
