// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "tests/client.h"

static int or(int value, int otherwise) { return value ? value : otherwise; }

void make_sets(struct client *client) {
    const struct scenario *scenario = client->scenario;
    bool levels = scenario->structure == PYRAMID || scenario->structure == OPEN_GOP;
    struct sps *sps = &client->sets.sps[0];
    int log2_min_cb = or(scenario->log2_min_cb, 3), size = 1 << log2_min_cb;
    client->coded_width = (scenario->width + size - 1) / size * size;
    client->coded_height = (scenario->height + size - 1) / size * size;
    *sps = (struct sps){
        .present = true, .sub_layers = levels ? 4 : 1, .profile = scenario->depth == 10 ? 2 : 1, .level = 93,
        .chroma_format = 1, .width = client->coded_width, .height = client->coded_height,
        .crop = {0, (client->coded_width - scenario->width) / 2, 0, (client->coded_height - scenario->height) / 2},
        .depth_luma = scenario->depth, .depth_chroma = scenario->depth, .log2_poc_lsb = 8,
        .log2_min_cb = log2_min_cb, .log2_ctb = or(scenario->log2_ctb, 6), .log2_min_tb = 2,
        .log2_max_tb = or(scenario->log2_max_tb, 5), .hierarchy_inter = scenario->flat_transforms ? 0 : 2,
        .hierarchy_intra = scenario->flat_transforms ? 0 : 2,
        .amp = !scenario->no_amp, .sao = scenario->sao, .temporal_mvp = scenario->temporal_mvp,
    };
    for (int i = 0; i < 4; i++) {
        sps->ordering[i][0] = 5;
        sps->ordering[i][1] = levels ? 3 : scenario->structure == B2 ? 1 : 0;
    }
    client->sets.pps[0] = (struct pps){
        .present = true, .sign_hiding = scenario->hiding, .cabac_init_present = scenario->cabac_init,
        .transform_skip = scenario->transform_skip, .default_active = {1, 1}, .init_qp = 26,
        .cu_qp_delta = scenario->qp_delta, .cu_qp_delta_depth = scenario->qp_delta_depth,
        .cb_offset = scenario->cb_offset, .cr_offset = scenario->cr_offset, .slice_chroma_offsets = scenario->cb_offset != 0,
        .across_slices = !scenario->apart, .deblocking_override = true, .log2_merge_level = 2,
    };
}

void fill_sequence(const struct client *client, VAEncSequenceParameterBufferHEVC *sequence) {
    const struct sps *sps = &client->sets.sps[0];
    *sequence = (VAEncSequenceParameterBufferHEVC){
        .general_profile_idc = (uint8_t)sps->profile, .general_level_idc = (uint8_t)sps->level,
        .intra_period = 30, .intra_idr_period = 30, .ip_period = 1,
        .bits_per_second = client->scenario->bits_per_second,
        .pic_width_in_luma_samples = (uint16_t)sps->width, .pic_height_in_luma_samples = (uint16_t)sps->height,
        .log2_min_luma_coding_block_size_minus3 = (uint8_t)(sps->log2_min_cb - 3),
        .log2_diff_max_min_luma_coding_block_size = (uint8_t)(sps->log2_ctb - sps->log2_min_cb),
        .log2_min_transform_block_size_minus2 = (uint8_t)(sps->log2_min_tb - 2),
        .log2_diff_max_min_transform_block_size = (uint8_t)(sps->log2_max_tb - sps->log2_min_tb),
        .max_transform_hierarchy_depth_inter = (uint8_t)sps->hierarchy_inter,
        .max_transform_hierarchy_depth_intra = (uint8_t)sps->hierarchy_intra,
    };
    sequence->seq_fields.bits.chroma_format_idc = 1;
    sequence->seq_fields.bits.bit_depth_luma_minus8 = (unsigned)(sps->depth_luma - 8) & 7;
    sequence->seq_fields.bits.bit_depth_chroma_minus8 = (unsigned)(sps->depth_chroma - 8) & 7;
    sequence->seq_fields.bits.amp_enabled_flag = sps->amp;
    sequence->seq_fields.bits.sample_adaptive_offset_enabled_flag = sps->sao;
    sequence->seq_fields.bits.sps_temporal_mvp_enabled_flag = sps->temporal_mvp;
}

static VASurfaceID surface_with(const struct client *client, int poc) {
    for (int i = 0; i < MAX_SURFACES; i++)
        if (client->held[i] && client->pocs[i] == poc) return client->surfaces[i];
    return VA_INVALID_SURFACE;
}

static VAPictureHEVC picture_with(const struct client *client, int poc) {
    return (VAPictureHEVC){.picture_id = surface_with(client, poc), .pic_order_cnt = poc};
}

static const VAPictureHEVC no_picture = {.picture_id = VA_INVALID_SURFACE, .flags = VA_PICTURE_HEVC_INVALID};

void fill_picture(
    const struct client *client, const struct plan *plan, VASurfaceID target, VAEncPictureParameterBufferHEVC *picture) {
    const struct pps *pps = &client->sets.pps[0];
    *picture = (VAEncPictureParameterBufferHEVC){
        .decoded_curr_pic = {.picture_id = target, .pic_order_cnt = plan->poc},
        .coded_buf = client->coded, .collocated_ref_pic_index = 0xff, .pic_init_qp = (uint8_t)pps->init_qp,
        .diff_cu_qp_delta_depth = (uint8_t)pps->cu_qp_delta_depth, .pps_cb_qp_offset = (int8_t)pps->cb_offset,
        .pps_cr_qp_offset = (int8_t)pps->cr_offset, .nal_unit_type = (uint8_t)plan->nal_type,
    };
    for (int i = 0; i < 15; i++)
        picture->reference_frames[i] = i < plan->rps.negative + plan->rps.positive
                                           ? picture_with(client, plan->poc + plan->rps.delta[i])
                                           : no_picture;
    picture->pic_fields.bits.idr_pic_flag = plan->nal_type == NAL_IDR_W_RADL;
    bool low_delay = plan->active[1] && plan->lists[1][0] == plan->lists[0][0];
    picture->pic_fields.bits.coding_type = plan->type == SLICE_I ? 1 : plan->type == SLICE_P || low_delay ? 2 : 3;
    picture->pic_fields.bits.reference_pic_flag = plan->nal_type & 1;
    picture->pic_fields.bits.sign_data_hiding_enabled_flag = pps->sign_hiding;
    picture->pic_fields.bits.transform_skip_enabled_flag = pps->transform_skip;
    picture->pic_fields.bits.cu_qp_delta_enabled_flag = pps->cu_qp_delta;
    picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag = pps->across_slices;
}

void fill_slice(const struct client *client, const struct plan *plan, int index, struct slice *slice,
    VAEncSliceParameterBufferHEVC *buffer) {
    const struct scenario *scenario = client->scenario;
    const struct sps *sps = &client->sets.sps[0];
    int ctb = 1 << sps->log2_ctb, count = (sps->width + ctb - 1) / ctb * ((sps->height + ctb - 1) / ctb);
    int slices = or(scenario->slices, 1), start = count * index / slices, end = count * (index + 1) / slices;
    *slice = (struct slice){
        .nal = {.type = plan->nal_type, .temporal_id = plan->temporal_id}, .first = !start, .output = true,
        .address = start, .type = plan->type, .poc_lsb = plan->poc & 255, .rps = plan->rps,
        .temporal_mvp = scenario->temporal_mvp && plan->nal_type != NAL_IDR_W_RADL, .sao_luma = scenario->sao,
        .sao_chroma = scenario->sao, .active = {plan->active[0], plan->active[1]},
        .cabac_init = scenario->cabac_init && plan->type != SLICE_I, .collocated_l0 = true, .max_merge = 5 - index % 5,
        .qp_delta = or(scenario->qp, 30) - 26 + (plan->type == SLICE_B) + index, .cb_offset = scenario->cb_offset ? 1 : 0,
        .deblocking_disabled = scenario->deblocking_off, .across_slices = !scenario->apart,
        .beta_offset_div2 = scenario->beta_offset, .tc_offset_div2 = scenario->tc_offset,
    };
    *buffer = (VAEncSliceParameterBufferHEVC){
        .slice_segment_address = (uint32_t)start, .num_ctu_in_slice = (uint32_t)(end - start),
        .slice_type = (uint8_t)plan->type,
        .num_ref_idx_l0_active_minus1 = (uint8_t)(plan->active[0] ? plan->active[0] - 1 : 0),
        .num_ref_idx_l1_active_minus1 = (uint8_t)(plan->active[1] ? plan->active[1] - 1 : 0),
        .max_num_merge_cand = (uint8_t)slice->max_merge, .slice_qp_delta = (int8_t)slice->qp_delta,
        .slice_cb_qp_offset = (int8_t)slice->cb_offset, .slice_beta_offset_div2 = (int8_t)slice->beta_offset_div2,
        .slice_tc_offset_div2 = (int8_t)slice->tc_offset_div2,
    };
    for (int i = 0; i < 15; i++) {
        buffer->ref_pic_list0[i] = i < plan->active[0] ? picture_with(client, plan->lists[0][i]) : no_picture;
        buffer->ref_pic_list1[i] = i < plan->active[1] ? picture_with(client, plan->lists[1][i]) : no_picture;
    }
    buffer->slice_fields.bits.last_slice_of_pic_flag = end == count;
    buffer->slice_fields.bits.slice_temporal_mvp_enabled_flag = slice->temporal_mvp;
    buffer->slice_fields.bits.slice_sao_luma_flag = slice->sao_luma;
    buffer->slice_fields.bits.slice_sao_chroma_flag = slice->sao_chroma;
    buffer->slice_fields.bits.num_ref_idx_active_override_flag = 1;
    buffer->slice_fields.bits.cabac_init_flag = slice->cabac_init;
    buffer->slice_fields.bits.slice_deblocking_filter_disabled_flag = slice->deblocking_disabled;
    buffer->slice_fields.bits.slice_loop_filter_across_slices_enabled_flag = slice->across_slices;
    buffer->slice_fields.bits.collocated_from_l0_flag = 1;
}
