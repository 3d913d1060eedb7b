// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_NV_PICTURE_H
#define HWSIM_NV_PICTURE_H

#include "bitstream/headers.h"
#include "decoder/decoder.h"
#include "nvidia/nvidia_common.h"

// One picture of NVDEC's interface as VA-API's buffers in the long slice format: slice headers are read here, which NVDEC's
// firmware does, too, and with no more than it gets.
struct nv_picture {
    VAPictureParameterBufferHEVC picture;
    VAIQMatrixBufferHEVC matrix;
    VASliceParameterBufferHEVC *parameters;
    struct hwsim_slice *slices;
    unsigned capacity;
    struct bytes plain;
    struct parameter_sets sets;
};

// False, with a sentence, where the parameters contradict themselves or the stream.
bool nv_picture_read(struct nv_picture *, const CUVIDPICPARAMS *, char *message);
void nv_picture_free(struct nv_picture *);

#endif
