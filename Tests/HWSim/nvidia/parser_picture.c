// SPDX-License-Identifier: GPL-2.0-or-later
// A picture as CUVIDPICPARAMS.
#include <string.h>

#include "nvidia/parser.h"

static void fill_sps(CUVIDHEVCPICPARAMS *to, const struct sps *sps) {
    to->pic_width_in_luma_samples = sps->width;
    to->pic_height_in_luma_samples = sps->height;
    to->log2_min_luma_coding_block_size_minus3 = (unsigned char)(sps->log2_min_cb - 3);
    to->log2_diff_max_min_luma_coding_block_size = (unsigned char)(sps->log2_ctb - sps->log2_min_cb);
    to->log2_min_transform_block_size_minus2 = (unsigned char)(sps->log2_min_tb - 2);
    to->log2_diff_max_min_transform_block_size = (unsigned char)(sps->log2_max_tb - sps->log2_min_tb);
    to->pcm_enabled_flag = sps->pcm;
    if (sps->pcm) {
        to->log2_min_pcm_luma_coding_block_size_minus3 = (unsigned char)(sps->log2_min_pcm - 3);
        to->log2_diff_max_min_pcm_luma_coding_block_size = (unsigned char)(sps->log2_max_pcm - sps->log2_min_pcm);
        to->pcm_sample_bit_depth_luma_minus1 = (unsigned char)(sps->pcm_depth[0] - 1);
        to->pcm_sample_bit_depth_chroma_minus1 = (unsigned char)(sps->pcm_depth[1] - 1);
        to->pcm_loop_filter_disabled_flag = sps->pcm_loop_filter_disabled;
    }
    to->strong_intra_smoothing_enabled_flag = sps->strong_intra;
    to->max_transform_hierarchy_depth_intra = (unsigned char)sps->hierarchy_intra;
    to->max_transform_hierarchy_depth_inter = (unsigned char)sps->hierarchy_inter;
    to->amp_enabled_flag = sps->amp;
    to->log2_max_pic_order_cnt_lsb_minus4 = (unsigned char)(sps->log2_poc_lsb - 4);
    to->num_short_term_ref_pic_sets = (unsigned char)sps->rps_count;
    to->long_term_ref_pics_present_flag = sps->long_term;
    to->num_long_term_ref_pics_sps = (unsigned char)sps->long_term_count;
    to->sps_temporal_mvp_enabled_flag = sps->temporal_mvp;
    to->sample_adaptive_offset_enabled_flag = sps->sao;
    to->scaling_list_enable_flag = sps->scaling_lists;
    to->bit_depth_luma_minus8 = (unsigned char)(sps->depth_luma - 8);
    to->bit_depth_chroma_minus8 = (unsigned char)(sps->depth_chroma - 8);
}

static void fill_pps(CUVIDHEVCPICPARAMS *to, const struct pps *pps) {
    to->dependent_slice_segments_enabled_flag = pps->dependent_slices;
    to->slice_segment_header_extension_present_flag = pps->slice_header_extension;
    to->sign_data_hiding_enabled_flag = pps->sign_hiding;
    to->cu_qp_delta_enabled_flag = pps->cu_qp_delta;
    to->diff_cu_qp_delta_depth = (unsigned char)pps->cu_qp_delta_depth;
    to->init_qp_minus26 = (signed char)(pps->init_qp - 26);
    to->pps_cb_qp_offset = (signed char)pps->cb_offset;
    to->pps_cr_qp_offset = (signed char)pps->cr_offset;
    to->constrained_intra_pred_flag = pps->constrained_intra;
    to->weighted_pred_flag = pps->weighted;
    to->weighted_bipred_flag = pps->weighted_bi;
    to->transform_skip_enabled_flag = pps->transform_skip;
    to->transquant_bypass_enabled_flag = pps->transquant_bypass;
    to->entropy_coding_sync_enabled_flag = pps->wavefront;
    to->log2_parallel_merge_level_minus2 = (unsigned char)(pps->log2_merge_level - 2);
    to->num_extra_slice_header_bits = (unsigned char)pps->extra_slice_header_bits;
    to->loop_filter_across_tiles_enabled_flag = pps->tiles ? pps->across_tiles : 1;
    to->loop_filter_across_slices_enabled_flag = pps->across_slices;
    to->output_flag_present_flag = pps->output_flag_present;
    to->num_ref_idx_l0_default_active_minus1 = (unsigned char)(pps->default_active[0] - 1);
    to->num_ref_idx_l1_default_active_minus1 = (unsigned char)(pps->default_active[1] - 1);
    to->lists_modification_present_flag = pps->lists_modification;
    to->cabac_init_present_flag = pps->cabac_init_present;
    to->pps_slice_chroma_qp_offsets_present_flag = pps->slice_chroma_offsets;
    to->deblocking_filter_override_enabled_flag = pps->deblocking_override;
    to->pps_deblocking_filter_disabled_flag = pps->deblocking_disabled;
    to->pps_beta_offset_div2 = (signed char)pps->beta_offset_div2;
    to->pps_tc_offset_div2 = (signed char)pps->tc_offset_div2;
    to->tiles_enabled_flag = pps->tiles;
    to->uniform_spacing_flag = pps->tiles_uniform;
    to->num_tile_columns_minus1 = (unsigned char)(pps->tile_columns - 1);
    to->num_tile_rows_minus1 = (unsigned char)(pps->tile_rows - 1);
    for (int i = 0; i < pps->tile_columns - 1; i++) to->column_width_minus1[i] = (unsigned short)(pps->tile_widths[i] - 1);
    for (int i = 0; i < pps->tile_rows - 1 && i < 21; i++) to->row_height_minus1[i] = (unsigned short)(pps->tile_heights[i] - 1);
}

static void fill_scaling(CUVIDHEVCPICPARAMS *to, const struct scaling_lists *lists) {
    for (int i = 0; i < 6; i++) {
        memcpy(to->ScalingList4x4[i], lists->list[0][i], 16);
        memcpy(to->ScalingList8x8[i], lists->list[1][i], 64);
        memcpy(to->ScalingList16x16[i], lists->list[2][i], 64);
        to->ScalingListDCCoeff16x16[i] = lists->dc[0][i];
    }
    for (int i = 0; i < 2; i++) {
        memcpy(to->ScalingList32x32[i], lists->list[3][3 * i], 64);
        to->ScalingListDCCoeff32x32[i] = lists->dc[1][3 * i];
    }
}

// All references that are kept, and those of the picture's sets that are missing.
static void fill_references(CUVIDHEVCPICPARAMS *to, const struct stream_parser *parser) {
    const struct reference_sets *sets = &parser->references;
    unsigned char *const entries[] = {to->RefPicSetStCurrBefore, to->RefPicSetStCurrAfter, to->RefPicSetLtCurr};
    int *const counts[] = {&to->NumPocStCurrBefore, &to->NumPocStCurrAfter, &to->NumPocLtCurr};
    int index_of[MOST_SURFACES], count = 0;
    for (unsigned i = 0; i < parser->surface_count; i++) {
        const struct shown *surface = &parser->surfaces[i];
        if (!surface->reference || count == 16) continue;
        index_of[i] = count;
        to->RefPicIdx[count] = (int)i;
        to->PicOrderCntVal[count] = surface->poc;
        to->IsLongTerm[count++] = surface->long_term;
    }
    for (int i = count; i < 16; i++) to->RefPicIdx[i] = -1;
    for (int set = 0; set < 3; set++)
        for (int i = 0; i < sets->count[set] && i < 8; i++) {
            int surface = sets->surface[set][i];
            int index = surface >= 0 ? index_of[surface] : count < 15 ? count++ : 14;
            if (surface < 0) to->PicOrderCntVal[index] = sets->poc[set][i];
            entries[set][i] = (unsigned char)index;
            ++*counts[set];
            to->NumPocTotalCurr++;
        }
}

void parser_fill(const struct stream_parser *parser, CUVIDPICPARAMS *parameters) {
    const struct collected *picture = &parser->picture;
    const struct sps *sps = &parser->active;
    const struct pps *pps = &parser->sets.pps[picture->slice.pps_id];
    CUVIDHEVCPICPARAMS *hevc = &parameters->CodecSpecific.hevc;
    memset(parameters, 0, sizeof *parameters);
    bool is_irap = picture->nal.type >= NAL_BLA_W_LP && picture->nal.type <= NAL_IRAP_LAST;
    parameters->PicWidthInMbs = (sps->width + 15) / 16;
    parameters->FrameHeightInMbs = (sps->height + 15) / 16;
    parameters->CurrPicIdx = picture->surface;
    parameters->nBitstreamDataLen = (unsigned)picture->data.count;
    parameters->pBitstreamData = picture->data.data;
    parameters->nNumSlices = picture->count;
    parameters->pSliceDataOffsets = picture->offsets;
    parameters->ref_pic_flag = 1;
    parameters->intra_pic_flag = is_irap;
    fill_sps(hevc, sps);
    fill_pps(hevc, pps);
    fill_scaling(hevc, pps->scaling_lists ? &pps->scaling : &sps->scaling);
    hevc->IrapPicFlag = is_irap;
    hevc->IdrPicFlag = picture->nal.type == NAL_IDR_W_RADL || picture->nal.type == NAL_IDR_N_LP;
    hevc->NumBitsForShortTermRPSInSlice = (int)picture->slice.rps_bits;
    hevc->NumDeltaPocsOfRefRpsIdx = picture->slice.rps_bits ? picture->slice.rps.from : 0;
    hevc->CurrPicOrderCntVal = picture->poc;
    fill_references(hevc, parser);
}
