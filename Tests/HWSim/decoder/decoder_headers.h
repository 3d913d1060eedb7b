// SPDX-License-Identifier: GPL-2.0-or-later
// Headers written from VA-API's decoding buffers (H.265 7.3.2 and 7.3.6), for a decoder that needs a whole stream.
#ifndef HWSIM_DECODER_HEADERS_H
#define HWSIM_DECODER_HEADERS_H

#include "bitstream/bits.h"
#include "decoder/decoder_references.h"

/// nal_unit_type, table 7-1. The two slice types suffice: the others differ in when a picture is output or discarded,
/// which the client decides.
enum { NAL_TRAIL_R = 1, NAL_BLA_N_LP = 18, NAL_VPS = 32, NAL_SPS = 33, NAL_PPS = 34 };

/// The fault of the buffers, or NULL. Everything that the functions below index or shift by is checked here;
/// values that only a stream's reader would mind are left to it.
const char *decoder_check_picture(const VAPictureParameterBufferHEVC *picture, const VAIQMatrixBufferHEVC *matrix);
const char *decoder_check_slice(const VAPictureParameterBufferHEVC *picture, const struct hwsim_slice *slice);

/// PicSizeInCtbsY of a checked picture.
uint32_t decoder_picture_blocks(const VAPictureParameterBufferHEVC *picture);

/// Each writes the payload of one NAL unit, trailing bits included.
void decoder_write_vps(struct bit_writer *bits);
void decoder_write_sps(struct bit_writer *bits, const VAPictureParameterBufferHEVC *picture);
void decoder_write_pps(
    struct bit_writer *bits, const VAPictureParameterBufferHEVC *picture, const VAIQMatrixBufferHEVC *matrix);

/// slice_segment_header() and byte_alignment(); the slice's data comes after it. The sequence and the picture parameter
/// set above allow everything that a slice can choose, so that all of it stands in the slice's own header.
void decoder_write_slice_header(
    struct bit_writer *bits, int type, const VAPictureParameterBufferHEVC *picture,
    const struct decoder_references *references, const VASliceParameterBufferHEVC *slice);

#endif
