/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hardware session under libx265's interface. A session's times are the numbers of its pictures, from 0 on: libx265 takes any
 * times, in any unit, and returns them as they are.
 */
#ifndef SESSION_H
#define SESSION_H

#include "preload.h"

/* NAL units, each behind its length in 4 bytes (big-endian). */
typedef struct units {
    uint8_t *bytes;
    size_t size;
} units;

/* What a picture's packet is returned with. */
typedef struct picture_info {
    int64_t pts;
    void *user_data;
    units messages; /* its SEI messages */
} picture_info;

/* A packet that was received and not returned. */
typedef struct packet {
    struct packet *next;
    int64_t number; /* of its picture */
    uint32_t flags; /* HWD_SYNC, HWD_DISPOSABLE */
    uint8_t unit_type, temporal_id;
    bool has_headers; /* `headers` changed before it */
    units headers, data;
} packet;

/* The units of one call's result, with start codes or lengths. */
typedef struct output {
    uint8_t *bytes;
    size_t size, capacity;
    x265_nal *nals;
    uint32_t count, places;
    bool failed; /* no memory */
} output;

struct hardware {
    hwd_daemon *daemon;
    hwd_session *session;
    x265_param param; /* its texts are copies */
    bool synchronous, failed, has_noted_offsets;
    const char *fault; /* what the session did wrong, or NULL */
    uint32_t restarts; /* worker restarts already logged */
    /* Pictures sent, packets received, packets returned. */
    int64_t sent, received, returned;
    int64_t requested; /* pictures sent before the last request for all packets */
    int completions;   /* requests whose end has not come */
    int64_t depth;    /* pictures that the encoder reorders; known with the first packet */
    int64_t greatest; /* number of a returned packet's picture */
    /* The infos of pictures `first_info` to `sent`, in a ring of a power of two. */
    picture_info *infos;
    int64_t info_capacity, first_info;
    packet *first, **last; /* packets to return, in decoding order */
    units headers, new_headers; /* the parameter sets in effect, and those of the next packets */
    output output, header_output;
    void *blank; /* a picture of zeros to be read, for apps that read reconstructed samples */
    size_t blank_size;
    struct {
        uint64_t bits;
        uint32_t pictures;
    } types[3]; /* I, P, B */
    double opened; /* s */
};

/* hardware.c: logs that the session continued in another process since the last call, and why. */
void log_restart(hardware *encoder);

/* packets.c: receives events for up to timeout_ms, then those that are there; 1 if there was one, 0, or negative: why not. */
int receive(hardware *encoder, int timeout_ms);
void free_packet(packet *at);

/* pictures.c: sends a picture; negative: why not. */
int send_picture(hardware *encoder, const x265_picture *in);
picture_info *info_of(hardware *encoder, int64_t number);
void drop_infos(hardware *encoder, int64_t before);

/* messages.c: whether a picture's SEI messages can be written; as NAL units, false without memory. */
bool are_messages_valid(const x265_sei *sei);
bool make_messages(const x265_sei *sei, units *out);

/* output.c: results as libx265 returns them. */
void clear_output(output *to);
void add_units(output *to, const units *from, bool start_codes);
/* Lets the units point to their bytes; the size of all of them, or -1. */
int finish_output(output *to);
int return_packet(hardware *encoder, x265_picture *out);

/* Records what is wrong; a negative number. */
int set_fault(hardware *encoder, const char *fault);

double seconds_now(void);

#endif
