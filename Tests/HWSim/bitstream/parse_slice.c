// SPDX-License-Identifier: GPL-2.0-or-later
// Reads slice segment headers (H.265, 7.3.6.1).
#include <string.h>

#include "bitstream/headers.h"

static int bits_for(uint32_t count) {
    int bits = 0;
    while ((1u << bits) < count) bits++;
    return bits;
}

static bool parse_long_term(struct bit_reader *reader, const struct sps *sps, struct slice *slice, char *message) {
    uint32_t of_sps = sps->long_term_count ? read_ue(reader) : 0, own = read_ue(reader);
    if (of_sps + own >= MAX_REFERENCES || of_sps > 32) return refuse(message, "%u long-term pictures", of_sps + own);
    slice->long_term_count = (int)(of_sps + own);
    for (uint32_t i = 0; i < of_sps + own; i++) {
        if (i < of_sps) {
            uint32_t index = read_bits(reader, bits_for((uint32_t)sps->long_term_count)) & 31;
            slice->long_term_poc[i] = sps->long_term_lsb[index];
            slice->long_term_used[i] = sps->long_term_used[index];
        } else {
            slice->long_term_poc[i] = (int)read_bits(reader, sps->log2_poc_lsb);
            slice->long_term_used[i] = read_bits(reader, 1);
        }
        slice->long_term_msb[i] = read_bits(reader, 1);
        if (!slice->long_term_msb[i]) continue;
        // 7-52: how many cycles of the low bits it is back, counted from the one before.
        int cycles = (int)(read_ue(reader) & 0xffff);
        slice->long_term_cycles[i] = cycles + (i && i != of_sps ? slice->long_term_cycles[i - 1] : 0);
    }
    return true;
}

static bool parse_reference_sets(
    struct bit_reader *reader, const struct parameter_sets *sets, const struct sps *sps, struct slice *slice, char *message) {
    slice->poc_lsb = (int)read_bits(reader, sps->log2_poc_lsb);
    bool of_sps = read_bits(reader, 1);
    if (sps->rps_hidden) {
        skip_bits(reader, (size_t)(of_sps ? bits_for((uint32_t)sps->rps_count) : sps->hidden_rps_bits));
    } else if (!of_sps) {
        size_t start = reader->position;
        if (!parse_rps(reader, sps->rps_count, sps->rps_count, sps->rps, &slice->rps, message)) return false;
        slice->rps_bits = reader->position - start;
    } else {
        if (!sps->rps_count) return refuse(message, "the slice takes a reference picture set of the SPS, which has none");
        uint32_t index = read_bits(reader, bits_for((uint32_t)sps->rps_count));
        if (index >= (uint32_t)sps->rps_count) return refuse(message, "there is no reference picture set %u", index);
        slice->rps = sps->rps[index];
    }
    if (sps->long_term && !parse_long_term(reader, sps, slice, message)) return false;
    if (slice->long_term_count && !sets->any_tool)
        return refuse(message, "long-term reference pictures are not implemented");
    slice->total = sps->hidden_total;
    for (int i = 0; i < slice->rps.negative + slice->rps.positive; i++) slice->total += slice->rps.used[i];
    for (int i = 0; !sps->rps_hidden && i < slice->long_term_count; i++) slice->total += slice->long_term_used[i];
    if (sps->temporal_mvp) slice->temporal_mvp = read_bits(reader, 1);
    return true;
}

static bool parse_weights(struct bit_reader *reader, struct slice *slice, char *message) {
    struct weights *weights = &slice->weights;
    bool luma[MAX_REFERENCES], chroma[MAX_REFERENCES];
    weights->luma_denominator = (int)(read_ue(reader) & 0xff);
    weights->chroma_delta = read_se(reader);
    int denominator = weights->luma_denominator + weights->chroma_delta;
    if (weights->luma_denominator > 7 || denominator < 0 || denominator > 7)
        return refuse(message, "a weight's denominator is out of range");
    for (int list = 0; list < (slice->type == SLICE_B ? 2 : 1); list++) {
        for (int i = 0; i < slice->active[list]; i++) luma[i] = read_bits(reader, 1);
        for (int i = 0; i < slice->active[list]; i++) chroma[i] = read_bits(reader, 1);
        for (int i = 0; i < slice->active[list]; i++) {
            weights->luma[list][i] = luma[i] ? read_se(reader) : 0;
            weights->luma_offset[list][i] = luma[i] ? read_se(reader) : 0;
            // What no weight at all is: the predicted offset is 0 then (7-56).
            for (int component = 0; component < 2; component++) {
                weights->chroma[list][i][component] = chroma[i] ? read_se(reader) : 0;
                weights->chroma_offset[list][i][component] = chroma[i] ? read_se(reader) : 0;
            }
        }
    }
    return true;
}

static bool parse_lists(struct bit_reader *reader, const struct pps *pps, struct slice *slice,
    char *message) {
    slice->active[0] = pps->default_active[0];
    slice->active[1] = slice->type == SLICE_B ? pps->default_active[1] : 0;
    slice->active_override = read_bits(reader, 1);
    if (slice->active_override)
        for (int list = 0; list < (slice->type == SLICE_B ? 2 : 1); list++) {
            uint32_t count = read_ue(reader);
            if (count > 14) return refuse(message, "%u entries in a reference list", count + 1);
            slice->active[list] = (int)count + 1;
        }
    int pictures = slice->total;
    if (!pictures) return refuse(message, "a P or B slice has no picture to refer to");
    if (pps->lists_modification && pictures > 1)
        for (int list = 0; list < (slice->type == SLICE_B ? 2 : 1); list++) {
            slice->modified[list] = read_bits(reader, 1);
            if (!slice->modified[list]) continue;
            for (int i = 0; i < slice->active[list]; i++) {
                slice->list_entries[list][i] = (int)read_bits(reader, bits_for((uint32_t)pictures));
                if (slice->list_entries[list][i] >= pictures)
                    return refuse(message, "a list entry names the picture %d of %d", slice->list_entries[list][i], pictures);
            }
        }
    if (slice->type == SLICE_B) slice->mvd_l1_zero = read_bits(reader, 1);
    if (pps->cabac_init_present) slice->cabac_init = read_bits(reader, 1);
    slice->collocated_l0 = true;
    if (slice->temporal_mvp) {
        if (slice->type == SLICE_B) slice->collocated_l0 = read_bits(reader, 1);
        int list = slice->collocated_l0 ? 0 : 1;
        if (slice->active[list] > 1) slice->collocated_ref = (int)(read_ue(reader) & 0xff);
        if (slice->collocated_ref >= slice->active[list]) return refuse(message, "collocated_ref_idx is out of range");
    }
    if ((slice->type == SLICE_B ? pps->weighted_bi : pps->weighted) && !parse_weights(reader, slice, message)) return false;
    slice->max_merge = 5 - (int)(read_ue(reader) & 0xff);
    if (slice->max_merge < 1 || slice->max_merge > 5) return refuse(message, "MaxNumMergeCand is out of range");
    return true;
}

static bool parse_body(
    struct bit_reader *reader, const struct parameter_sets *sets, const struct pps *pps, struct slice *slice, char *message) {
    const struct sps *sps = &sets->sps[pps->sps_id];
    skip_bits(reader, (size_t)pps->extra_slice_header_bits);
    uint32_t type = read_ue(reader);
    if (type > 2) return refuse(message, "the slice type %u", type);
    slice->type = (int)type;
    slice->output = pps->output_flag_present ? read_bits(reader, 1) : true;
    if (slice->nal.type != NAL_IDR_W_RADL && slice->nal.type != NAL_IDR_N_LP &&
        !parse_reference_sets(reader, sets, sps, slice, message))
        return false;
    if (sps->sao) {
        slice->sao_luma = read_bits(reader, 1);
        slice->sao_chroma = read_bits(reader, 1);
    }
    if (slice->type != SLICE_I && !parse_lists(reader, pps, slice, message)) return false;
    slice->qp_delta = read_se(reader);
    if (pps->slice_chroma_offsets) {
        slice->cb_offset = read_se(reader);
        slice->cr_offset = read_se(reader);
    }
    slice->deblocking_disabled = pps->deblocking_disabled;
    slice->beta_offset_div2 = pps->beta_offset_div2;
    slice->tc_offset_div2 = pps->tc_offset_div2;
    if (pps->deblocking_override && read_bits(reader, 1)) {
        slice->deblocking_disabled = read_bits(reader, 1);
        if (!slice->deblocking_disabled) {
            slice->beta_offset_div2 = read_se(reader);
            slice->tc_offset_div2 = read_se(reader);
        }
    }
    slice->across_slices = pps->across_slices;
    if (pps->across_slices && (slice->sao_luma || slice->sao_chroma || !slice->deblocking_disabled))
        slice->across_slices = read_bits(reader, 1);
    int qp = pps->init_qp + slice->qp_delta, lowest = -6 * (sps->depth_luma - 8);
    if (qp < lowest || qp > 51) return refuse(message, "SliceQpY is %d", qp);
    if (pps->cb_offset + slice->cb_offset < -12 || pps->cb_offset + slice->cb_offset > 12 ||
        pps->cr_offset + slice->cr_offset < -12 || pps->cr_offset + slice->cr_offset > 12 ||
        slice->beta_offset_div2 < -6 || slice->beta_offset_div2 > 6 || slice->tc_offset_div2 < -6 ||
        slice->tc_offset_div2 > 6)
        return refuse(message, "the slice header has an offset out of range");
    return true;
}

bool parse_slice(struct bit_reader *reader, const struct parameter_sets *sets, struct nal_header nal,
    struct slice *slice, char *message) {
    struct slice before = *slice;
    memset(slice, 0, sizeof *slice);
    slice->nal = nal;
    slice->first = read_bits(reader, 1);
    if (nal.type >= NAL_BLA_W_LP && nal.type <= NAL_IRAP_LAST) slice->no_output_of_prior = read_bits(reader, 1);
    uint32_t id = read_ue(reader);
    if (id > 63 || !sets->pps[id].present) return refuse(message, "the slice names the PPS %u, which was not given", id);
    slice->pps_id = (int)id;
    const struct pps *pps = &sets->pps[id];
    const struct sps *sps = &sets->sps[pps->sps_id];
    if (!slice->first) {
        if (pps->dependent_slices) slice->dependent = read_bits(reader, 1);
        int ctb = 1 << sps->log2_ctb;
        uint32_t count = (uint32_t)((sps->width + ctb - 1) / ctb * ((sps->height + ctb - 1) / ctb));
        slice->address = (int)read_bits(reader, bits_for(count));
        if ((uint32_t)slice->address >= count) return refuse(message, "the slice begins behind the picture");
    }
    if (slice->dependent) {
        if (!sets->any_tool) return refuse(message, "dependent slice segments are not implemented");
        int address = slice->address;
        *slice = before;
        slice->first = false;
        slice->dependent = true;
        slice->address = address;
    } else if (!parse_body(reader, sets, pps, slice, message)) {
        return false;
    }
    if (pps->tiles || pps->wavefront) {
        uint32_t points = read_ue(reader), length = points ? read_ue(reader) + 1 : 0;
        if (length > 32 || points > 1 << 16) return refuse(message, "%u entry points of %u bits", points, length);
        skip_bits(reader, (size_t)points * length);
    }
    if (pps->slice_header_extension) {
        uint32_t bytes = read_ue(reader);
        if (bytes > 256) return refuse(message, "a slice header extension of %u bytes", bytes);
        skip_bits(reader, 8 * (size_t)bytes);
    }
    // byte_alignment(): drivers count it to the header.
    bool one = read_bits(reader, 1);
    while (reader->position & 7 && !reader->overrun)
        if (read_bits(reader, 1)) one = false;
    if (reader->overrun) return refuse(message, "the slice header is cut off (it includes byte_alignment())");
    if (!one) return refuse(message, "the slice header does not end in byte_alignment()");
    slice->header_bytes = reader->position / 8;
    if (!sets->any_tool && reader->position != reader->bits)
        return refuse(message, "%zu bits follow the slice header", reader->bits - reader->position);
    return true;
}
