// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_NVENC_H
#define HWSIM_NVENC_H

#include <ffnvcodec/nvEncodeAPI.h>

#include "coder/coder.h"
#include "encoder/rate.h"
#include "nvidia/nvidia_common.h"

// NVENC's sizes on chips since Turing, and what of the interface is there.
enum { SMALLEST_WIDTH = 129, SMALLEST_HEIGHT = 33, MOST_B = 4, MOST_PENDING = 64, MOST_OUTPUTS = 128, MOST_KEPT = 4 };

// Memory of a picture: the library's own, or a client's that is registered.
struct input {
    CUdeviceptr memory;
    unsigned width, height, pitch;
    NV_ENC_BUFFER_FORMAT format;
    bool own, mapped;
};

// A buffer for coded data.
struct output {
    struct bytes data;
    bool filled, hung;
    NV_ENC_PIC_TYPE type;
    uint64_t timestamp, duration;
    uint32_t index, qp, slices;
};

// A picture that the client has sent, and whose type is not decided yet.
struct pending {
    const struct input *input;
    unsigned pitch;
    uint32_t flags, index;
    uint64_t timestamp, duration;
    struct bytes sei;  // NAL units
};

struct kept {
    struct frame frame;
    bool used;
    int poc;
};

struct session {
    CUcontext context;
    int slot;         // among the sessions that the driver allows, or -1
    unsigned number;  // among the process's
    unsigned resets;  // of the GPU, before it was made
    char error[MESSAGE_SIZE];

    bool is_ready;
    NV_ENC_INITIALIZE_PARAMS parameters;
    NV_ENC_CONFIG config;
    struct sps sps;
    struct pps pps;
    struct rate rate;
    struct coder coder;
    struct slice_setting settings[MAX_SLICES];
    struct hwsim_picture source;
    uint8_t *source_memory;

    struct pending pending[MOST_PENDING];
    unsigned pending_count;
    struct output *outputs[MOST_OUTPUTS];  // in the order in which they are filled
    unsigned output_count;
    struct kept kept[MOST_KEPT];
    int poc;                // of the last picture in output order
    unsigned since_idr, since_intra;
    bool forces_idr, is_begun;
};

// nvenc_sets.c: parameter sets, and rate control, from the session's configuration; false, with session->error.
bool nvenc_configure(struct session *);
void nvenc_write_sets(const struct session *, struct bytes *);

// nvenc_code.c
struct plan {
    NV_ENC_PIC_TYPE type;
    int poc;
    int before, after;  // POCs of what it refers to, where its type does
    bool is_reference;
};
// Codes a picture into the next output.
NVENCSTATUS nvenc_code(struct session *, struct pending *, const struct plan *);
// Forgets references but those with the two POCs.
void nvenc_keep(struct session *, int first, int second);

// nvenc_order.c: decides on types. Codes what it can; NV_ENC_ERR_NEED_MORE_INPUT where nothing was.
NVENCSTATUS nvenc_take(struct session *, struct pending *);
NVENCSTATUS nvenc_flush(struct session *);

// nvenc_queries.c, nvenc_buffers.c: their part of the library's functions.
void nvenc_install_queries(NV_ENCODE_API_FUNCTION_LIST *);
void nvenc_install_buffers(NV_ENCODE_API_FUNCTION_LIST *);
NVENCSTATUS nvenc_preset(void *session, GUID codec, GUID preset, NV_ENC_TUNING_INFO, NV_ENC_PRESET_CONFIG *);
bool nvenc_has_format(NV_ENC_BUFFER_FORMAT);

// nvenc_trace.c: lines in HWSIM_TRACE.
void nvenc_trace_session(const struct session *, const char *word);
void nvenc_trace_picture(const struct session *, unsigned number, const struct plan *, size_t bytes, int qp);

#endif
