// SPDX-License-Identifier: GPL-2.0-or-later
// The decoding half of the driver (VAEntrypointVLD, HEVC Main and Main 10).
#ifndef HWSIM_DECODER_H
#define HWSIM_DECODER_H

#include <stddef.h>
#include <stdint.h>
#include <va/va.h>

#include "driver/hwsim_picture.h"

struct hwsim_decoder;

/// Makes a decoder of pictures up to this coded size, in luma samples, and this many bits a sample (8 or 10).
/// NULL when there is no memory or the values are out of range.
struct hwsim_decoder *hwsim_decoder_create(int width, int height, int depth);
void hwsim_decoder_destroy(struct hwsim_decoder *decoder);

/// One slice segment: `data` begins at its NAL unit header, emulation prevention bytes still in.
struct hwsim_slice {
    const VASliceParameterBufferHEVC *parameters;
    const uint8_t *data;
    size_t size;
};

/// Decodes one picture into `target`.
///
/// As in the long slice format, everything but the slice data comes from the buffers; `matrix` is NULL where the
/// client sent none. What a GPU would do with damage is done here: references that were never decoded are grey, and
/// slice data that makes no sense leaves a bad picture, with success. Buffers that contradict themselves or the stream
/// are refused, and the target is grey then.
///
/// `message` gets one sentence on what was wrong, or stays empty.
VAStatus hwsim_decoder_decode(
    struct hwsim_decoder *decoder, const VAPictureParameterBufferHEVC *picture, const VAIQMatrixBufferHEVC *matrix,
    const struct hwsim_slice *slices, int count, struct hwsim_picture *target, char *message, size_t message_size);

#endif
