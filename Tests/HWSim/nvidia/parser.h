// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_NV_PARSER_H
#define HWSIM_NV_PARSER_H

#include "bitstream/headers.h"
#include "nvidia/nvidia_common.h"

enum { MOST_SURFACES = 64, MOST_SLICES = 1024 };

// A surface of the client's decoder, as the parser uses it.
struct shown {
    bool reference, long_term, waiting;
    int poc;
    CUvideotimestamp timestamp;
    unsigned long used;  // when last
};

// The picture whose slices are being collected.
struct collected {
    bool is_open;
    struct nal_header nal;
    struct slice slice;  // the first one
    struct bytes data;
    unsigned offsets[MOST_SLICES], count;
    int poc, surface;
    CUvideotimestamp timestamp;
};

// What the current picture refers to: surfaces, or -1 where there is none, and POCs.
struct reference_sets {
    int count[3];  // before, after, long-term
    int surface[3][MAX_REFERENCES], poc[3][MAX_REFERENCES];
};

struct stream_parser {
    CUVIDPARSERPARAMS parameters;
    struct parameter_sets sets;
    struct sps active;
    bool has_active, failed;
    struct bytes plain;
    struct collected picture;
    struct reference_sets references;
    struct shown surfaces[MOST_SURFACES];
    unsigned surface_count;
    unsigned long clock;
    bool begins;       // the next picture is the first of a sequence
    bool skips_rasl;   // NoRaslOutputFlag of the last IRAP picture
    bool has_irap;
    int previous_poc;  // prevTid0Pic's
};

// parser_picture.c: hands the collected picture to the client.
void parser_fill(const struct stream_parser *, CUVIDPICPARAMS *);

// parser_order.c: which surface holds what.
// Marks references for a picture whose POC is known, and drops and shows what has to leave before it is decoded.
void order_begin(struct stream_parser *);
// The surface of the picture; -1 where all are taken.
int order_slot(struct stream_parser *);
void order_end(struct stream_parser *);  // once it is decoded
void order_show_all(struct stream_parser *);

#endif
