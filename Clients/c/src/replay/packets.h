// SPDX-License-Identifier: MIT
// What a decompression session keeps to continue in another process where its own fails: packets since the last key frame before
// which every picture came, and what a decoder remembers of those before. All functions are called with the session's lock.
#ifndef HWDAEMON_PACKETS_H
#define HWDAEMON_PACKETS_H

#include "session/session.h"

// Parameter sets, and SEI messages that apply until they are replaced: each of equal ones once, in the order of their last
// occurrence, with their framing.
enum { MAX_UNITS = 192 }; // twice the sets that H.265 has ids for
typedef struct preamble {
    struct unit {
        uint8_t *bytes;
        size_t size;
    } units[MAX_UNITS];
    size_t count, size;
} preamble;

// ---- units.c

typedef struct found_units {
    bool has_units, has_picture;
} found_units;

// The bytes of the length before each NAL unit, by a format description; 0: packets have start codes.
int hwdi_length_size(const uint8_t *format, size_t size);
// Looks into a packet as far as its first slice, and adds its units unless `to` is NULL. False where memory ran out.
bool hwdi_find_units(const uint8_t *packet, size_t size, int length_size, preamble *to, found_units *found);
// Moves units to the end of others.
void hwdi_move_units(preamble *to, preamble *from);
void hwdi_clear_units(preamble *of);

// ---- packets.c

enum { MAX_REPORTS = 4 };
typedef struct kept {
    uint8_t *bytes;      // a copy; NULL where nothing is kept
    const uint8_t *data; // until it is sent: the app's memory, or the copy
    uint32_t size, flags;
    int64_t pts, duration;
    uint32_t pool; // of the app, until a worker has read it; 0
    uint64_t offset;
    waiter *reply; // of a thread that waits until the decoder has taken it
    bool has_units, is_key;
    bool has_result; // its picture or a report came
    bool sent;     // to a worker
    bool done;     // nothing more is expected of it: its picture came, was reported as dropped, or there is none
    bool repeated; // it was done before the present worker, which decodes it as a reference of others
    uint8_t report_count;
    uint32_t reports[MAX_REPORTS]; // sums of those that the app has
} kept;

typedef struct packet_log {
    kept *packets; // from `start` on
    size_t start, count, capacity;
    size_t bytes;        // of packets, and what describes them
    uint64_t first;      // the number of the first of them; the app counts packets from 1
    uint64_t next;       // for the present worker
    uint64_t done_limit; // every packet before this one is done
    uint64_t key;        // the last key frame before that; 0
    uint64_t latest;     // that has a result
    uint64_t writing;    // the packet that a thread is sending; 0
    int length_size;
    bool keeps;   // packets are kept; workers refuse a change once they have packets
    bool whole;   // another worker could be sent everything
    preamble earlier, later; // units of forgotten packets before `format`, and since
    uint8_t *format;         // the last change of format among them; NULL
    size_t format_size;
} packet_log;

enum { MAX_KEPT_PACKETS = 64 << 20 }; // bytes

bool hwdi_make_packet_log(hwd_session *session);
// Decides by the properties whether packets are kept, before there are any.
void hwdi_keep_packets(hwd_session *session);
void hwdi_free_packet_log(packet_log *freed);
// A packet that is kept or was not sent; NULL.
kept *hwdi_find_packet(packet_log *log, uint64_t number);
uint64_t hwdi_packets_end(const packet_log *log);
// Whether a packet in this pool of the app's was not sent.
bool hwdi_is_pool_needed(packet_log *log, uint32_t pool);
// Adds a packet, whose bytes are at `data`: its number, or 0 where memory ran out.
uint64_t hwdi_append_packet(hwd_session *session, const hwd_packet *packet, const uint8_t *data);
// Takes the last packet back, which was not sent.
void hwdi_take_back_packet(hwd_session *session);
// Records that the next packet was sent.
void hwdi_packet_sent(hwd_session *session);
// Whether a picture, or a report with this content, is one that the app does not have.
bool hwdi_take_picture(hwd_session *session, uint64_t number, bool is_key);
bool hwdi_take_report(hwd_session *session, uint64_t number, const uint8_t *content, size_t size, uint32_t flags);
// Everything before this packet has come.
void hwdi_packets_answered(hwd_session *session, uint64_t number);
// Takes a change of format that no kept packet precedes.
bool hwdi_settle_format(packet_log *log, const entry *change);
// Why a failure ends the session although packets are kept; empty.
const char *hwdi_notice(const packet_log *log);
// Starts again for another worker; gives the app's memory back.
void hwdi_rewind_packets(hwd_session *session);

// ---- sender.c

#define PREAMBLE_NUMBER UINT64_MAX // of a packet that repeats units

struct need {
    uint64_t size;
    bool own_memory;
};

// Whether a packet may be added: it can be sent at once, or few wait for another worker.
bool hwdi_has_space(hwd_session *session, void *need);
// Makes the session's own memory large enough for a packet.
int hwdi_reserve_memory(hwd_session *session, uint64_t size, int64_t deadline);
bool hwdi_may_send_packet(const hwd_session *session);
// Sends the next packet in this turn, for which hwdi_may_send_packet holds.
int hwdi_write_packet(hwd_session *session, int64_t deadline);
// Before another worker gets its pools: memory for the packets that it is sent.
int hwdi_renew_memory(hwd_session *session);
// Sends another worker what it needs before the first packet.
int hwdi_send_preambles(hwd_session *session, int64_t deadline);

#endif
