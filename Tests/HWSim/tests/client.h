// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_TESTS_CLIENT_H
#define HWSIM_TESTS_CLIENT_H

#include <stdbool.h>
#include <stdio.h>
#include <va/va.h>
#include <va/va_enc_hevc.h>

#include "bitstream/headers.h"

// A client on libva, as small as one can be that writes its own headers.

enum structure { INTRA, P, GPB, B2, PYRAMID, OPEN_GOP };

enum fault {
    NO_FAULT, WRONG_QP, WRONG_POC, WRONG_WIDTH, WRONG_DEPTH, WRONG_CTB, WRONG_TB, WRONG_QP_DELTA_FLAG, WRONG_AMP, WRONG_HIDING,
    WRONG_DEBLOCKING, WRONG_SAO, WRONG_TYPE, WRONG_LIST, WRONG_COUNT, WRONG_NAL_TYPE, WRONG_INIT_QP, WRONG_CTBS, NO_REFERENCE,
    HIGHER_LEVEL, NOT_ALIGNED, NO_HEADER, FOREIGN_SURFACE, FAULT_COUNT,
    RUBBISH,  // bits of headers and buffers flipped here and there
};

struct scenario {
    const char *name, *personality;
    enum structure structure;
    int width, height, depth, frames;
    int slices, references;
    uint32_t rate_control;  // 0 is CQP
    unsigned bits_per_second;
    int qp, log2_ctb, log2_min_cb, log2_max_tb, qp_delta_depth;
    bool hiding, qp_delta, sao, temporal_mvp, transform_skip, cabac_init, escaped_slices, deblocking_off, apart, no_amp, flat_transforms;
    int cb_offset, cr_offset, beta_offset, tc_offset;
    bool packed_sequence_only, ffmpeg_only, imported;
    enum fault fault;
    unsigned fault_at;
};

enum { MAX_FRAMES = 160, MAX_SURFACES = 20 };

// One picture, in coding order.
struct plan {
    int poc, type, nal_type, temporal_id;
    int lists[2][3], active[2];
    struct rps rps;
};

struct client {
    const struct scenario *scenario;
    VADisplay display;
    bool shared;  // the display is another client's, too
    int file;
    VAConfigID config;
    VAContextID context;
    VASurfaceID source, surfaces[MAX_SURFACES];
    int pocs[MAX_SURFACES];  // of what the surfaces hold
    bool held[MAX_SURFACES];
    VABufferID coded;
    struct parameter_sets sets;
    struct plan plans[MAX_FRAMES];
    int coded_width, coded_height, sequences;
    uint8_t *source_samples;
    uint8_t *memory;  // of the source, when it is imported
    VAImage memory_layout;
    size_t memory_size;
    size_t frame_size;  // of the visible picture, NV12 or P010
};

// plans.c: the pictures' order, references and reference picture sets.
void make_plans(struct client *);

// parameters.c: headers and buffers that agree.
void make_sets(struct client *);
void fill_sequence(const struct client *, VAEncSequenceParameterBufferHEVC *);
void fill_picture(const struct client *, const struct plan *, VASurfaceID target, VAEncPictureParameterBufferHEVC *);
void fill_slice(const struct client *, const struct plan *, int index, struct slice *, VAEncSliceParameterBufferHEVC *);

// client.c. client_encode appends the picture to the stream and returns vaEndPicture's status.
// With a display of its own when `display` is NULL.
bool client_open(struct client *, const struct scenario *, VADisplay display);
VAStatus client_encode(struct client *, int number, struct bytes *stream);
// The visible part of the surface that holds a picture, by vaGetImage; false when there is none.
bool client_picture(struct client *, int poc, uint8_t *samples);
void client_close(struct client *);
void make_content(const struct client *, int poc, uint8_t *samples);

#endif
