// SPDX-License-Identifier: GPL-2.0-or-later
// Writes to standard output the headers of a picture with what no encoder at hand makes: tiles, PCM, long-term
// references, a collocated picture that is not the first. decoder-check has another parser read them.
#include <stdio.h>
#include <string.h>

#include "decoder/decoder_headers.h"

static struct bytes stream, payload;

static void append_nal_unit(int type) {
    const uint8_t start[] = {0, 0, 0, 1, (uint8_t)(type << 1), 1};
    int zeros = 0;
    bytes_append(&stream, start, sizeof start);
    append_escaped(&stream, payload.data, payload.count, &zeros);
    payload.count = 0;
}

static void set_references(VAPictureParameterBufferHEVC *picture, struct decoder_holdings *holdings) {
    const int orders[] = {96, 104, 98, 60, 102, 90};
    picture->CurrPic = (VAPictureHEVC){.picture_id = 100, .pic_order_cnt = 100};
    for (unsigned i = 0; i < 15; i++) {
        VAPictureHEVC *frame = &picture->ReferenceFrames[i];
        *frame = (VAPictureHEVC){.picture_id = VA_INVALID_SURFACE, .flags = VA_PICTURE_HEVC_INVALID};
        if (i >= sizeof orders / sizeof *orders) continue;
        *frame = (VAPictureHEVC){.picture_id = i, .pic_order_cnt = orders[i]};
        if (orders[i] == 60) frame->flags = VA_PICTURE_HEVC_LONG_TERM_REFERENCE;
        holdings->list[holdings->count++] = (struct decoder_held){i, orders[i]};
    }
}

static VAPictureParameterBufferHEVC make_picture(struct decoder_holdings *holdings) {
    VAPictureParameterBufferHEVC picture = {
        .pic_width_in_luma_samples = 640,
        .pic_height_in_luma_samples = 384,
        .log2_diff_max_min_luma_coding_block_size = 3,
        .log2_diff_max_min_transform_block_size = 3,
        .max_transform_hierarchy_depth_inter = 1,
        .max_transform_hierarchy_depth_intra = 2,
        .pcm_sample_bit_depth_luma_minus1 = 7,
        .pcm_sample_bit_depth_chroma_minus1 = 6,
        .log2_diff_max_min_pcm_luma_coding_block_size = 1,
        .num_tile_columns_minus1 = 2,
        .num_tile_rows_minus1 = 1,
        .column_width_minus1 = {2, 3, 2},
        .row_height_minus1 = {1, 3},
        .init_qp_minus26 = -3,
        .diff_cu_qp_delta_depth = 2,
        .pps_cb_qp_offset = -4,
        .pps_cr_qp_offset = 5,
        .log2_parallel_merge_level_minus2 = 1,
    };
    picture.pic_fields.bits.chroma_format_idc = 1;
    picture.pic_fields.bits.pcm_enabled_flag = 1;
    picture.pic_fields.bits.pcm_loop_filter_disabled_flag = 1;
    picture.pic_fields.bits.scaling_list_enabled_flag = 1;
    picture.pic_fields.bits.cu_qp_delta_enabled_flag = 1;
    picture.pic_fields.bits.weighted_bipred_flag = 1;
    picture.pic_fields.bits.tiles_enabled_flag = 1;
    picture.pic_fields.bits.pps_loop_filter_across_slices_enabled_flag = 1;
    set_references(&picture, holdings);
    return picture;
}

static VASliceParameterBufferHEVC make_slice(void) {
    VASliceParameterBufferHEVC slice = {
        .num_ref_idx_l0_active_minus1 = 2,
        .num_ref_idx_l1_active_minus1 = 1,
        .RefPicList = {{3, 2, 4}, {1, 0}},
        .collocated_ref_idx = 1,
        .slice_qp_delta = -5,
        .slice_cb_qp_offset = 2,
        .slice_cr_qp_offset = -3,
        .slice_beta_offset_div2 = 1,
        .slice_tc_offset_div2 = -1,
        .luma_log2_weight_denom = 6,
        .delta_chroma_log2_weight_denom = -1,
        .delta_luma_weight_l0 = {3, 0, -4},
        .luma_offset_l0 = {-7},
        .delta_chroma_weight_l1 = {{0}, {5, -6}},
        .ChromaOffsetL1 = {{0}, {9, -10}},
        .five_minus_max_num_merge_cand = 3,
    };
    slice.LongSliceFlags.fields.slice_temporal_mvp_enabled_flag = 1;
    slice.LongSliceFlags.fields.slice_sao_luma_flag = 1;
    slice.LongSliceFlags.fields.slice_loop_filter_across_slices_enabled_flag = 1;
    slice.LongSliceFlags.fields.cabac_init_flag = 1;
    return slice;
}

int main(void) {
    const uint8_t data[] = {1, 2, 3, 0x80};
    struct decoder_holdings holdings = {0};
    struct decoder_references references;
    VAPictureParameterBufferHEVC picture = make_picture(&holdings);
    VASliceParameterBufferHEVC slices[3] = {make_slice(), make_slice(), make_slice()};
    slices[1].slice_segment_address = 7;
    slices[2].slice_segment_address = 59;
    slices[2].LongSliceFlags.fields.dependent_slice_segment_flag = 1;
    VAIQMatrixBufferHEVC matrix;
    memset(&matrix, 16, sizeof matrix);
    matrix.ScalingListDC32x32[1] = 30;
    struct hwsim_slice first = {&slices[0], NULL, 0};
    decoder_references_make(&references, &holdings, &picture, &first, 1);

    struct bit_writer writer = {.bytes = &payload};
    decoder_write_vps(&writer);
    append_nal_unit(NAL_VPS);
    decoder_write_sps(&writer, &picture);
    append_nal_unit(NAL_SPS);
    decoder_write_pps(&writer, &picture, &matrix);
    append_nal_unit(NAL_PPS);
    for (int i = 0; i < 3; i++) {
        decoder_write_slice_header(&writer, NAL_TRAIL_R, &picture, &references, &slices[i]);
        bytes_append(&payload, data, sizeof data);
        append_nal_unit(NAL_TRAIL_R);
    }
    bool written = !stream.failed && !payload.failed && fwrite(stream.data, 1, stream.count, stdout) == stream.count;
    bytes_free(&stream);
    bytes_free(&payload);
    return written ? 0 : 1;
}
