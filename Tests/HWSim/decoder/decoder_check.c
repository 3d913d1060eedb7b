// SPDX-License-Identifier: GPL-2.0-or-later
// What the client's buffers must be before anything is made from them.
#include "decoder/decoder_headers.h"

static int block_bits(const VAPictureParameterBufferHEVC *picture) {
    return picture->log2_min_luma_coding_block_size_minus3 + 3 + picture->log2_diff_max_min_luma_coding_block_size;
}

uint32_t decoder_picture_blocks(const VAPictureParameterBufferHEVC *picture) {
    int bits = block_bits(picture), round = (1 << bits) - 1;
    return (uint32_t)((picture->pic_width_in_luma_samples + round) >> bits)
        * (uint32_t)((picture->pic_height_in_luma_samples + round) >> bits);
}

// A zero in a list means that a coefficient was not filled in (scaling_list_dc_coef and ScalingFactor are 1…255).
static bool has_zero(const uint8_t *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (values[i] == 0) return true;
    return false;
}

const char *decoder_check_picture(const VAPictureParameterBufferHEVC *picture, const VAIQMatrixBufferHEVC *matrix) {
    if (picture->pic_fields.bits.chroma_format_idc != 1 || picture->pic_fields.bits.separate_colour_plane_flag)
        return "only 4:2:0 is decoded";
    if (picture->log2_min_luma_coding_block_size_minus3 > 3 || picture->log2_diff_max_min_luma_coding_block_size > 3
        || block_bits(picture) < 4 || block_bits(picture) > 6)
        return "the coding tree blocks are not of 16, 32 or 64 samples";
    int smallest = 1 << (picture->log2_min_luma_coding_block_size_minus3 + 3);
    if (picture->pic_width_in_luma_samples == 0 || picture->pic_width_in_luma_samples % smallest
        || picture->pic_height_in_luma_samples == 0 || picture->pic_height_in_luma_samples % smallest)
        return "the size is no multiple of the smallest coding block";
    if (picture->pic_fields.bits.tiles_enabled_flag
        && (picture->num_tile_columns_minus1 > 19 || picture->num_tile_rows_minus1 > 21))
        return "more than 20 columns or 22 rows of tiles";
    if (picture->pic_fields.bits.pcm_enabled_flag
        && (picture->pcm_sample_bit_depth_luma_minus1 > 15 || picture->pcm_sample_bit_depth_chroma_minus1 > 15))
        return "PCM samples of more than 16 bits";
    if (picture->pic_fields.bits.scaling_list_enabled_flag && matrix
        && (has_zero(matrix->ScalingList4x4[0], sizeof matrix->ScalingList4x4)
            || has_zero(matrix->ScalingList8x8[0], sizeof matrix->ScalingList8x8)
            || has_zero(matrix->ScalingList16x16[0], sizeof matrix->ScalingList16x16)
            || has_zero(matrix->ScalingList32x32[0], sizeof matrix->ScalingList32x32)
            || has_zero(matrix->ScalingListDC16x16, sizeof matrix->ScalingListDC16x16)
            || has_zero(matrix->ScalingListDC32x32, sizeof matrix->ScalingListDC32x32)))
        return "a scaling list has a zero";
    return NULL;
}

// The slice's buffer against the first bytes of its NAL unit, which say some of the same.
static const char *check_stream(const VAPictureParameterBufferHEVC *picture, const struct hwsim_slice *slice) {
    int type = slice->data[0] >> 1 & 63;
    if (slice->data[0] & 0x81 || slice->data[1] >> 3 || (type > 9 && type < 16) || type > 21)
        return "the slice's data does not begin with a slice's NAL unit header of the base layer";
    // These flags are for the short slice format; a client that sets one must set it correctly.
    if (picture->slice_parsing_fields.bits.IdrPicFlag && type != 19 && type != 20)
        return "IdrPicFlag, but the stream has no IDR";
    if (picture->slice_parsing_fields.bits.RapPicFlag && type < 16) return "RapPicFlag, but the stream has no IRAP";
    if (slice->data[2] >> 7 != (slice->parameters->slice_segment_address == 0))
        return "slice_segment_address contradicts first_slice_segment_in_pic_flag";
    return NULL;
}

const char *decoder_check_slice(const VAPictureParameterBufferHEVC *picture, const struct hwsim_slice *slice) {
    const VASliceParameterBufferHEVC *parameters = slice->parameters;
    unsigned type = parameters->LongSliceFlags.fields.slice_type;
    if (slice->size < 4) return "a slice has no data";
    if (parameters->slice_data_byte_offset < 3 || parameters->slice_data_byte_offset >= slice->size)
        return "slice_data_byte_offset is outside the slice";
    if (parameters->slice_segment_address >= decoder_picture_blocks(picture))
        return "slice_segment_address is outside the picture";
    if (parameters->slice_segment_address == 0 && parameters->LongSliceFlags.fields.dependent_slice_segment_flag)
        return "the first slice segment depends on another one";
    if (type > 2) return "slice_type is not B, P or I";
    const char *wrong = check_stream(picture, slice);
    if (wrong || type == 2) return wrong;

    if (parameters->num_ref_idx_l0_active_minus1 > 14 || parameters->num_ref_idx_l1_active_minus1 > 14)
        return "a list has more than 15 references";
    if (parameters->five_minus_max_num_merge_cand > 4) return "five_minus_max_num_merge_cand is not 0 to 4";
    int chroma = parameters->luma_log2_weight_denom + parameters->delta_chroma_log2_weight_denom;
    if (parameters->luma_log2_weight_denom > 7 || chroma < 0 || chroma > 7)
        return "a weight's denominator is not 0 to 7";
    if (!parameters->LongSliceFlags.fields.slice_temporal_mvp_enabled_flag) return NULL;
    int list = type == 0 && !parameters->LongSliceFlags.fields.collocated_from_l0_flag;
    bool inside = parameters->collocated_ref_idx < decoder_list_length(parameters, list);
    return inside ? NULL : "collocated_ref_idx is outside its list";
}
