// SPDX-License-Identifier: GPL-2.0-or-later
// Writes parameter sets and slice headers, for the personalities that do not leave that to the client.
#include "bitstream/headers.h"

void append_nal(struct bytes *bytes, const struct bytes *rbsp, int *zeros) {
    static const uint8_t start_code[4] = {0, 0, 0, 1};
    bytes_append(bytes, start_code, sizeof start_code);
    *zeros = 0;
    append_escaped(bytes, rbsp->data, rbsp->count, zeros);
}

static struct bit_writer begin(struct bytes *rbsp, int type, int layer, int temporal_id) {
    struct bit_writer writer = {.bytes = rbsp};
    write_bits(&writer, 1, 0);
    write_bits(&writer, 6, (uint32_t)type);
    write_bits(&writer, 6, (uint32_t)layer);
    write_bits(&writer, 3, (uint32_t)temporal_id + 1);
    return writer;
}

static void finish(struct bytes *bytes, struct bit_writer *writer) {
    int zeros;
    write_trailing_bits(writer);
    append_nal(bytes, writer->bytes, &zeros);
    bytes_free(writer->bytes);
}

static void write_profile(struct bit_writer *writer, const struct sps *sps) {
    write_bits(writer, 2, 0);
    write_bits(writer, 1, (uint32_t)sps->tier);
    write_bits(writer, 5, (uint32_t)sps->profile);
    // What is Main is Main 10 too.
    uint32_t compatible = 1u << (31 - sps->profile);
    if (sps->profile == 1) compatible |= 1u << 29;
    write_bits(writer, 32, compatible);
    write_bits(writer, 4, 9);  // progressive, frames only
    write_bits(writer, 32, 0);
    write_bits(writer, 12, 0);
    write_bits(writer, 8, (uint32_t)sps->level);
    for (int i = 1; i < sps->sub_layers; i++) write_bits(writer, 2, 0);
    for (int i = sps->sub_layers - 1; i > 0 && i < 8; i++) write_bits(writer, 2, 0);
}

static void write_ordering(struct bit_writer *writer, const struct sps *sps) {
    write_bits(writer, 1, 1);
    for (int i = 0; i < sps->sub_layers; i++)
        for (int value = 0; value < 3; value++) write_ue(writer, (uint32_t)sps->ordering[i][value]);
}

void write_vps(struct bytes *bytes, const struct sps *sps) {
    struct bytes rbsp = {0};
    struct bit_writer writer = begin(&rbsp, NAL_VPS, 0, 0);
    write_bits(&writer, 4, 0);
    write_bits(&writer, 2, 3);
    write_bits(&writer, 6, 0);
    write_bits(&writer, 3, (uint32_t)sps->sub_layers - 1);
    write_bits(&writer, 1, 1);
    write_bits(&writer, 16, 0xffff);
    write_profile(&writer, sps);
    write_ordering(&writer, sps);
    write_bits(&writer, 6, 0);
    write_ue(&writer, 0);
    write_bits(&writer, 2, 0);  // no timing, no extension
    finish(bytes, &writer);
}

// vui_parameters( ) (E.2.1), without HRD parameters.
static void write_vui(struct bit_writer *writer, const struct vui *vui) {
    write_bits(writer, 1, vui->aspect_width > 0);
    if (vui->aspect_width > 0) {
        write_bits(writer, 8, 255);
        write_bits(writer, 16, (uint32_t)vui->aspect_width);
        write_bits(writer, 16, (uint32_t)vui->aspect_height);
    }
    write_bits(writer, 1, 0);  // overscan
    bool described = vui->primaries != 2 || vui->transfer != 2 || vui->matrix != 2;
    bool has_signal = described || vui->video_format != 5 || vui->full_range;
    write_bits(writer, 1, has_signal);
    if (has_signal) {
        write_bits(writer, 3, (uint32_t)vui->video_format);
        write_bits(writer, 1, vui->full_range);
        write_bits(writer, 1, described);
        if (described) {
            write_bits(writer, 8, (uint32_t)vui->primaries);
            write_bits(writer, 8, (uint32_t)vui->transfer);
            write_bits(writer, 8, (uint32_t)vui->matrix);
        }
    }
    write_bits(writer, 5, 0);  // chroma location, neutral chroma, fields, display window
    write_bits(writer, 1, vui->time_scale > 0);
    if (vui->time_scale > 0) {
        write_bits(writer, 32, vui->tick);
        write_bits(writer, 32, vui->time_scale);
        write_bits(writer, 2, 0);  // no POC proportional to time, no HRD
    }
    write_bits(writer, 1, 0);  // bitstream restriction
}

void write_sps(struct bytes *bytes, const struct sps *sps) {
    struct bytes rbsp = {0};
    struct bit_writer writer = begin(&rbsp, NAL_SPS, 0, 0);
    write_bits(&writer, 4, 0);
    write_bits(&writer, 3, (uint32_t)sps->sub_layers - 1);
    write_bits(&writer, 1, 1);
    write_profile(&writer, sps);
    write_ue(&writer, (uint32_t)sps->id);
    write_ue(&writer, (uint32_t)sps->chroma_format);
    write_ue(&writer, (uint32_t)sps->width);
    write_ue(&writer, (uint32_t)sps->height);
    bool cropped = sps->crop[0] || sps->crop[1] || sps->crop[2] || sps->crop[3];
    write_bits(&writer, 1, cropped);
    for (int i = 0; cropped && i < 4; i++) write_ue(&writer, (uint32_t)sps->crop[i]);
    write_ue(&writer, (uint32_t)sps->depth_luma - 8);
    write_ue(&writer, (uint32_t)sps->depth_chroma - 8);
    write_ue(&writer, (uint32_t)sps->log2_poc_lsb - 4);
    write_ordering(&writer, sps);
    write_ue(&writer, (uint32_t)sps->log2_min_cb - 3);
    write_ue(&writer, (uint32_t)(sps->log2_ctb - sps->log2_min_cb));
    write_ue(&writer, (uint32_t)sps->log2_min_tb - 2);
    write_ue(&writer, (uint32_t)(sps->log2_max_tb - sps->log2_min_tb));
    write_ue(&writer, (uint32_t)sps->hierarchy_inter);
    write_ue(&writer, (uint32_t)sps->hierarchy_intra);
    write_bits(&writer, 1, 0);  // scaling lists
    write_bits(&writer, 1, sps->amp);
    write_bits(&writer, 1, sps->sao);
    write_bits(&writer, 1, 0);  // PCM
    write_ue(&writer, 0);       // reference picture sets
    write_bits(&writer, 1, 0);  // long-term pictures
    write_bits(&writer, 1, sps->temporal_mvp);
    write_bits(&writer, 1, sps->strong_intra);
    write_bits(&writer, 1, sps->vui.is_present);
    if (sps->vui.is_present) write_vui(&writer, &sps->vui);
    write_bits(&writer, 1, 0);  // no extension
    finish(bytes, &writer);
}

void write_pps(struct bytes *bytes, const struct pps *pps) {
    struct bytes rbsp = {0};
    struct bit_writer writer = begin(&rbsp, NAL_PPS, 0, 0);
    write_ue(&writer, (uint32_t)pps->id);
    write_ue(&writer, (uint32_t)pps->sps_id);
    write_bits(&writer, 1, 0);  // dependent slices
    write_bits(&writer, 1, pps->output_flag_present);
    write_bits(&writer, 3, 0);
    write_bits(&writer, 1, pps->sign_hiding);
    write_bits(&writer, 1, pps->cabac_init_present);
    for (int list = 0; list < 2; list++) write_ue(&writer, (uint32_t)pps->default_active[list] - 1);
    write_se(&writer, pps->init_qp - 26);
    write_bits(&writer, 1, 0);  // constrained intra prediction
    write_bits(&writer, 1, pps->transform_skip);
    write_bits(&writer, 1, pps->cu_qp_delta);
    if (pps->cu_qp_delta) write_ue(&writer, (uint32_t)pps->cu_qp_delta_depth);
    write_se(&writer, pps->cb_offset);
    write_se(&writer, pps->cr_offset);
    write_bits(&writer, 1, pps->slice_chroma_offsets);
    write_bits(&writer, 5, 0);  // weights, bypass, tiles, wavefronts
    write_bits(&writer, 1, pps->across_slices);
    write_bits(&writer, 1, 1);
    write_bits(&writer, 1, pps->deblocking_override);
    write_bits(&writer, 1, pps->deblocking_disabled);
    if (!pps->deblocking_disabled) {
        write_se(&writer, pps->beta_offset_div2);
        write_se(&writer, pps->tc_offset_div2);
    }
    write_bits(&writer, 1, 0);  // scaling lists
    write_bits(&writer, 1, pps->lists_modification);
    write_ue(&writer, (uint32_t)pps->log2_merge_level - 2);
    write_bits(&writer, 2, 0);  // no slice header extension, no extension
    finish(bytes, &writer);
}

static int bits_for(uint32_t count) {
    int bits = 0;
    while ((1u << bits) < count) bits++;
    return bits;
}

static void write_rps(struct bit_writer *writer, const struct rps *rps) {
    write_ue(writer, (uint32_t)rps->negative);
    write_ue(writer, (uint32_t)rps->positive);
    for (int list = 0, i = 0; list < 2; list++)
        for (int j = 0, before = 0; j < (list ? rps->positive : rps->negative); j++, i++) {
            int step = list ? rps->delta[i] - before : before - rps->delta[i];
            write_ue(writer, (uint32_t)step - 1);
            write_bits(writer, 1, rps->used[i]);
            before = rps->delta[i];
        }
}

static void write_lists(struct bit_writer *writer, const struct pps *pps, const struct slice *slice) {
    int lists = slice->type == SLICE_B ? 2 : 1, pictures = 0;
    for (int i = 0; i < slice->rps.negative + slice->rps.positive; i++) pictures += slice->rps.used[i];
    write_bits(writer, 1, 1);  // num_ref_idx_active_override_flag
    for (int list = 0; list < lists; list++) write_ue(writer, (uint32_t)slice->active[list] - 1);
    for (int list = 0; pps->lists_modification && pictures > 1 && list < lists; list++) {
        write_bits(writer, 1, slice->modified[list]);
        for (int i = 0; slice->modified[list] && i < slice->active[list]; i++)
            write_bits(writer, bits_for((uint32_t)pictures), (uint32_t)slice->list_entries[list][i]);
    }
    if (slice->type == SLICE_B) write_bits(writer, 1, slice->mvd_l1_zero);
    if (pps->cabac_init_present) write_bits(writer, 1, slice->cabac_init);
    if (slice->temporal_mvp) {
        if (slice->type == SLICE_B) write_bits(writer, 1, slice->collocated_l0);
        if (slice->active[slice->collocated_l0 ? 0 : 1] > 1) write_ue(writer, (uint32_t)slice->collocated_ref);
    }
    write_ue(writer, 5 - (uint32_t)slice->max_merge);
}

void write_slice(struct bytes *rbsp, const struct sps *sps, const struct pps *pps, const struct slice *slice) {
    struct bit_writer writer = begin(rbsp, slice->nal.type, 0, slice->nal.temporal_id);
    int ctb = 1 << sps->log2_ctb;
    uint32_t count = (uint32_t)((sps->width + ctb - 1) / ctb * ((sps->height + ctb - 1) / ctb));
    write_bits(&writer, 1, slice->first);
    if (slice->nal.type >= NAL_BLA_W_LP && slice->nal.type <= NAL_IRAP_LAST)
        write_bits(&writer, 1, slice->no_output_of_prior);
    write_ue(&writer, (uint32_t)slice->pps_id);
    if (!slice->first) write_bits(&writer, bits_for(count), (uint32_t)slice->address);
    write_ue(&writer, (uint32_t)slice->type);
    if (pps->output_flag_present) write_bits(&writer, 1, slice->output);
    if (slice->nal.type != NAL_IDR_W_RADL && slice->nal.type != NAL_IDR_N_LP) {
        write_bits(&writer, sps->log2_poc_lsb, (uint32_t)slice->poc_lsb);
        write_bits(&writer, 1, 0);  // the set is here, not in the SPS
        write_rps(&writer, &slice->rps);
        if (sps->temporal_mvp) write_bits(&writer, 1, slice->temporal_mvp);
    }
    if (sps->sao) {
        write_bits(&writer, 1, slice->sao_luma);
        write_bits(&writer, 1, slice->sao_chroma);
    }
    if (slice->type != SLICE_I) write_lists(&writer, pps, slice);
    write_se(&writer, slice->qp_delta);
    if (pps->slice_chroma_offsets) {
        write_se(&writer, slice->cb_offset);
        write_se(&writer, slice->cr_offset);
    }
    if (pps->deblocking_override) {
        write_bits(&writer, 1, 1);
        write_bits(&writer, 1, slice->deblocking_disabled);
        if (!slice->deblocking_disabled) {
            write_se(&writer, slice->beta_offset_div2);
            write_se(&writer, slice->tc_offset_div2);
        }
    }
    if (pps->across_slices && (slice->sao_luma || slice->sao_chroma || !slice->deblocking_disabled))
        write_bits(&writer, 1, slice->across_slices);
    write_trailing_bits(&writer);  // byte_alignment() looks the same
}

bool slice_lists(const struct slice *slice, int poc, int lists[2][MAX_REFERENCES]) {
    int candidates[2][MAX_REFERENCES], count = 0, negative = slice->rps.negative, all = negative + slice->rps.positive;
    for (int i = 0; i < all; i++) count += slice->rps.used[i];
    if (!count || count > MAX_REFERENCES) return false;
    // List 0 begins with the pictures before, list 1 with those after.
    for (int list = 0; list < 2; list++) {
        int n = 0;
        for (int part = 0; part < 2; part++) {
            bool before = part == list;
            for (int i = before ? 0 : negative; i < (before ? negative : all); i++)
                if (slice->rps.used[i]) candidates[list][n++] = poc + slice->rps.delta[i];
        }
        for (int i = 0; i < slice->active[list]; i++)
            lists[list][i] = candidates[list][slice->modified[list] ? slice->list_entries[list][i] : i % count];
    }
    return true;
}
