// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_ENCODER_H
#define HWSIM_ENCODER_H

#include "coder/coder.h"
#include "encoder/rate.h"
#include "driver/submission.h"

// Between VA-API's buffers and the coder.

enum { CACHED_REFERENCES = 6 };

struct cached_reference {
    struct frame frame;
    const struct surface *surface;
    uint64_t serial;
    unsigned used;
};

// What the slices of one picture refer to.
struct slice_references {
    int pocs[2][MAX_REFERENCES];
    struct surface *surfaces[2];  // entry 0 of each list
};

struct encoder {
    struct parameter_sets client;  // as the client's packed headers have them
    struct parameter_sets own;     // those of personalities that write their own
    struct coder coder;
    struct firmware running;  // what rate control has taken over
    struct rate rate;
    int only_qp;  // of drivers with one QP a context; -1 before the first picture
    unsigned clock;
    struct cached_reference cache[CACHED_REFERENCES];

    // The picture's slices, the client's packed headers of them, and what they refer to.
    struct slice_setting settings[MAX_SLICES];
    const struct packed_header *packed[MAX_SLICES];
    struct slice_references references[MAX_SLICES];
    unsigned slice_count, packed_count;
    int last_sps;  // the one that was packed last, or -1

    struct bytes headers, plain, data, output;
};

// client_headers.c: reads the picture's packed headers; those that are not slices' go to encoder->headers.
bool read_client_headers(struct encoder *, const struct encode_job *, char *message);

// own_headers.c: makes settings (and with `sets`, parameter sets in encoder->headers) as the personality would.
bool make_own_headers(struct encoder *, const struct encode_job *, char *message);

// check.c: compares headers with buffers.
bool check_driver(const struct encode_job *, char *message);
bool check_features(const struct encode_job *, const struct sps *, const struct pps *, char *message);
bool check_sets(const struct encode_job *, const struct sps *, const struct pps *, char *message);
bool check_slice(const struct encode_job *, const struct sps *, const struct pps *, const struct slice *,
    const VAEncSliceParameterBufferHEVC *, char *message);
// references.c: finds what a slice refers to, and whether it may.
bool find_references(const struct encode_job *, const struct slice *, const VAEncSliceParameterBufferHEVC *,
    struct slice_references *, char *message);

#endif
