// SPDX-License-Identifier: GPL-2.0-or-later
// Headers against buffers: a real driver codes by the buffers, decoders read the headers, and where they differ the
// stream is broken. Here it does not come to that.
#include "encoder/encoder.h"

#define AGREE(name, header, buffer)                                                                          \
    do {                                                                                                     \
        long in_header = (long)(header), in_buffer = (long)(buffer);                                         \
        if (in_header != in_buffer)                                                                          \
            return refuse(message, "%s is %ld in the header and %ld in the buffer", name, in_header, in_buffer); \
    } while (0)

static bool check_feature(const char *name, unsigned feature, bool used, char *message) {
    if (used && !feature) return refuse(message, "%s is not supported", name);
    if (!used && feature == 2) return refuse(message, "%s is required", name);
    return true;
}

// What drivers refuse by the buffers alone.
bool check_driver(const struct encode_job *job, char *message) {
    const struct personality *personality = &DRIVER(job->driver_context)->personality;
    const struct submission *submission = job->context->submission;
    const VAEncSequenceParameterBufferHEVC *sequence = &submission->sequence;
    if (sequence->pic_width_in_luma_samples < personality->smallest_width ||
        sequence->pic_height_in_luma_samples < personality->smallest_height)
        return refuse(message, "%ux%u is below %dx%d", sequence->pic_width_in_luma_samples,
            sequence->pic_height_in_luma_samples, personality->smallest_width, personality->smallest_height);
    int bits = 1;
    for (uint32_t period = sequence->intra_period; period > 1; period = (period + 1) / 2) bits++;
    if (personality->largest_intra_period && bits > 16)
        return refuse(message, "log2_max_pic_order_cnt_lsb_minus4 is %d for an intra period of %u", bits - 4, sequence->intra_period);
    if (personality->limited_low_delay && job->context->config.rate_control != VA_RC_CQP &&
        sequence->seq_fields.bits.low_delay_seq && sequence->seq_fields.bits.hierachical_flag &&
        submission->picture.hierarchical_level_plus1 > 3)
        return refuse(message, "hierarchical_level_plus1 is %u in a low-delay sequence", submission->picture.hierarchical_level_plus1);
    int kept = 0;
    for (int i = 0; i < MAX_JOB_REFERENCES; i++) kept += job->references[i] != NULL;
    if (personality->references_total && kept > personality->references_total)
        return refuse(message, "%d reference pictures; more than %d corrupt the picture", kept, personality->references_total);
    return true;
}

bool check_features(const struct encode_job *job, const struct sps *sps, const struct pps *pps, char *message) {
    const struct personality *personality = &DRIVER(job->driver_context)->personality;
    const VAConfigAttribValEncHEVCFeatures features = personality->features;
    if (!check_feature("amp_enabled_flag", features.bits.amp, sps->amp, message) ||
        !check_feature("sample_adaptive_offset_enabled_flag", features.bits.sao, sps->sao, message) ||
        !check_feature("sps_temporal_mvp_enabled_flag", features.bits.temporal_mvp, sps->temporal_mvp, message) ||
        !check_feature("strong_intra_smoothing_enabled_flag", features.bits.strong_intra_smoothing, sps->strong_intra,
            message) ||
        !check_feature("sign_data_hiding_enabled_flag", features.bits.sign_data_hiding, pps->sign_hiding, message) ||
        !check_feature("transform_skip_enabled_flag", features.bits.transform_skip, pps->transform_skip, message) ||
        !check_feature("cu_qp_delta_enabled_flag", features.bits.cu_qp_delta, pps->cu_qp_delta, message))
        return false;
    int largest = personality->blocks.bits.log2_max_coding_tree_block_size_minus3 + 3;
    int smallest = personality->blocks.bits.log2_min_coding_tree_block_size_minus3 + 3;
    if (sps->log2_ctb > largest || sps->log2_ctb < smallest)
        return refuse(message, "CTBs of %d; %d to %d are supported", 1 << sps->log2_ctb, 1 << smallest, 1 << largest);
    if (pps->cu_qp_delta_depth > sps->log2_ctb - sps->log2_min_cb)
        return refuse(message, "diff_cu_qp_delta_depth is %d", pps->cu_qp_delta_depth);
    if (sps->hierarchy_inter > (int)personality->blocks.bits.max_max_transform_hierarchy_depth_inter ||
        sps->hierarchy_intra > (int)personality->blocks.bits.max_max_transform_hierarchy_depth_intra)
        return refuse(message, "transform trees of %d and %d levels", sps->hierarchy_inter, sps->hierarchy_intra);
    if (pps->log2_merge_level > sps->log2_ctb) return refuse(message, "Log2ParMrgLevel is %d", pps->log2_merge_level);
    return true;
}

static bool check_sps(const VAEncSequenceParameterBufferHEVC *sequence, const struct sps *sps, char *message) {
    AGREE("general_profile_idc", sps->profile, sequence->general_profile_idc);
    AGREE("general_level_idc", sps->level, sequence->general_level_idc);
    AGREE("general_tier_flag", sps->tier, sequence->general_tier_flag);
    AGREE("pic_width_in_luma_samples", sps->width, sequence->pic_width_in_luma_samples);
    AGREE("pic_height_in_luma_samples", sps->height, sequence->pic_height_in_luma_samples);
    AGREE("chroma_format_idc", sps->chroma_format, sequence->seq_fields.bits.chroma_format_idc);
    AGREE("bit_depth_luma_minus8", sps->depth_luma - 8, sequence->seq_fields.bits.bit_depth_luma_minus8);
    AGREE("bit_depth_chroma_minus8", sps->depth_chroma - 8, sequence->seq_fields.bits.bit_depth_chroma_minus8);
    AGREE("scaling_list_enabled_flag", sps->scaling_lists, sequence->seq_fields.bits.scaling_list_enabled_flag);
    AGREE("strong_intra_smoothing_enabled_flag", sps->strong_intra,
        sequence->seq_fields.bits.strong_intra_smoothing_enabled_flag);
    AGREE("amp_enabled_flag", sps->amp, sequence->seq_fields.bits.amp_enabled_flag);
    AGREE("sample_adaptive_offset_enabled_flag", sps->sao, sequence->seq_fields.bits.sample_adaptive_offset_enabled_flag);
    AGREE("pcm_enabled_flag", sps->pcm, sequence->seq_fields.bits.pcm_enabled_flag);
    AGREE("sps_temporal_mvp_enabled_flag", sps->temporal_mvp, sequence->seq_fields.bits.sps_temporal_mvp_enabled_flag);
    AGREE("log2_min_luma_coding_block_size_minus3", sps->log2_min_cb - 3,
        sequence->log2_min_luma_coding_block_size_minus3);
    AGREE("log2_diff_max_min_luma_coding_block_size", sps->log2_ctb - sps->log2_min_cb,
        sequence->log2_diff_max_min_luma_coding_block_size);
    AGREE("log2_min_luma_transform_block_size_minus2", sps->log2_min_tb - 2,
        sequence->log2_min_transform_block_size_minus2);
    AGREE("log2_diff_max_min_luma_transform_block_size", sps->log2_max_tb - sps->log2_min_tb,
        sequence->log2_diff_max_min_transform_block_size);
    AGREE("max_transform_hierarchy_depth_inter", sps->hierarchy_inter, sequence->max_transform_hierarchy_depth_inter);
    AGREE("max_transform_hierarchy_depth_intra", sps->hierarchy_intra, sequence->max_transform_hierarchy_depth_intra);
    return true;
}

bool check_sets(const struct encode_job *job, const struct sps *sps, const struct pps *pps, char *message) {
    const VAEncPictureParameterBufferHEVC *picture = &job->context->submission->picture;
    if (!check_sps(&job->context->submission->sequence, sps, message)) return false;
    AGREE("init_qp_minus26 + 26", pps->init_qp, picture->pic_init_qp);
    AGREE("diff_cu_qp_delta_depth", pps->cu_qp_delta_depth, picture->diff_cu_qp_delta_depth);
    AGREE("pps_cb_qp_offset", pps->cb_offset, picture->pps_cb_qp_offset);
    AGREE("pps_cr_qp_offset", pps->cr_offset, picture->pps_cr_qp_offset);
    AGREE("log2_parallel_merge_level_minus2", pps->log2_merge_level - 2, picture->log2_parallel_merge_level_minus2);
    AGREE("num_ref_idx_l0_default_active_minus1", pps->default_active[0] - 1,
        picture->num_ref_idx_l0_default_active_minus1);
    AGREE("num_ref_idx_l1_default_active_minus1", pps->default_active[1] - 1,
        picture->num_ref_idx_l1_default_active_minus1);
    AGREE("dependent_slice_segments_enabled_flag", pps->dependent_slices,
        picture->pic_fields.bits.dependent_slice_segments_enabled_flag);
    AGREE("sign_data_hiding_enabled_flag", pps->sign_hiding, picture->pic_fields.bits.sign_data_hiding_enabled_flag);
    AGREE("constrained_intra_pred_flag", pps->constrained_intra, picture->pic_fields.bits.constrained_intra_pred_flag);
    AGREE("transform_skip_enabled_flag", pps->transform_skip, picture->pic_fields.bits.transform_skip_enabled_flag);
    AGREE("cu_qp_delta_enabled_flag", pps->cu_qp_delta, picture->pic_fields.bits.cu_qp_delta_enabled_flag);
    AGREE("weighted_pred_flag", pps->weighted, picture->pic_fields.bits.weighted_pred_flag);
    AGREE("weighted_bipred_flag", pps->weighted_bi, picture->pic_fields.bits.weighted_bipred_flag);
    AGREE("transquant_bypass_enabled_flag", pps->transquant_bypass, picture->pic_fields.bits.transquant_bypass_enabled_flag);
    AGREE("tiles_enabled_flag", pps->tiles, picture->pic_fields.bits.tiles_enabled_flag);
    AGREE("entropy_coding_sync_enabled_flag", pps->wavefront, picture->pic_fields.bits.entropy_coding_sync_enabled_flag);
    AGREE("pps_loop_filter_across_slices_enabled_flag", pps->across_slices,
        picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag);
    AGREE("pps_scaling_list_data_present_flag", pps->scaling_lists, picture->pic_fields.bits.scaling_list_data_present_flag);
    return true;
}

static bool check_type(const VAEncPictureParameterBufferHEVC *picture, const struct slice *slice, char *message) {
    bool idr = slice->nal.type == NAL_IDR_W_RADL || slice->nal.type == NAL_IDR_N_LP;
    bool irap = slice->nal.type >= NAL_BLA_W_LP && slice->nal.type <= NAL_IRAP_LAST;
    unsigned coding = picture->pic_fields.bits.coding_type;
    AGREE("nal_unit_type", slice->nal.type, picture->nal_unit_type);
    AGREE("\"this is an IDR picture\"", idr, picture->pic_fields.bits.idr_pic_flag);
    if (coding < 1 || coding > 5) return refuse(message, "coding_type is %u", coding);
    if ((irap || coding == 1) && slice->type != SLICE_I)
        return refuse(message, "a slice of type %d in an intra picture", slice->type);
    if (irap && coding != 1) return refuse(message, "an IRAP picture with coding_type %u", coding);
    if (idr && slice->nal.temporal_id) return refuse(message, "an IDR picture with TemporalId %d", slice->nal.temporal_id);
    return true;
}

bool check_slice(const struct encode_job *job, const struct sps *sps, const struct pps *pps, const struct slice *slice,
    const VAEncSliceParameterBufferHEVC *buffer, char *message) {
    const VAEncPictureParameterBufferHEVC *picture = &job->context->submission->picture;
    if (!check_type(picture, slice, message)) return false;
    AGREE("slice_segment_address", slice->address, buffer->slice_segment_address);
    AGREE("first_slice_segment_in_pic_flag", slice->first, buffer->slice_segment_address == 0);
    AGREE("slice_type", slice->type, buffer->slice_type);
    AGREE("slice_pic_parameter_set_id", slice->pps_id, buffer->slice_pic_parameter_set_id);
    AGREE("slice_pic_parameter_set_id of the picture", slice->pps_id, picture->slice_pic_parameter_set_id);
    AGREE("no_output_of_prior_pics_flag", slice->no_output_of_prior, picture->pic_fields.bits.no_output_of_prior_pics_flag);
    int32_t poc = picture->decoded_curr_pic.pic_order_cnt;
    if (picture->pic_fields.bits.idr_pic_flag) AGREE("the POC of an IDR picture", 0, poc);
    else AGREE("slice_pic_order_cnt_lsb", slice->poc_lsb, poc & ((1 << sps->log2_poc_lsb) - 1));
    AGREE("slice_qp_delta", slice->qp_delta, buffer->slice_qp_delta);
    AGREE("slice_cb_qp_offset", slice->cb_offset, buffer->slice_cb_qp_offset);
    AGREE("slice_cr_qp_offset", slice->cr_offset, buffer->slice_cr_qp_offset);
    AGREE("slice_sao_luma_flag", slice->sao_luma, buffer->slice_fields.bits.slice_sao_luma_flag);
    AGREE("slice_sao_chroma_flag", slice->sao_chroma, buffer->slice_fields.bits.slice_sao_chroma_flag);
    AGREE("dependent_slice_segment_flag", slice->dependent, buffer->slice_fields.bits.dependent_slice_segment_flag);
    if (!picture->pic_fields.bits.idr_pic_flag)  // whose slice headers have no such flag
        AGREE("slice_temporal_mvp_enabled_flag", slice->temporal_mvp,
            buffer->slice_fields.bits.slice_temporal_mvp_enabled_flag);
    AGREE("slice_deblocking_filter_disabled_flag", slice->deblocking_disabled,
        buffer->slice_fields.bits.slice_deblocking_filter_disabled_flag);
    if (!slice->deblocking_disabled) {
        AGREE("slice_beta_offset_div2", slice->beta_offset_div2, buffer->slice_beta_offset_div2);
        AGREE("slice_tc_offset_div2", slice->tc_offset_div2, buffer->slice_tc_offset_div2);
    }
    if (pps->across_slices && (!slice->deblocking_disabled || slice->sao_luma || slice->sao_chroma))
        AGREE("slice_loop_filter_across_slices_enabled_flag", slice->across_slices,
            buffer->slice_fields.bits.slice_loop_filter_across_slices_enabled_flag);
    if (slice->type == SLICE_I) return true;
    AGREE("num_ref_idx_l0_active_minus1", slice->active[0] - 1, buffer->num_ref_idx_l0_active_minus1);
    AGREE("cabac_init_flag", slice->cabac_init, buffer->slice_fields.bits.cabac_init_flag);
    AGREE("MaxNumMergeCand", slice->max_merge, buffer->max_num_merge_cand);
    if (slice->type != SLICE_B) return true;
    AGREE("num_ref_idx_l1_active_minus1", slice->active[1] - 1, buffer->num_ref_idx_l1_active_minus1);
    AGREE("mvd_l1_zero_flag", slice->mvd_l1_zero, buffer->slice_fields.bits.mvd_l1_zero_flag);
    if (slice->temporal_mvp)
        AGREE("collocated_from_l0_flag", slice->collocated_l0, buffer->slice_fields.bits.collocated_from_l0_flag);
    return true;
}
