// SPDX-License-Identifier: GPL-2.0-or-later
// Reads parameter sets (H.265, 7.3.2).
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bitstream/headers.h"

bool refuse(char *message, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    return false;
}

bool parse_nal_header(struct bit_reader *reader, struct nal_header *nal, char *message) {
    bool forbidden = read_bits(reader, 1);
    nal->type = (int)read_bits(reader, 6);
    nal->layer = (int)read_bits(reader, 6);
    nal->temporal_id = (int)read_bits(reader, 3) - 1;
    if (reader->overrun || forbidden || nal->temporal_id < 0) return refuse(message, "no NAL unit header");
    return true;
}

void parse_profile(struct bit_reader *reader, int sub_layers, struct sps *sps) {
    read_bits(reader, 2);
    sps->tier = (int)read_bits(reader, 1);
    sps->profile = (int)read_bits(reader, 5);
    skip_bits(reader, 80);
    sps->level = (int)read_bits(reader, 8);
    bool profile[8] = {0}, level[8] = {0};
    for (int i = 0; i < sub_layers - 1; i++) {
        profile[i] = read_bits(reader, 1);
        level[i] = read_bits(reader, 1);
    }
    if (sub_layers > 1) skip_bits(reader, 2 * (size_t)(8 - (sub_layers - 1)));
    for (int i = 0; i < sub_layers - 1; i++) {
        if (profile[i]) skip_bits(reader, 88);
        if (level[i]) skip_bits(reader, 8);
    }
}

bool parse_vps(struct bit_reader *reader, struct parameter_sets *sets, char *message) {
    int id = (int)read_bits(reader, 4);
    skip_bits(reader, 8);
    int sub_layers = (int)read_bits(reader, 3) + 1;
    read_bits(reader, 1);
    uint32_t reserved = read_bits(reader, 16);
    struct sps ignored;
    parse_profile(reader, sub_layers, &ignored);
    bool each = read_bits(reader, 1);
    for (int i = each ? 0 : sub_layers - 1; i < sub_layers; i++)
        for (int value = 0; value < 3; value++) read_ue(reader);
    if (reader->overrun || reserved != 0xffff || sub_layers > 7) return refuse(message, "the VPS is damaged");
    sets->vps[id] = true;
    return true;
}

bool parse_rps(
    struct bit_reader *reader, int index, int count, const struct rps *before, struct rps *rps, char *message) {
    memset(rps, 0, sizeof *rps);
    if (index && read_bits(reader, 1)) {
        // Predicted from another set (7-61, 7-62).
        int back = index == count ? (int)read_ue(reader) + 1 : 1;
        if (back > index) return refuse(message, "a reference picture set is predicted from none");
        const struct rps *from = &before[index - back];
        bool negative = read_bits(reader, 1);
        int shift = (int)(read_ue(reader) + 1) * (negative ? -1 : 1);
        int total = rps->from = from->negative + from->positive;
        bool used[33], kept[33];
        for (int j = 0; j <= total; j++) {
            used[j] = read_bits(reader, 1);
            kept[j] = used[j] || read_bits(reader, 1);
        }
        // Candidates by falling distance below, then by rising distance above.
        int deltas[33], which[33], n = 0;
        for (int j = from->positive - 1; j >= 0; j--)
            deltas[n] = from->delta[from->negative + j] + shift, which[n++] = from->negative + j;
        deltas[n] = shift, which[n++] = total;
        for (int j = 0; j < from->negative; j++) deltas[n] = from->delta[j] + shift, which[n++] = j;
        int written = 0;
        for (int j = 0; j < n; j++)
            if (deltas[j] < 0 && kept[which[j]]) rps->delta[written] = deltas[j], rps->used[written++] = used[which[j]];
        rps->negative = written;
        for (int j = n - 1; j >= 0; j--)
            if (deltas[j] > 0 && kept[which[j]]) rps->delta[written] = deltas[j], rps->used[written++] = used[which[j]];
        rps->positive = written - rps->negative;
    } else {
        uint32_t negative = read_ue(reader), positive = read_ue(reader);
        if (negative > 15 || positive > 15 || negative + positive > 15)
            return refuse(message, "a reference picture set of %u pictures", negative + positive);
        rps->negative = (int)negative;
        rps->positive = (int)positive;
        for (int list = 0, i = 0; list < 2; list++) {
            int delta = 0;
            for (uint32_t j = 0; j < (list ? positive : negative); j++, i++) {
                int step = (int)(read_ue(reader) & 0xffff) + 1;
                delta += list ? step : -step;
                rps->delta[i] = delta;
                rps->used[i] = read_bits(reader, 1);
            }
        }
    }
    if (rps->negative + rps->positive > 15) return refuse(message, "a reference picture set of more than 15 pictures");
    if (reader->overrun) return refuse(message, "a reference picture set is cut off");
    return true;
}

// From sps_seq_parameter_set_id to the sub-layer ordering info (7.3.2.2.1).
static bool parse_sps_format(struct bit_reader *reader, struct sps *sps, char *message) {
    uint32_t number = read_ue(reader);
    if (number > 15) return refuse(message, "an SPS with the id %u", number);
    sps->id = (int)number;
    sps->chroma_format = (int)read_ue(reader);
    if (sps->chroma_format != 1)
        return refuse(message, "chroma_format_idc %d; this driver has 4:2:0 only", sps->chroma_format);
    uint32_t width = read_ue(reader), height = read_ue(reader);
    if (!width || !height || width > 16384 || height > 16384) return refuse(message, "an SPS of %ux%u", width, height);
    sps->width = (int)width;
    sps->height = (int)height;
    if (read_bits(reader, 1))
        for (int i = 0; i < 4; i++) sps->crop[i] = (int)(read_ue(reader) & 0xffff);
    if (2 * (sps->crop[0] + sps->crop[1]) >= sps->width || 2 * (sps->crop[2] + sps->crop[3]) >= sps->height)
        return refuse(message, "the conformance window leaves no picture");
    sps->depth_luma = (int)read_ue(reader) + 8;
    sps->depth_chroma = (int)read_ue(reader) + 8;
    sps->log2_poc_lsb = (int)read_ue(reader) + 4;
    if (sps->log2_poc_lsb > 16) return refuse(message, "log2_max_pic_order_cnt_lsb %d", sps->log2_poc_lsb);
    bool each = read_bits(reader, 1);
    for (int i = each ? 0 : sps->sub_layers - 1; i < sps->sub_layers; i++)
        for (int value = 0; value < 3; value++) sps->ordering[i][value] = (int)(read_ue(reader) & 0xff);
    for (int i = 0; !each && i < sps->sub_layers - 1; i++)
        memcpy(sps->ordering[i], sps->ordering[sps->sub_layers - 1], sizeof sps->ordering[i]);
    return true;
}

// Block sizes and the tools up to PCM.
static bool parse_sps_blocks(struct bit_reader *reader, bool any_tool, struct sps *sps, char *message) {
    uint32_t sizes[4];
    for (int i = 0; i < 4; i++) sizes[i] = read_ue(reader);
    sps->hierarchy_inter = (int)read_ue(reader);
    sps->hierarchy_intra = (int)read_ue(reader);
    for (int i = 0; i < 4; i++)
        if (sizes[i] > 3) return refuse(message, "block sizes that HEVC does not have");
    sps->log2_min_cb = (int)sizes[0] + 3;
    sps->log2_ctb = sps->log2_min_cb + (int)sizes[1];
    sps->log2_min_tb = (int)sizes[2] + 2;
    sps->log2_max_tb = sps->log2_min_tb + (int)sizes[3];
    sps->scaling_lists = read_bits(reader, 1);
    if (sps->scaling_lists && !any_tool) return refuse(message, "scaling lists are not implemented");
    default_scaling_lists(&sps->scaling);
    if (sps->scaling_lists && read_bits(reader, 1)) parse_scaling_lists(reader, &sps->scaling);
    sps->amp = read_bits(reader, 1);
    sps->sao = read_bits(reader, 1);
    sps->pcm = read_bits(reader, 1);
    if (!sps->pcm) return true;
    if (!any_tool) return refuse(message, "PCM is not implemented");
    for (int i = 0; i < 2; i++) sps->pcm_depth[i] = (int)read_bits(reader, 4) + 1;
    sps->log2_min_pcm = (int)(read_ue(reader) & 3) + 3;
    sps->log2_max_pcm = sps->log2_min_pcm + (int)(read_ue(reader) & 3);
    sps->pcm_loop_filter_disabled = read_bits(reader, 1);
    return true;
}

// From the reference picture sets to the end.
static bool parse_sps_references(struct bit_reader *reader, struct sps *sps, char *message) {
    uint32_t count = read_ue(reader);
    if (count > 64) return refuse(message, "%u reference picture sets in the SPS", count);
    sps->rps_count = (int)count;
    for (int i = 0; i < sps->rps_count; i++)
        if (!parse_rps(reader, i, sps->rps_count, sps->rps, &sps->rps[i], message)) return false;
    sps->long_term = read_bits(reader, 1);
    if (sps->long_term) {
        uint32_t pictures = read_ue(reader);
        if (pictures > 32) return refuse(message, "%u long-term pictures in the SPS", pictures);
        sps->long_term_count = (int)pictures;
        for (uint32_t i = 0; i < pictures; i++) {
            sps->long_term_lsb[i] = (int)read_bits(reader, sps->log2_poc_lsb);
            sps->long_term_used[i] = read_bits(reader, 1);
        }
    }
    sps->temporal_mvp = read_bits(reader, 1);
    sps->strong_intra = read_bits(reader, 1);
    sps->vui = (struct vui){.video_format = 5, .primaries = 2, .transfer = 2, .matrix = 2};
    sps->vui.is_present = read_bits(reader, 1);
    if (sps->vui.is_present && !parse_vui(reader, sps->sub_layers, &sps->vui)) return refuse(message, "the SPS's VUI is damaged");
    sps->extension = read_bits(reader, 1);
    if (sps->extension && read_bits(reader, 8)) return refuse(message, "SPS extensions are not implemented");
    if (!read_bits(reader, 1) || reader->overrun) return refuse(message, "the SPS does not end where it should");
    return true;
}

static bool check_sps(const struct sps *sps, char *message) {
    if (sps->depth_luma != sps->depth_chroma || (sps->depth_luma != 8 && sps->depth_luma != 10))
        return refuse(message, "bit depths %d and %d; this driver has 8 and 10", sps->depth_luma, sps->depth_chroma);
    int largest = sps->log2_ctb < 5 ? sps->log2_ctb : 5;
    if (sps->log2_ctb < 4 || sps->log2_ctb > 6 || sps->log2_min_tb >= sps->log2_min_cb || sps->log2_max_tb > largest ||
        sps->log2_max_tb < 3 || sps->hierarchy_inter > sps->log2_ctb - sps->log2_min_tb ||
        sps->hierarchy_intra > sps->log2_ctb - sps->log2_min_tb)
        return refuse(message, "CTB %d, CB from %d, TB %d to %d do not go together or are not implemented",
            1 << sps->log2_ctb, 1 << sps->log2_min_cb, 1 << sps->log2_min_tb, 1 << sps->log2_max_tb);
    if (sps->width & ((1 << sps->log2_min_cb) - 1) || sps->height & ((1 << sps->log2_min_cb) - 1))
        return refuse(message, "%dx%d is no multiple of the smallest coding block, %d", sps->width, sps->height,
            1 << sps->log2_min_cb);
    return true;
}

bool parse_sps(struct bit_reader *reader, struct parameter_sets *sets, int *id, char *message) {
    struct sps sps = {.present = true};
    uint32_t vps = read_bits(reader, 4);
    sps.sub_layers = (int)read_bits(reader, 3) + 1;
    if (sps.sub_layers > 7) return refuse(message, "an SPS of %d sub-layers", sps.sub_layers);
    read_bits(reader, 1);
    parse_profile(reader, sps.sub_layers, &sps);
    if (!parse_sps_format(reader, &sps, message) || !parse_sps_blocks(reader, sets->any_tool, &sps, message) ||
        !parse_sps_references(reader, &sps, message))
        return false;
    if (!sets->vps[vps]) return refuse(message, "the SPS names the VPS %u, which was not sent", vps);
    if (!check_sps(&sps, message)) return false;
    *id = sps.id;
    sets->sps[sps.id] = sps;
    return true;
}

static bool check_pps(const struct pps *pps, char *message) {
    if (pps->default_active[0] > 15 || pps->default_active[1] > 15 || pps->cb_offset < -12 || pps->cb_offset > 12 ||
        pps->cr_offset < -12 || pps->cr_offset > 12 || pps->cu_qp_delta_depth > 3 ||
        pps->init_qp < -12 || pps->init_qp > 51 || pps->beta_offset_div2 < -6 || pps->beta_offset_div2 > 6 ||
        pps->tc_offset_div2 < -6 || pps->tc_offset_div2 > 6)
        return refuse(message, "the PPS has a value out of range");
    return true;
}

// What the encoder here has.
static bool check_tools(const struct pps *pps, char *message) {
    if (pps->wavefront) return refuse(message, "wavefronts are not implemented");
    if (pps->weighted || pps->weighted_bi) return refuse(message, "weighted prediction is not implemented");
    if (pps->transquant_bypass) return refuse(message, "lossless coding is not implemented");
    return !pps->constrained_intra || refuse(message, "constrained intra prediction is not implemented");
}

// The grid of tiles; loop_filter_across_tiles_enabled_flag.
static bool parse_tiles(struct bit_reader *reader, struct pps *pps, char *message) {
    uint32_t columns = read_ue(reader) + 1, rows = read_ue(reader) + 1;
    if (columns > MAX_TILE_COLUMNS || rows > MAX_TILE_ROWS) return refuse(message, "%ux%u tiles", columns, rows);
    pps->tile_columns = (int)columns;
    pps->tile_rows = (int)rows;
    pps->tiles_uniform = read_bits(reader, 1);
    for (int i = 0; !pps->tiles_uniform && i < pps->tile_columns - 1; i++)
        pps->tile_widths[i] = (int)(read_ue(reader) & 0x3ff) + 1;
    for (int i = 0; !pps->tiles_uniform && i < pps->tile_rows - 1; i++)
        pps->tile_heights[i] = (int)(read_ue(reader) & 0x3ff) + 1;
    pps->across_tiles = read_bits(reader, 1);
    return true;
}

static void parse_filters(struct bit_reader *reader, struct pps *pps) {
    pps->across_slices = read_bits(reader, 1);
    if (!read_bits(reader, 1)) return;
    pps->deblocking_override = read_bits(reader, 1);
    pps->deblocking_disabled = read_bits(reader, 1);
    if (pps->deblocking_disabled) return;
    pps->beta_offset_div2 = read_se(reader);
    pps->tc_offset_div2 = read_se(reader);
}

bool parse_pps(struct bit_reader *reader, struct parameter_sets *sets, int *id, char *message) {
    struct pps pps = {.present = true};
    uint32_t number = read_ue(reader), sps = read_ue(reader);
    if (number > 63 || sps > 15) return refuse(message, "a PPS with the id %u for the SPS %u", number, sps);
    pps.tile_columns = pps.tile_rows = 1;
    pps.id = (int)number;
    pps.sps_id = (int)sps;
    pps.dependent_slices = read_bits(reader, 1);
    pps.output_flag_present = read_bits(reader, 1);
    pps.extra_slice_header_bits = (int)read_bits(reader, 3);
    pps.sign_hiding = read_bits(reader, 1);
    pps.cabac_init_present = read_bits(reader, 1);
    for (int list = 0; list < 2; list++) pps.default_active[list] = (int)(read_ue(reader) & 0xff) + 1;
    pps.init_qp = read_se(reader) + 26;
    pps.constrained_intra = read_bits(reader, 1);
    pps.transform_skip = read_bits(reader, 1);
    pps.cu_qp_delta = read_bits(reader, 1);
    pps.cu_qp_delta_depth = pps.cu_qp_delta ? (int)read_ue(reader) : 0;
    pps.cb_offset = read_se(reader);
    pps.cr_offset = read_se(reader);
    pps.slice_chroma_offsets = read_bits(reader, 1);
    pps.weighted = read_bits(reader, 1);
    pps.weighted_bi = read_bits(reader, 1);
    pps.transquant_bypass = read_bits(reader, 1);
    pps.tiles = read_bits(reader, 1);
    pps.wavefront = read_bits(reader, 1);
    if (pps.tiles && !sets->any_tool) return refuse(message, "tiles are not implemented");
    if (pps.tiles && !parse_tiles(reader, &pps, message)) return false;
    parse_filters(reader, &pps);
    pps.scaling_lists = read_bits(reader, 1);
    if (pps.scaling_lists && !sets->any_tool) return refuse(message, "scaling lists are not implemented");
    default_scaling_lists(&pps.scaling);
    if (pps.scaling_lists) parse_scaling_lists(reader, &pps.scaling);
    pps.lists_modification = read_bits(reader, 1);
    pps.log2_merge_level = (int)(read_ue(reader) & 0xff) + 2;
    pps.slice_header_extension = read_bits(reader, 1);
    pps.extension = read_bits(reader, 1);
    if (pps.extension && read_bits(reader, 8)) return refuse(message, "PPS extensions are not implemented");
    if (!read_bits(reader, 1) || reader->overrun) return refuse(message, "the PPS does not end where it should");
    if (!sets->sps[pps.sps_id].present) return refuse(message, "the PPS names the SPS %u, which was not sent", sps);
    if (!check_pps(&pps, message) || !(sets->any_tool || check_tools(&pps, message))) return false;
    *id = pps.id;
    sets->pps[pps.id] = pps;
    return true;
}
