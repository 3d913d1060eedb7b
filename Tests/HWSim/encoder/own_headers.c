// SPDX-License-Identifier: GPL-2.0-or-later
// Headers as drivers write them that do not take the client's: from the buffers alone (mesa22), or from what the
// client's say, but rewritten, the first slice's for all slices (mesa25).
#include "encoder/encoder.h"

static int align(int value, int to) { return to ? (value + to - 1) / to * to : value; }

// Makes the coded size what the hardware has, and crops what that adds.
static void align_size(const struct personality *personality, struct sps *sps) {
    int width = align(sps->width, personality->align_width), height = align(sps->height, personality->align_height);
    sps->crop[1] += (width - sps->width) / 2;
    sps->crop[3] += (height - sps->height) / 2;
    sps->width = width;
    sps->height = height;
}

static void sps_from_buffers(const struct encode_job *job, struct sps *sps) {
    const VAEncSequenceParameterBufferHEVC *sequence = &job->context->submission->sequence;
    *sps = (struct sps){
        .present = true,
        .sub_layers = 1,
        .profile = sequence->general_profile_idc,
        .tier = sequence->general_tier_flag,
        .level = sequence->general_level_idc,
        .chroma_format = sequence->seq_fields.bits.chroma_format_idc,
        .width = sequence->pic_width_in_luma_samples,
        .height = sequence->pic_height_in_luma_samples,
        .depth_luma = sequence->seq_fields.bits.bit_depth_luma_minus8 + 8,
        .depth_chroma = sequence->seq_fields.bits.bit_depth_chroma_minus8 + 8,
        .log2_poc_lsb = 16,
        .ordering = {{1, 0, 0}},
        // The hardware has one set of block sizes, whatever the client expects.
        .log2_min_cb = 3,
        .log2_ctb = 6,
        .log2_min_tb = 2,
        .log2_max_tb = 5,
        .hierarchy_inter = sequence->max_transform_hierarchy_depth_inter,
        .hierarchy_intra = sequence->max_transform_hierarchy_depth_intra,
        .scaling_lists = sequence->seq_fields.bits.scaling_list_enabled_flag,
        .amp = sequence->seq_fields.bits.amp_enabled_flag,
        .sao = sequence->seq_fields.bits.sample_adaptive_offset_enabled_flag,
        .pcm = sequence->seq_fields.bits.pcm_enabled_flag,
        .temporal_mvp = false,
        .strong_intra = sequence->seq_fields.bits.strong_intra_smoothing_enabled_flag,
    };
}

static void pps_from_buffers(const struct encode_job *job, struct pps *pps) {
    const VAEncPictureParameterBufferHEVC *picture = &job->context->submission->picture;
    *pps = (struct pps){
        .present = true,
        .cabac_init_present = true,
        .transform_skip = picture->pic_fields.bits.transform_skip_enabled_flag,
        .default_active = {1, 1},
        .init_qp = 26,
        .cu_qp_delta = picture->pic_fields.bits.cu_qp_delta_enabled_flag,
        .cu_qp_delta_depth = 0,
        .cb_offset = picture->pps_cb_qp_offset,
        .cr_offset = picture->pps_cr_qp_offset,
        .slice_chroma_offsets = true,
        .across_slices = picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag,
        .deblocking_override = true,
        .log2_merge_level = 2,
    };
}

static bool slice_from_buffers(const struct encode_job *job, const struct sps *sps,
    const VAEncSliceParameterBufferHEVC *buffer, struct slice *slice, char *message) {
    const VAEncPictureParameterBufferHEVC *picture = &job->context->submission->picture;
    bool idr = picture->pic_fields.bits.idr_pic_flag;
    *slice = (struct slice){
        .nal = {.type = idr ? NAL_IDR_W_RADL : 1},
        .no_output_of_prior = picture->pic_fields.bits.no_output_of_prior_pics_flag,
        .output = true,
        .type = buffer->slice_type,
        .poc_lsb = job->poc & ((1 << sps->log2_poc_lsb) - 1),
        .active = {1, 0},
        .cabac_init = buffer->slice_fields.bits.cabac_init_flag,
        .collocated_l0 = true,
        .max_merge = buffer->max_num_merge_cand,
        .qp_delta = picture->pic_init_qp + buffer->slice_qp_delta - 26,
        .cb_offset = buffer->slice_cb_qp_offset,
        .cr_offset = buffer->slice_cr_qp_offset,
        .sao_luma = sps->sao && buffer->slice_fields.bits.slice_sao_luma_flag,
        .sao_chroma = sps->sao && buffer->slice_fields.bits.slice_sao_chroma_flag,
        .deblocking_disabled = buffer->slice_fields.bits.slice_deblocking_filter_disabled_flag,
        .across_slices = buffer->slice_fields.bits.slice_loop_filter_across_slices_enabled_flag,
        .beta_offset_div2 = buffer->slice_beta_offset_div2,
        .tc_offset_div2 = buffer->slice_tc_offset_div2,
    };
    if (slice->type == SLICE_B) return refuse(message, "B slices are not supported");
    if (slice->type != SLICE_P && slice->type != SLICE_I) return refuse(message, "the slice type %d", slice->type);
    if (slice->max_merge < 1 || slice->max_merge > 5) {
        if (slice->type == SLICE_P) return refuse(message, "MaxNumMergeCand is %d", slice->max_merge);
        slice->max_merge = 5;
    }
    if (slice->qp_delta < -26 || slice->qp_delta > 25) return refuse(message, "SliceQpY is %d", 26 + slice->qp_delta);
    if (slice->type == SLICE_I) return true;
    if (idr) return refuse(message, "a P slice in an IDR picture");
    int delta = buffer->ref_pic_list0[0].pic_order_cnt - job->poc;
    if (delta >= 0 || delta < -32768) return refuse(message, "a P slice at POC %d refers to POC %d", job->poc, job->poc + delta);
    slice->rps = (struct rps){.negative = 1, .delta = {delta}, .used = {true}};
    return true;
}

// The parameter sets of the stream: from the client's packed headers, or from its buffers with the crop of its packed SPS.
static bool own_sets(struct encoder *encoder, const struct encode_job *job, bool reads_headers, char *message) {
    struct sps *sps = &encoder->own.sps[0];
    struct pps *pps = &encoder->own.pps[0];
    if (reads_headers) {
        *pps = encoder->client.pps[encoder->settings[0].header.pps_id];
        *sps = encoder->client.sps[pps->sps_id];
        if (!check_sets(job, sps, pps, message)) return false;
        sps->rps_count = 0;
        sps->long_term = sps->extension = sps->vui.is_present = false;
        sps->id = pps->id = pps->sps_id = 0;
        pps->dependent_slices = pps->slice_header_extension = pps->extension = false;
        pps->extra_slice_header_bits = 0;
        pps->deblocking_override = true;
    } else {
        sps_from_buffers(job, sps);
        pps_from_buffers(job, pps);
        const struct sps *client = encoder->last_sps >= 0 ? &encoder->client.sps[encoder->last_sps] : NULL;
        if (client && (client->width != sps->width || client->height != sps->height))
            return refuse(message, "the packed SPS has %dx%d, the buffer %dx%d", client->width, client->height, sps->width,
                sps->height);
        for (int i = 0; i < 16 && !client; i++)
            if (encoder->client.sps[i].present) client = &encoder->client.sps[i];
        for (int i = 0; client && i < 4; i++) sps->crop[i] = client->crop[i];
    }
    if (sps->scaling_lists || sps->pcm || sps->chroma_format != 1 || sps->depth_luma != sps->depth_chroma)
        return refuse(message, "scaling lists, PCM and other chroma formats are not implemented");
    align_size(&DRIVER(job->driver_context)->personality, sps);
    return true;
}

// As many slices as the client asks for, but of whole rows of the hardware's CTBs.
static bool own_slices(struct encoder *encoder, const struct encode_job *job, bool reads_headers, char *message) {
    const struct submission *submission = job->context->submission;
    const struct sps *sps = &encoder->own.sps[0];
    const struct slice first = encoder->settings[0].header;
    if (submission->slice_count > MAX_SLICES) return refuse(message, "too many slices");
    encoder->slice_count = submission->slice_count;
    int ctb = 1 << sps->log2_ctb, wide = (sps->width + ctb - 1) / ctb, rows = (sps->height + ctb - 1) / ctb;
    if ((int)encoder->slice_count > rows) return refuse(message, "%u slices of %d rows of CTBs", encoder->slice_count, rows);
    for (unsigned i = 0; i < encoder->slice_count; i++) {
        struct slice *slice = &encoder->settings[i].header;
        if (reads_headers) *slice = first;
        else if (!slice_from_buffers(job, sps, &submission->slices[i], slice, message)) return false;
        slice->address = (int)i * rows / (int)encoder->slice_count * wide;
        encoder->settings[i].end = (int)(i + 1) * rows / (int)encoder->slice_count * wide;
        slice->first = !slice->address;
        slice->pps_id = 0;
    }
    return true;
}

bool make_own_headers(struct encoder *encoder, const struct encode_job *job, char *message) {
    bool reads_headers = DRIVER(job->driver_context)->personality.reads_headers && encoder->packed_count;
    if (!own_sets(encoder, job, reads_headers, message)) return false;
    if (!own_slices(encoder, job, reads_headers, message)) return false;
    // Parameter sets precede each picture at which a decoder may begin.
    if (encoder->settings[0].header.nal.type < NAL_BLA_W_LP) return true;
    struct bytes raw = encoder->headers;  // other headers of the client follow the parameter sets
    encoder->headers = (struct bytes){0};
    write_vps(&encoder->headers, &encoder->own.sps[0]);
    write_sps(&encoder->headers, &encoder->own.sps[0]);
    write_pps(&encoder->headers, &encoder->own.pps[0]);
    bytes_append(&encoder->headers, raw.data, raw.count);
    bytes_free(&raw);
    return !encoder->headers.failed || refuse(message, "out of memory");
}
