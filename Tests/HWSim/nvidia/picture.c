// SPDX-License-Identifier: GPL-2.0-or-later
#include "nvidia/picture.h"

#include <stdlib.h>
#include <string.h>

static void fill_picture(VAPictureParameterBufferHEVC *to, const CUVIDPICPARAMS *all) {
    const CUVIDHEVCPICPARAMS *from = &all->CodecSpecific.hevc;
    memset(to, 0, sizeof *to);
    to->CurrPic = (VAPictureHEVC){.picture_id = (VASurfaceID)all->CurrPicIdx, .pic_order_cnt = from->CurrPicOrderCntVal};
    to->pic_width_in_luma_samples = (uint16_t)from->pic_width_in_luma_samples;
    to->pic_height_in_luma_samples = (uint16_t)from->pic_height_in_luma_samples;
    to->pic_fields.bits.chroma_format_idc = 1;
    to->pic_fields.bits.separate_colour_plane_flag = from->separate_colour_plane_flag;
    to->pic_fields.bits.pcm_enabled_flag = from->pcm_enabled_flag;
    to->pic_fields.bits.scaling_list_enabled_flag = from->scaling_list_enable_flag;
    to->pic_fields.bits.transform_skip_enabled_flag = from->transform_skip_enabled_flag;
    to->pic_fields.bits.amp_enabled_flag = from->amp_enabled_flag;
    to->pic_fields.bits.strong_intra_smoothing_enabled_flag = from->strong_intra_smoothing_enabled_flag;
    to->pic_fields.bits.sign_data_hiding_enabled_flag = from->sign_data_hiding_enabled_flag;
    to->pic_fields.bits.constrained_intra_pred_flag = from->constrained_intra_pred_flag;
    to->pic_fields.bits.cu_qp_delta_enabled_flag = from->cu_qp_delta_enabled_flag;
    to->pic_fields.bits.weighted_pred_flag = from->weighted_pred_flag;
    to->pic_fields.bits.weighted_bipred_flag = from->weighted_bipred_flag;
    to->pic_fields.bits.transquant_bypass_enabled_flag = from->transquant_bypass_enabled_flag;
    to->pic_fields.bits.tiles_enabled_flag = from->tiles_enabled_flag;
    to->pic_fields.bits.entropy_coding_sync_enabled_flag = from->entropy_coding_sync_enabled_flag;
    to->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag = from->loop_filter_across_slices_enabled_flag;
    to->pic_fields.bits.loop_filter_across_tiles_enabled_flag = from->loop_filter_across_tiles_enabled_flag;
    to->pic_fields.bits.pcm_loop_filter_disabled_flag = from->pcm_loop_filter_disabled_flag;
    to->bit_depth_luma_minus8 = from->bit_depth_luma_minus8;
    to->bit_depth_chroma_minus8 = from->bit_depth_chroma_minus8;
    to->pcm_sample_bit_depth_luma_minus1 = from->pcm_sample_bit_depth_luma_minus1;
    to->pcm_sample_bit_depth_chroma_minus1 = from->pcm_sample_bit_depth_chroma_minus1;
    to->log2_min_luma_coding_block_size_minus3 = from->log2_min_luma_coding_block_size_minus3;
    to->log2_diff_max_min_luma_coding_block_size = from->log2_diff_max_min_luma_coding_block_size;
    to->log2_min_transform_block_size_minus2 = from->log2_min_transform_block_size_minus2;
    to->log2_diff_max_min_transform_block_size = from->log2_diff_max_min_transform_block_size;
    to->log2_min_pcm_luma_coding_block_size_minus3 = from->log2_min_pcm_luma_coding_block_size_minus3;
    to->log2_diff_max_min_pcm_luma_coding_block_size = from->log2_diff_max_min_pcm_luma_coding_block_size;
    to->max_transform_hierarchy_depth_intra = from->max_transform_hierarchy_depth_intra;
    to->max_transform_hierarchy_depth_inter = from->max_transform_hierarchy_depth_inter;
    to->init_qp_minus26 = from->init_qp_minus26;
    to->diff_cu_qp_delta_depth = from->diff_cu_qp_delta_depth;
    to->pps_cb_qp_offset = from->pps_cb_qp_offset;
    to->pps_cr_qp_offset = from->pps_cr_qp_offset;
    to->log2_parallel_merge_level_minus2 = from->log2_parallel_merge_level_minus2;
    to->slice_parsing_fields.bits.RapPicFlag = from->IrapPicFlag;
    to->slice_parsing_fields.bits.IdrPicFlag = from->IdrPicFlag;
}

// The grid of tiles. NVDEC takes the widths as they are in the stream, and for uniform ones works them out.
static bool fill_tiles(VAPictureParameterBufferHEVC *to, const CUVIDHEVCPICPARAMS *from, int ctb, char *message) {
    if (!from->tiles_enabled_flag) return true;
    int columns = from->num_tile_columns_minus1 + 1, rows = from->num_tile_rows_minus1 + 1;
    if (columns > MAX_TILE_COLUMNS || rows > MAX_TILE_ROWS) return refuse(message, "%dx%d tiles", columns, rows);
    int wide = (from->pic_width_in_luma_samples + ctb - 1) / ctb, high = (from->pic_height_in_luma_samples + ctb - 1) / ctb;
    to->num_tile_columns_minus1 = (uint8_t)(columns - 1);
    to->num_tile_rows_minus1 = (uint8_t)(rows - 1);
    for (int i = 0; i < columns - 1; i++)
        to->column_width_minus1[i] = from->uniform_spacing_flag
            ? (uint16_t)((i + 1) * wide / columns - i * wide / columns - 1) : from->column_width_minus1[i];
    for (int i = 0; i < rows - 1; i++)
        to->row_height_minus1[i] = from->uniform_spacing_flag
            ? (uint16_t)((i + 1) * high / rows - i * high / rows - 1) : from->row_height_minus1[i];
    return true;
}

// A list in the order of the scan, up-right diagonals (6.5.3), as a matrix row by row.
static void unscan(uint8_t *matrix, const uint8_t *list, int side) {
    for (int diagonal = 0, i = 0; diagonal < 2 * side - 1; diagonal++)
        for (int x = 0; x < side; x++) {
            int y = diagonal - x;
            if (y >= 0 && y < side) matrix[y * side + x] = list[i++];
        }
}

static void fill_matrix(VAIQMatrixBufferHEVC *to, const CUVIDHEVCPICPARAMS *from) {
    memset(to, 0, sizeof *to);
    for (int i = 0; i < 6; i++) {
        unscan(to->ScalingList4x4[i], from->ScalingList4x4[i], 4);
        unscan(to->ScalingList8x8[i], from->ScalingList8x8[i], 8);
        unscan(to->ScalingList16x16[i], from->ScalingList16x16[i], 8);
        if (i < 2) unscan(to->ScalingList32x32[i], from->ScalingList32x32[i], 8);
    }
    memcpy(to->ScalingListDC16x16, from->ScalingListDCCoeff16x16, sizeof to->ScalingListDC16x16);
    memcpy(to->ScalingListDC32x32, from->ScalingListDCCoeff32x32, sizeof to->ScalingListDC32x32);
}

// ReferenceFrames; the entries are RefPicIdx's.
static bool fill_references(VAPictureParameterBufferHEVC *to, const CUVIDHEVCPICPARAMS *from, char *message) {
    for (int i = 0; i < 15; i++) {
        VAPictureHEVC *frame = &to->ReferenceFrames[i];
        bool is_there = from->RefPicIdx[i] >= 0;
        *frame = (VAPictureHEVC){.picture_id = is_there ? (VASurfaceID)from->RefPicIdx[i] : VA_INVALID_SURFACE,
            .pic_order_cnt = from->PicOrderCntVal[i], .flags = is_there ? 0 : VA_PICTURE_HEVC_INVALID};
        if (from->IsLongTerm[i]) frame->flags |= VA_PICTURE_HEVC_LONG_TERM_REFERENCE;
    }
    const struct {
        int count;
        const unsigned char *entries;
        uint32_t flag;
    } sets[] = {
        {from->NumPocStCurrBefore, from->RefPicSetStCurrBefore, VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE},
        {from->NumPocStCurrAfter, from->RefPicSetStCurrAfter, VA_PICTURE_HEVC_RPS_ST_CURR_AFTER},
        {from->NumPocLtCurr, from->RefPicSetLtCurr, VA_PICTURE_HEVC_RPS_LT_CURR},
    };
    int total = 0;
    for (int i = 0; i < 3; i++) {
        if (sets[i].count < 0 || sets[i].count > 8) return refuse(message, "%d pictures in a reference picture set", sets[i].count);
        total += sets[i].count;
        for (int j = 0; j < sets[i].count; j++) {
            if (sets[i].entries[j] > 14) return refuse(message, "the reference %d", sets[i].entries[j]);
            to->ReferenceFrames[sets[i].entries[j]].flags |= sets[i].flag;
        }
    }
    return total == from->NumPocTotalCurr || refuse(message, "NumPocTotalCurr is %d, and the sets have %d",
        from->NumPocTotalCurr, total);
}

// What a slice header's syntax depends on.
static bool fill_sets(struct parameter_sets *sets, const CUVIDHEVCPICPARAMS *from, char *message) {
    struct sps *sps = &sets->sps[0];
    memset(sets, 0, sizeof *sets);
    sets->any_tool = true;
    int log2_ctb = from->log2_min_luma_coding_block_size_minus3 + 3 + from->log2_diff_max_min_luma_coding_block_size;
    if (log2_ctb < 4 || log2_ctb > 6 || from->pic_width_in_luma_samples < 8 || from->pic_width_in_luma_samples > 16384 ||
        from->pic_height_in_luma_samples < 8 || from->pic_height_in_luma_samples > 16384 ||
        from->log2_max_pic_order_cnt_lsb_minus4 > 12 || from->num_short_term_ref_pic_sets > 64 ||
        from->num_long_term_ref_pics_sps > 32 || from->NumBitsForShortTermRPSInSlice < 0)
        return refuse(message, "the picture's parameters are out of range");
    *sps = (struct sps){
        .present = true, .width = from->pic_width_in_luma_samples, .height = from->pic_height_in_luma_samples,
        .log2_ctb = log2_ctb, .depth_luma = from->bit_depth_luma_minus8 + 8,
        .log2_poc_lsb = from->log2_max_pic_order_cnt_lsb_minus4 + 4, .rps_count = from->num_short_term_ref_pic_sets,
        .rps_hidden = true, .hidden_rps_bits = from->NumBitsForShortTermRPSInSlice, .hidden_total = from->NumPocTotalCurr,
        .long_term = from->long_term_ref_pics_present_flag, .long_term_count = from->num_long_term_ref_pics_sps,
        .temporal_mvp = from->sps_temporal_mvp_enabled_flag, .sao = from->sample_adaptive_offset_enabled_flag,
    };
    struct pps pps = {
        .present = true, .dependent_slices = from->dependent_slice_segments_enabled_flag,
        .extra_slice_header_bits = from->num_extra_slice_header_bits, .output_flag_present = from->output_flag_present_flag,
        .default_active = {from->num_ref_idx_l0_default_active_minus1 + 1, from->num_ref_idx_l1_default_active_minus1 + 1},
        .lists_modification = from->lists_modification_present_flag, .cabac_init_present = from->cabac_init_present_flag,
        .slice_chroma_offsets = from->pps_slice_chroma_qp_offsets_present_flag, .weighted = from->weighted_pred_flag,
        .weighted_bi = from->weighted_bipred_flag, .tiles = from->tiles_enabled_flag,
        .wavefront = from->entropy_coding_sync_enabled_flag, .init_qp = from->init_qp_minus26 + 26,
        .cb_offset = from->pps_cb_qp_offset, .cr_offset = from->pps_cr_qp_offset,
        .deblocking_override = from->deblocking_filter_override_enabled_flag,
        .deblocking_disabled = from->pps_deblocking_filter_disabled_flag, .beta_offset_div2 = from->pps_beta_offset_div2,
        .tc_offset_div2 = from->pps_tc_offset_div2, .across_slices = from->loop_filter_across_slices_enabled_flag,
        .slice_header_extension = from->slice_segment_header_extension_present_flag,
    };
    // A picture's slices may name any id: its parameters are those of all of them.
    for (int i = 0; i < 64; i++) sets->pps[i] = pps;
    return pps.default_active[0] <= 15 && pps.default_active[1] <= 15 ? true : refuse(message, "too many active references");
}

// RefPicList0 and 1 (8.3.4).
static void fill_lists(VASliceParameterBufferHEVC *to, const CUVIDHEVCPICPARAMS *from, const struct slice *slice) {
    memset(to->RefPicList, 0xff, sizeof to->RefPicList);
    for (int list = 0; list < 2 && slice->type != SLICE_I; list++) {
        uint8_t candidates[24];
        int count = 0;
        for (int part = 0; part < 2; part++) {
            bool before = part == list;
            for (int i = 0; i < (before ? from->NumPocStCurrBefore : from->NumPocStCurrAfter); i++)
                candidates[count++] = (before ? from->RefPicSetStCurrBefore : from->RefPicSetStCurrAfter)[i];
        }
        for (int i = 0; i < from->NumPocLtCurr; i++) candidates[count++] = from->RefPicSetLtCurr[i];
        for (int i = 0; count && i < slice->active[list] && i < 15; i++)
            to->RefPicList[list][i] = candidates[slice->modified[list] ? slice->list_entries[list][i] : i % count];
    }
}

static void fill_weights(VASliceParameterBufferHEVC *to, const struct weights *weights) {
    int denominator = weights->luma_denominator + weights->chroma_delta;
    to->luma_log2_weight_denom = (uint8_t)weights->luma_denominator;
    to->delta_chroma_log2_weight_denom = (int8_t)weights->chroma_delta;
    for (int list = 0; list < 2; list++)
        for (int i = 0; i < 15; i++) {
            (list ? to->delta_luma_weight_l1 : to->delta_luma_weight_l0)[i] = (int8_t)weights->luma[list][i];
            (list ? to->luma_offset_l1 : to->luma_offset_l0)[i] = (int8_t)weights->luma_offset[list][i];
            for (int c = 0; c < 2; c++) {
                int weight = weights->chroma[list][i][c], whole = (1 << denominator) + weight;
                int offset = 128 + weights->chroma_offset[list][i][c] - ((128 * whole) >> denominator);
                offset = offset < -128 ? -128 : offset > 127 ? 127 : offset;
                (list ? to->delta_chroma_weight_l1 : to->delta_chroma_weight_l0)[i][c] = (int8_t)weight;
                (list ? to->ChromaOffsetL1 : to->ChromaOffsetL0)[i][c] = (int8_t)offset;
            }
        }
}

static void fill_slice(VASliceParameterBufferHEVC *to, const CUVIDHEVCPICPARAMS *from, const struct slice *slice) {
    memset(to, 0, sizeof *to);
    to->slice_data_byte_offset = (uint32_t)slice->header_bytes;
    to->slice_segment_address = (uint32_t)slice->address;
    to->LongSliceFlags.fields.dependent_slice_segment_flag = slice->dependent;
    to->LongSliceFlags.fields.slice_type = (uint32_t)slice->type & 3;
    to->LongSliceFlags.fields.slice_sao_luma_flag = slice->sao_luma;
    to->LongSliceFlags.fields.slice_sao_chroma_flag = slice->sao_chroma;
    to->LongSliceFlags.fields.mvd_l1_zero_flag = slice->mvd_l1_zero;
    to->LongSliceFlags.fields.cabac_init_flag = slice->cabac_init;
    to->LongSliceFlags.fields.slice_temporal_mvp_enabled_flag = slice->temporal_mvp;
    to->LongSliceFlags.fields.slice_deblocking_filter_disabled_flag = slice->deblocking_disabled;
    to->LongSliceFlags.fields.collocated_from_l0_flag = slice->collocated_l0;
    to->LongSliceFlags.fields.slice_loop_filter_across_slices_enabled_flag = slice->across_slices;
    to->collocated_ref_idx = (uint8_t)slice->collocated_ref;
    to->num_ref_idx_l0_active_minus1 = (uint8_t)(slice->active[0] ? slice->active[0] - 1 : 0);
    to->num_ref_idx_l1_active_minus1 = (uint8_t)(slice->active[1] ? slice->active[1] - 1 : 0);
    to->slice_qp_delta = (int8_t)slice->qp_delta;
    to->slice_cb_qp_offset = (int8_t)slice->cb_offset;
    to->slice_cr_qp_offset = (int8_t)slice->cr_offset;
    to->slice_beta_offset_div2 = (int8_t)slice->beta_offset_div2;
    to->slice_tc_offset_div2 = (int8_t)slice->tc_offset_div2;
    to->five_minus_max_num_merge_cand = (uint8_t)(slice->max_merge ? 5 - slice->max_merge : 0);
    fill_lists(to, from, slice);
    fill_weights(to, &slice->weights);
}

// The slice at an offset of the picture's data, behind its start code.
static bool slice_data(const CUVIDPICPARAMS *all, unsigned index, const uint8_t **data, size_t *size) {
    size_t start = all->pSliceDataOffsets[index];
    size_t end = index + 1 < all->nNumSlices ? all->pSliceDataOffsets[index + 1] : all->nBitstreamDataLen;
    if (end > all->nBitstreamDataLen || start + 5 > end) return false;
    const uint8_t *bytes = all->pBitstreamData + start;
    size_t code = !bytes[0] && !bytes[1] && bytes[2] == 1 ? 3 : !bytes[0] && !bytes[1] && !bytes[2] && bytes[3] == 1 ? 4 : 0;
    *data = bytes + code;
    *size = end - start - code;
    return code && *size > 2;
}

static bool make_room(struct nv_picture *picture, unsigned count) {
    if (count <= picture->capacity) return true;
    free(picture->parameters);
    free(picture->slices);
    picture->parameters = calloc(count, sizeof *picture->parameters);
    picture->slices = calloc(count, sizeof *picture->slices);
    picture->capacity = picture->parameters && picture->slices ? count : 0;
    return picture->capacity;
}

bool nv_picture_read(struct nv_picture *picture, const CUVIDPICPARAMS *all, char *message) {
    const CUVIDHEVCPICPARAMS *from = &all->CodecSpecific.hevc;
    if (!all->nNumSlices || all->nNumSlices > 4096 || !all->pBitstreamData || !all->pSliceDataOffsets)
        return refuse(message, "%u slices", all->nNumSlices);
    if (!make_room(picture, all->nNumSlices)) return refuse(message, "out of memory");
    if (!fill_sets(&picture->sets, from, message)) return false;
    fill_picture(&picture->picture, all);
    fill_matrix(&picture->matrix, from);
    if (!fill_tiles(&picture->picture, from, 1 << picture->sets.sps[0].log2_ctb, message) ||
        !fill_references(&picture->picture, from, message))
        return false;
    struct slice slice = {0};
    for (unsigned i = 0; i < all->nNumSlices; i++) {
        struct hwsim_slice *to = &picture->slices[i];
        if (!slice_data(all, i, &to->data, &to->size)) return refuse(message, "slice %u is not in the picture's data", i);
        picture->plain.count = 0;
        if (!bytes_reserve(&picture->plain, to->size)) return refuse(message, "out of memory");
        size_t size = unescape(picture->plain.data, to->data, to->size);
        struct bit_reader reader = bit_reader_of(picture->plain.data, 8 * size);
        struct nal_header nal;
        if (!parse_nal_header(&reader, &nal, message) || !parse_slice(&reader, &picture->sets, nal, &slice, message)) return false;
        fill_slice(&picture->parameters[i], from, &slice);
        to->parameters = &picture->parameters[i];
    }
    return true;
}

void nv_picture_free(struct nv_picture *picture) {
    free(picture->parameters);
    free(picture->slices);
    bytes_free(&picture->plain);
}
