// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_SUBMISSION_H
#define HWSIM_SUBMISSION_H

#include "decoder/decoder.h"
#include "personality/firmware.h"
#include "driver/hwsim.h"
#include "faults/plan.h"

// What a client has rendered for the picture that it began, copied out of its buffers.

struct packed_header {
    uint32_t type;  // VAEncPackedHeader*
    uint32_t bits;
    bool escaped;
    uint8_t *data;
    size_t size;
};

struct decode_part {  // slices of a picture to decode: parameters, then their data
    VASliceParameterBufferHEVC *slices;
    unsigned count;
    uint8_t *data;
    size_t size;
};

enum { MAX_PACKED = 700 };

struct submission {
    // These hold for the pictures after it, too.
    bool has_sequence;
    VAEncSequenceParameterBufferHEVC sequence;
    VAEncMiscParameterRateControl rate;
    struct firmware firmware;  // as the buffers have it so far, in their order

    bool has_picture, header_pending;
    VAEncPictureParameterBufferHEVC picture;
    VAEncPackedHeaderParameterBuffer pending;
    VAEncSliceParameterBufferHEVC *slices;
    unsigned slice_count;
    struct packed_header packed[MAX_PACKED];
    unsigned packed_count;

    bool has_decode_picture, has_matrix;
    VAPictureParameterBufferHEVC decode_picture;
    VAIQMatrixBufferHEVC matrix;
    struct decode_part *parts;
    unsigned part_count;

    struct codec_picture other;  // of another codec than HEVC
};

// Forgets what belongs to one picture only.
void submission_clear(struct submission *);

// What EndPicture hands to the encoder: everything that it may touch while the driver is not locked.
enum { MAX_JOB_REFERENCES = 15 };

struct encode_job {
    VADriverContextP driver_context;
    struct context *context;
    struct surface *source, *reconstruction;
    struct buffer *coded;
    struct surface *references[MAX_JOB_REFERENCES];  // of reference_frames, NULL where there is none
    unsigned number;
    enum planned_fault fault;

    // What comes out.
    const struct bytes *output;
    int poc, temporal_id, qp;
    bool discardable;
    const char *type;
};

struct encoder *encoder_create(void);
void encoder_free(struct encoder *);
// Fills job->output and the rest, or the reason why not (message: MESSAGE_SIZE bytes).
VAStatus encoder_run(struct encoder *, struct encode_job *, char *message);
// After a picture: what it reconstructed into the surface is likely to be referred to soon.
void encoder_keep(struct encoder *, const struct surface *);

VAStatus end_picture(VADriverContextP, VAContextID);

// trace.c: one line a picture, and its reconstruction.
void trace_picture(struct driver *, const struct encode_job *, uint64_t start);
uint64_t monotonic_nanoseconds(void);
void trace_firmware(struct driver *, const struct encode_job *, const struct firmware *);

#endif
