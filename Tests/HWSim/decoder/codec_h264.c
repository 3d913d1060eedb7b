// SPDX-License-Identifier: GPL-2.0-or-later
// H.264: parameter sets (7.3.2.1, 7.3.2.2) made from the picture's parameters; slices as they are.
#include <string.h>

#include "decoder/codec.h"

enum { NAL_IDR_SLICE = 5, NAL_SPS = 7, NAL_PPS = 8 };

static void write_sps(struct bit_writer *bits, const VAPictureParameterBufferH264 *picture) {
    write_bits(bits, 8, 100);  // High
    write_bits(bits, 8, 0);
    write_bits(bits, 8, 52);
    write_ue(bits, 0);
    write_ue(bits, picture->seq_fields.bits.chroma_format_idc);
    write_ue(bits, picture->bit_depth_luma_minus8);
    write_ue(bits, picture->bit_depth_chroma_minus8);
    write_bits(bits, 2, 0);  // no lossless transform, no scaling matrix
    write_ue(bits, picture->seq_fields.bits.log2_max_frame_num_minus4);
    write_ue(bits, picture->seq_fields.bits.pic_order_cnt_type);
    if (picture->seq_fields.bits.pic_order_cnt_type == 0)
        write_ue(bits, picture->seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4);
    write_ue(bits, picture->num_ref_frames);
    write_bits(bits, 1, picture->seq_fields.bits.gaps_in_frame_num_value_allowed_flag);
    write_ue(bits, picture->picture_width_in_mbs_minus1);
    write_ue(bits, picture->picture_height_in_mbs_minus1);
    write_bits(bits, 1, 1);  // frame_mbs_only_flag
    write_bits(bits, 1, picture->seq_fields.bits.direct_8x8_inference_flag);
    write_bits(bits, 2, 0);  // cropping is the client's; no VUI
    write_trailing_bits(bits);
}

static void write_pps(struct bit_writer *bits, const VAPictureParameterBufferH264 *picture) {
    write_ue(bits, 0);
    write_ue(bits, 0);
    write_bits(bits, 1, picture->pic_fields.bits.entropy_coding_mode_flag);
    write_bits(bits, 1, picture->pic_fields.bits.pic_order_present_flag);
    write_ue(bits, 0);  // one slice group
    write_ue(bits, 0);  // I slices have no lists
    write_ue(bits, 0);
    write_bits(bits, 1, picture->pic_fields.bits.weighted_pred_flag);
    write_bits(bits, 2, picture->pic_fields.bits.weighted_bipred_idc);
    write_se(bits, picture->pic_init_qp_minus26);
    write_se(bits, picture->pic_init_qs_minus26);
    write_se(bits, picture->chroma_qp_index_offset);
    write_bits(bits, 1, picture->pic_fields.bits.deblocking_filter_control_present_flag);
    write_bits(bits, 1, picture->pic_fields.bits.constrained_intra_pred_flag);
    write_bits(bits, 1, picture->pic_fields.bits.redundant_pic_cnt_present_flag);
    write_bits(bits, 1, picture->pic_fields.bits.transform_8x8_mode_flag);
    write_bits(bits, 1, 0);  // no scaling matrix
    write_se(bits, picture->second_chroma_qp_index_offset);
    write_trailing_bits(bits);
}

static void append_set(struct bytes *stream, int type, struct bytes *payload) {
    const uint8_t start[] = {0, 0, 0, 1, (uint8_t)(3 << 5 | type)};
    int zeros = 0;
    bytes_append(stream, start, sizeof start);
    append_escaped(stream, payload->data, payload->count, &zeros);
    payload->count = 0;
}

static const char *check(
    const VAPictureParameterBufferH264 *parameters, const struct codec_picture *picture, const struct hwsim_picture *size) {
    if (16 * (parameters->picture_width_in_mbs_minus1 + 1) > size->width ||
        16 * (parameters->picture_height_in_mbs_minus1 + 1) > size->height)
        return "the picture is larger than its surface";
    if (parameters->bit_depth_luma_minus8 || parameters->bit_depth_chroma_minus8 || size->depth != 8 ||
        parameters->seq_fields.bits.chroma_format_idc != 1)
        return "the picture is not 4:2:0 with 8 bits";
    if (!parameters->seq_fields.bits.frame_mbs_only_flag || parameters->pic_fields.bits.field_pic_flag)
        return "only progressive frames are decoded";
    if (parameters->seq_fields.bits.pic_order_cnt_type == 1) return "pic_order_cnt_type is 1";
    for (size_t i = 0; i < picture->matrix_size && i < sizeof(((VAIQMatrixBufferH264 *)0)->ScalingList4x4); i++)
        if (picture->matrix[i] != 16) return "only flat scaling lists are decoded";
    return NULL;
}

const char *codec_write_h264(struct bytes *stream, const struct codec_picture *picture, const struct hwsim_picture *size) {
    VAPictureParameterBufferH264 parameters;
    if (picture->parameter_size < sizeof parameters) return "there are no picture parameters";
    memcpy(&parameters, picture->parameters, sizeof parameters);
    const char *wrong = check(&parameters, picture, size);
    if (wrong) return wrong;
    if (!picture->part_count) return "there is no slice";

    struct bytes payload = {0};
    struct bit_writer bits = {.bytes = &payload};
    write_sps(&bits, &parameters);
    append_set(stream, NAL_SPS, &payload);
    write_pps(&bits, &parameters);
    append_set(stream, NAL_PPS, &payload);
    bytes_free(&payload);
    for (unsigned i = 0; i < picture->part_count; i++)
        for (unsigned j = 0; j < picture->parts[i].count; j++) {
            const uint8_t start[] = {0, 0, 0, 1}, *data;
            size_t count;
            if (!codec_slice(&picture->parts[i], j, &data, &count)) return "a slice lies outside its data";
            if ((data[0] & 31) != NAL_IDR_SLICE) return "only key frames are decoded";
            bytes_append(stream, start, sizeof start);
            bytes_append(stream, data, count);
        }
    return NULL;
}
