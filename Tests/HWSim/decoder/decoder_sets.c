// SPDX-License-Identifier: GPL-2.0-or-later
// The parameter sets: H.265 7.3.2.1 to 7.3.2.3.
#include "decoder/decoder_headers.h"

// profile_tier_level( 1, 0 ), 7.3.3: Main 10, high tier, the highest level. Nothing is decided by it.
static void write_profile(struct bit_writer *bits) {
    write_bits(bits, 2, 0);
    write_bits(bits, 1, 1);
    write_bits(bits, 5, 2);
    write_bits(bits, 32, 1u << 29);  // general_profile_compatibility_flag[ 2 ]
    write_bits(bits, 4, 9);          // progressive source, frames only
    write_bits(bits, 32, 0);
    write_bits(bits, 12, 0);
    write_bits(bits, 8, 186);
}

// Room for every picture, and none waits for another one's output.
static void write_ordering(struct bit_writer *bits) {
    write_bits(bits, 1, 1);
    write_ue(bits, DECODER_MAXIMUM_REFERENCES);  // max_dec_pic_buffering_minus1
    write_ue(bits, 0);                           // max_num_reorder_pics
    write_ue(bits, 0);                           // max_latency_increase_plus1
}

void decoder_write_vps(struct bit_writer *bits) {
    write_bits(bits, 4, 0);
    write_bits(bits, 2, 3);  // base layer, internal and available
    write_bits(bits, 6, 0);
    write_bits(bits, 3, 0);
    write_bits(bits, 1, 1);
    write_bits(bits, 16, 0xffff);
    write_profile(bits);
    write_ordering(bits);
    write_bits(bits, 6, 0);
    write_ue(bits, 0);
    write_bits(bits, 2, 0);  // no timing, no extension
    write_trailing_bits(bits);
}

void decoder_write_sps(struct bit_writer *bits, const VAPictureParameterBufferHEVC *picture) {
    write_bits(bits, 4, 0);
    write_bits(bits, 3, 0);
    write_bits(bits, 1, 1);
    write_profile(bits);
    write_ue(bits, 0);
    write_ue(bits, picture->pic_fields.bits.chroma_format_idc);
    write_ue(bits, picture->pic_width_in_luma_samples);
    write_ue(bits, picture->pic_height_in_luma_samples);
    write_bits(bits, 1, 0);  // cropping is the client's
    write_ue(bits, picture->bit_depth_luma_minus8);
    write_ue(bits, picture->bit_depth_chroma_minus8);
    write_ue(bits, 16 - 4);  // log2_max_pic_order_cnt_lsb_minus4
    write_ordering(bits);
    write_ue(bits, picture->log2_min_luma_coding_block_size_minus3);
    write_ue(bits, picture->log2_diff_max_min_luma_coding_block_size);
    write_ue(bits, picture->log2_min_transform_block_size_minus2);
    write_ue(bits, picture->log2_diff_max_min_transform_block_size);
    write_ue(bits, picture->max_transform_hierarchy_depth_inter);
    write_ue(bits, picture->max_transform_hierarchy_depth_intra);
    write_bits(bits, 1, picture->pic_fields.bits.scaling_list_enabled_flag);
    if (picture->pic_fields.bits.scaling_list_enabled_flag)
        write_bits(bits, 1, 0);  // lists may change with each picture: they are in the PPS
    write_bits(bits, 1, picture->pic_fields.bits.amp_enabled_flag);
    write_bits(bits, 1, 1);  // sample_adaptive_offset_enabled_flag
    write_bits(bits, 1, picture->pic_fields.bits.pcm_enabled_flag);
    if (picture->pic_fields.bits.pcm_enabled_flag) {
        write_bits(bits, 4, picture->pcm_sample_bit_depth_luma_minus1);
        write_bits(bits, 4, picture->pcm_sample_bit_depth_chroma_minus1);
        write_ue(bits, picture->log2_min_pcm_luma_coding_block_size_minus3);
        write_ue(bits, picture->log2_diff_max_min_pcm_luma_coding_block_size);
        write_bits(bits, 1, picture->pic_fields.bits.pcm_loop_filter_disabled_flag);
    }
    write_ue(bits, 0);      // num_short_term_ref_pic_sets: each slice has its own
    write_bits(bits, 1, 1);  // long_term_ref_pics_present_flag
    write_ue(bits, 0);
    write_bits(bits, 1, 1);  // sps_temporal_mvp_enabled_flag
    write_bits(bits, 1, picture->pic_fields.bits.strong_intra_smoothing_enabled_flag);
    write_bits(bits, 2, 0);  // no VUI, no extension
    write_trailing_bits(bits);
}

// One list, 7.3.4. VA-API has it as a matrix row by row, the stream along the up-right diagonals (6.5.3).
static void write_scaling_list(struct bit_writer *bits, const uint8_t *matrix, int side, const uint8_t *dc) {
    int last = 8;
    write_bits(bits, 1, 1);
    if (dc) {
        write_se(bits, *dc - 8);
        last = *dc;
    }
    for (int diagonal = 0; diagonal < 2 * side - 1; diagonal++)
        for (int x = 0; x < side; x++) {
            int y = diagonal - x;
            if (y < 0 || y >= side) continue;
            int value = matrix[y * side + x];
            write_se(bits, (int8_t)(value - last));
            last = value;
        }
}

static void write_scaling_lists(struct bit_writer *bits, const VAIQMatrixBufferHEVC *matrix) {
    for (int i = 0; i < 6; i++) write_scaling_list(bits, matrix->ScalingList4x4[i], 4, NULL);
    for (int i = 0; i < 6; i++) write_scaling_list(bits, matrix->ScalingList8x8[i], 8, NULL);
    for (int i = 0; i < 6; i++)
        write_scaling_list(bits, matrix->ScalingList16x16[i], 8, &matrix->ScalingListDC16x16[i]);
    for (int i = 0; i < 2; i++)
        write_scaling_list(bits, matrix->ScalingList32x32[i], 8, &matrix->ScalingListDC32x32[i]);
}

void decoder_write_pps(
    struct bit_writer *bits, const VAPictureParameterBufferHEVC *picture, const VAIQMatrixBufferHEVC *matrix) {
    write_ue(bits, 0);
    write_ue(bits, 0);
    write_bits(bits, 1, 1);  // dependent_slice_segments_enabled_flag
    write_bits(bits, 1, 0);
    write_bits(bits, 3, 0);
    write_bits(bits, 1, picture->pic_fields.bits.sign_data_hiding_enabled_flag);
    write_bits(bits, 1, 1);  // cabac_init_present_flag
    write_ue(bits, 0);
    write_ue(bits, 0);
    write_se(bits, picture->init_qp_minus26);
    write_bits(bits, 1, picture->pic_fields.bits.constrained_intra_pred_flag);
    write_bits(bits, 1, picture->pic_fields.bits.transform_skip_enabled_flag);
    write_bits(bits, 1, picture->pic_fields.bits.cu_qp_delta_enabled_flag);
    if (picture->pic_fields.bits.cu_qp_delta_enabled_flag) write_ue(bits, picture->diff_cu_qp_delta_depth);
    write_se(bits, picture->pps_cb_qp_offset);
    write_se(bits, picture->pps_cr_qp_offset);
    write_bits(bits, 1, 1);  // pps_slice_chroma_qp_offsets_present_flag
    write_bits(bits, 1, picture->pic_fields.bits.weighted_pred_flag);
    write_bits(bits, 1, picture->pic_fields.bits.weighted_bipred_flag);
    write_bits(bits, 1, picture->pic_fields.bits.transquant_bypass_enabled_flag);
    write_bits(bits, 1, picture->pic_fields.bits.tiles_enabled_flag);
    write_bits(bits, 1, picture->pic_fields.bits.entropy_coding_sync_enabled_flag);
    if (picture->pic_fields.bits.tiles_enabled_flag) {
        write_ue(bits, picture->num_tile_columns_minus1);
        write_ue(bits, picture->num_tile_rows_minus1);
        write_bits(bits, 1, 0);  // uniform_spacing_flag
        for (int i = 0; i < picture->num_tile_columns_minus1; i++)
            write_ue(bits, picture->column_width_minus1[i]);
        for (int i = 0; i < picture->num_tile_rows_minus1; i++) write_ue(bits, picture->row_height_minus1[i]);
        write_bits(bits, 1, picture->pic_fields.bits.loop_filter_across_tiles_enabled_flag);
    }
    write_bits(bits, 1, picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag);
    write_bits(bits, 1, 1);  // deblocking_filter_control_present_flag
    write_bits(bits, 1, 1);  // deblocking_filter_override_enabled_flag
    write_bits(bits, 1, 0);
    write_se(bits, 0);
    write_se(bits, 0);
    bool scaling = picture->pic_fields.bits.scaling_list_enabled_flag && matrix;
    write_bits(bits, 1, scaling);
    if (scaling) write_scaling_lists(bits, matrix);
    write_bits(bits, 1, 1);  // lists_modification_present_flag
    write_ue(bits, picture->log2_parallel_merge_level_minus2);
    write_bits(bits, 2, 0);
    write_trailing_bits(bits);
}
