// SPDX-License-Identifier: GPL-2.0-or-later
// AV1: a temporal unit (5.6) of one still picture. Its sequence and frame headers are made from the picture's parameters, as
// in hardware; only tile data comes from the client's stream.
#include <string.h>

#include "decoder/codec.h"

enum { OBU_SEQUENCE_HEADER = 1, OBU_TEMPORAL_DELIMITER = 2, OBU_FRAME = 6, TX_MODE_SELECT = 2 };

// open_bitstream_unit( ), 5.3.1, with obu_size as leb128( ).
static void append_obu(struct bytes *stream, int type, const uint8_t *data, size_t size) {
    uint8_t header[6] = {(uint8_t)(type << 3 | 2)};
    size_t count = 1, rest = size;
    do {
        header[count++] = (uint8_t)((rest & 127) | (rest > 127 ? 128 : 0));
        rest >>= 7;
    } while (rest && count < sizeof header);
    bytes_append(stream, header, count);
    if (size) bytes_append(stream, data, size);
}

// sequence_header_obu( ), 5.5.1, with reduced_still_picture_header.
static void write_sequence(struct bit_writer *bits, const VADecPictureParameterBufferAV1 *picture) {
    write_bits(bits, 3, picture->profile);
    write_bits(bits, 2, 3);  // still_picture, reduced_still_picture_header
    write_bits(bits, 5, 8);  // level 4.0
    write_bits(bits, 8, 15 << 4 | 15);
    write_bits(bits, 16, picture->frame_width_minus1);
    write_bits(bits, 16, picture->frame_height_minus1);
    write_bits(bits, 1, picture->seq_info_fields.fields.use_128x128_superblock);
    write_bits(bits, 1, picture->seq_info_fields.fields.enable_filter_intra);
    write_bits(bits, 1, picture->seq_info_fields.fields.enable_intra_edge_filter);
    write_bits(bits, 1, 0);  // enable_superres
    write_bits(bits, 1, picture->seq_info_fields.fields.enable_cdef);
    write_bits(bits, 1, 1);  // enable_restoration
    // color_config( ), 5.5.2
    write_bits(bits, 1, picture->bit_depth_idx);
    write_bits(bits, 2, 0);  // not monochrome, no description
    write_bits(bits, 1, picture->seq_info_fields.fields.color_range);
    write_bits(bits, 2, 0);
    write_bits(bits, 1, 1);  // separate_uv_delta_q
    write_bits(bits, 1, 0);  // film_grain_params_present
    write_trailing_bits(bits);
}

static int superblocks(const VADecPictureParameterBufferAV1 *picture, int samples) {
    int side = picture->seq_info_fields.fields.use_128x128_superblock ? 128 : 64;
    return (samples + side - 1) / side;
}

static void write_delta(struct bit_writer *bits, int value) {
    write_bits(bits, 1, value != 0);
    if (value) write_bits(bits, 7, (uint32_t)value & 127);
}

// quantization_params( ) to delta_lf_params( ), 5.9.12 to 5.9.18.
static void write_quantization(struct bit_writer *bits, const VADecPictureParameterBufferAV1 *picture) {
    write_bits(bits, 8, picture->base_qindex);
    write_delta(bits, picture->y_dc_delta_q);
    write_bits(bits, 1, 1);  // diff_uv_delta
    write_delta(bits, picture->u_dc_delta_q);
    write_delta(bits, picture->u_ac_delta_q);
    write_delta(bits, picture->v_dc_delta_q);
    write_delta(bits, picture->v_ac_delta_q);
    write_bits(bits, 1, picture->qmatrix_fields.bits.using_qmatrix);
    if (picture->qmatrix_fields.bits.using_qmatrix) {
        write_bits(bits, 4, picture->qmatrix_fields.bits.qm_y);
        write_bits(bits, 4, picture->qmatrix_fields.bits.qm_u);
        write_bits(bits, 4, picture->qmatrix_fields.bits.qm_v);
    }
    write_bits(bits, 1, 0);  // segmentation_enabled
    write_bits(bits, 1, picture->mode_control_fields.bits.delta_q_present_flag);
    if (!picture->mode_control_fields.bits.delta_q_present_flag) return;
    write_bits(bits, 2, picture->mode_control_fields.bits.log2_delta_q_res);
    if (picture->pic_info_fields.bits.allow_intrabc) return;
    write_bits(bits, 1, picture->mode_control_fields.bits.delta_lf_present_flag);
    if (!picture->mode_control_fields.bits.delta_lf_present_flag) return;
    write_bits(bits, 2, picture->mode_control_fields.bits.log2_delta_lf_res);
    write_bits(bits, 1, picture->mode_control_fields.bits.delta_lf_multi);
}

// loop_filter_params( ), 5.9.11
static void write_loop_filter(struct bit_writer *bits, const VADecPictureParameterBufferAV1 *picture) {
    write_bits(bits, 6, picture->filter_level[0]);
    write_bits(bits, 6, picture->filter_level[1]);
    if (picture->filter_level[0] || picture->filter_level[1]) {
        write_bits(bits, 6, picture->filter_level_u);
        write_bits(bits, 6, picture->filter_level_v);
    }
    write_bits(bits, 3, picture->loop_filter_info_fields.bits.sharpness_level);
    write_bits(bits, 1, picture->loop_filter_info_fields.bits.mode_ref_delta_enabled);
    if (!picture->loop_filter_info_fields.bits.mode_ref_delta_enabled) return;
    write_bits(bits, 1, 1);  // loop_filter_delta_update
    for (int i = 0; i < 8; i++) {
        write_bits(bits, 1, 1);
        write_bits(bits, 7, (uint32_t)picture->ref_deltas[i] & 127);
    }
    for (int i = 0; i < 2; i++) {
        write_bits(bits, 1, 1);
        write_bits(bits, 7, (uint32_t)picture->mode_deltas[i] & 127);
    }
}

// cdef_params( ), 5.9.19
static void write_cdef(struct bit_writer *bits, const VADecPictureParameterBufferAV1 *picture) {
    write_bits(bits, 2, picture->cdef_damping_minus_3);
    write_bits(bits, 2, picture->cdef_bits);
    for (int i = 0; i < 1 << (picture->cdef_bits & 3); i++) {
        write_bits(bits, 6, picture->cdef_y_strengths[i]);
        write_bits(bits, 6, picture->cdef_uv_strengths[i]);
    }
}

// lr_params( ), 5.9.20. The stream's lr_type has another order than FrameRestorationType.
static void write_restoration(struct bit_writer *bits, const VADecPictureParameterBufferAV1 *picture) {
    static const uint8_t lr_types[4] = {0, 2, 3, 1};
    int types[3] = {
        (int)picture->loop_restoration_fields.bits.yframe_restoration_type,
        (int)picture->loop_restoration_fields.bits.cbframe_restoration_type,
        (int)picture->loop_restoration_fields.bits.crframe_restoration_type,
    };
    for (int plane = 0; plane < 3; plane++) write_bits(bits, 2, lr_types[types[plane]]);
    if (!types[0] && !types[1] && !types[2]) return;
    unsigned shift = picture->loop_restoration_fields.bits.lr_unit_shift;
    if (picture->seq_info_fields.fields.use_128x128_superblock) {
        write_bits(bits, 1, shift > 1);
    } else {
        write_bits(bits, 1, shift > 0);
        if (shift) write_bits(bits, 1, shift > 1);
    }
    if (types[1] || types[2]) write_bits(bits, 1, picture->loop_restoration_fields.bits.lr_uv_shift);
}

// uncompressed_header( ), 5.9.2, and byte_alignment( ).
static void write_frame(struct bit_writer *bits, const VADecPictureParameterBufferAV1 *picture) {
    bool tools = picture->pic_info_fields.bits.allow_screen_content_tools, copies = picture->pic_info_fields.bits.allow_intrabc;
    write_bits(bits, 1, picture->pic_info_fields.bits.disable_cdf_update);
    write_bits(bits, 1, tools);
    if (tools) write_bits(bits, 1, picture->pic_info_fields.bits.force_integer_mv);
    write_bits(bits, 1, 0);  // render_and_frame_size_different
    if (tools) write_bits(bits, 1, copies);
    // tile_info( ): one tile, so that each size that could be split says that it is not.
    write_bits(bits, 1, 1);
    if (superblocks(picture, picture->frame_width_minus1 + 1) > 1) write_bits(bits, 1, 0);
    if (superblocks(picture, picture->frame_height_minus1 + 1) > 1) write_bits(bits, 1, 0);
    write_quantization(bits, picture);
    if (!copies) {
        write_loop_filter(bits, picture);
        if (picture->seq_info_fields.fields.enable_cdef) write_cdef(bits, picture);
        write_restoration(bits, picture);
    }
    write_bits(bits, 1, picture->mode_control_fields.bits.tx_mode == TX_MODE_SELECT);
    write_bits(bits, 1, picture->mode_control_fields.bits.reduced_tx_set_used);
    while (bits->pending_bits) write_bits(bits, 1, 0);
}

static const char *check(const VADecPictureParameterBufferAV1 *picture, const struct hwsim_picture *size) {
    if (picture->pic_info_fields.bits.frame_type != 0 || !picture->pic_info_fields.bits.show_frame)
        return "only key frames that are shown are decoded";
    if (picture->frame_width_minus1 >= size->width || picture->frame_height_minus1 >= size->height)
        return "the picture is larger than its surface";
    if (picture->profile != 0 || picture->bit_depth_idx != (size->depth > 8) || picture->seq_info_fields.fields.mono_chrome)
        return "the profile and the bit depth are not the surface's";
    if (picture->tile_cols != 1 || picture->tile_rows != 1 || picture->seg_info.segment_info_fields.bits.enabled ||
        picture->pic_info_fields.bits.use_superres || picture->film_grain_info.film_grain_info_fields.bits.apply_grain ||
        picture->base_qindex == 0)
        return "tiles, segments, super-resolution, film grain and lossless coding are not simulated";
    return NULL;
}

const char *codec_write_av1(struct bytes *stream, const struct codec_picture *picture, const struct hwsim_picture *size) {
    VADecPictureParameterBufferAV1 parameters;
    const uint8_t *data;
    size_t count;
    if (picture->parameter_size < sizeof parameters) return "there are no picture parameters";
    memcpy(&parameters, picture->parameters, sizeof parameters);
    const char *wrong = check(&parameters, size);
    if (wrong) return wrong;
    if (picture->part_count != 1 || !codec_slice(&picture->parts[0], 0, &data, &count)) return "there is no tile";

    struct bytes payload = {0};
    struct bit_writer bits = {.bytes = &payload};
    append_obu(stream, OBU_TEMPORAL_DELIMITER, NULL, 0);
    write_sequence(&bits, &parameters);
    append_obu(stream, OBU_SEQUENCE_HEADER, payload.data, payload.count);
    payload.count = 0;
    write_frame(&bits, &parameters);
    bytes_append(&payload, data, count);
    append_obu(stream, OBU_FRAME, payload.data, payload.count);
    wrong = payload.failed ? "there is no memory" : NULL;
    bytes_free(&payload);
    return wrong;
}
