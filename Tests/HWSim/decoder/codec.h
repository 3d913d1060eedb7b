// SPDX-License-Identifier: GPL-2.0-or-later
// Decoders of H.264, VP9 and AV1, for single key frames: libavcodec's software decoders behind VA-API's buffers.
#ifndef HWSIM_CODEC_H
#define HWSIM_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <va/va.h>
#include <va/va_dec_av1.h>
#include <va/va_dec_vp9.h>

#include "bitstream/bits.h"
#include "driver/hwsim_picture.h"

// Slices or tiles: `count` parameters of `each` bytes, then their data.
struct codec_part {
    uint8_t *parameters;
    size_t each;
    unsigned count;
    uint8_t *data;
    size_t size;
};

// The buffers of one picture; NULL where the client rendered none.
struct codec_picture {
    uint8_t *parameters, *matrix;
    size_t parameter_size, matrix_size;
    struct codec_part *parts;
    unsigned part_count;
};

// Bits of `personality.decoders`; 0 for other profiles.
enum codec { CODEC_H264 = 1, CODEC_VP9 = 2, CODEC_AV1 = 4 };
enum codec codec_of(VAProfile);

// Adds a copy of a buffer's contents to the picture.
VAStatus codec_take(struct codec_picture *, VABufferType, const uint8_t *data, size_t each, unsigned count);
void codec_clear(struct codec_picture *);

// Decodes a key frame. Returns what is wrong, or NULL; the target is grey then.
const char *codec_decode(enum codec, const struct codec_picture *, struct hwsim_picture *target);

// Each appends a stream that a software decoder takes, with headers made from the client's buffers. They return what is
// wrong, or NULL. `size` is that of the surface.
const char *codec_write_h264(struct bytes *, const struct codec_picture *, const struct hwsim_picture *size);
const char *codec_write_vp9(struct bytes *, const struct codec_picture *, const struct hwsim_picture *size);
const char *codec_write_av1(struct bytes *, const struct codec_picture *, const struct hwsim_picture *size);

// The data of a slice or tile whose parameters begin with VASliceParameterBufferBase; false where it is outside.
bool codec_slice(const struct codec_part *, unsigned index, const uint8_t **data, size_t *size);

#endif
