// SPDX-License-Identifier: GPL-2.0-or-later
// How drivers read buffers, after their sources: Intel's media_ddi_encode_hevc.cpp (ParseSeqParams, ParsePicParams,
// ParseMiscParams) and encode_hevc_brc.cpp; Mesa's picture_hevc_enc.c and radeon_vcn_enc.c (begin_frame).
#include "personality/firmware.h"

void firmware_frame_rate(struct firmware *firmware, uint32_t framerate) {
    firmware->rate_numerator = framerate & 0xffff;
    firmware->rate_denominator = framerate >> 16 ? framerate >> 16 : 1;
}

// The VUI's, or 30 where it has none.
static void default_frame_rate(struct firmware *firmware, const VAEncSequenceParameterBufferHEVC *sequence) {
    bool given = sequence->vui_parameters_present_flag && sequence->vui_fields.bits.vui_timing_info_present_flag &&
                 sequence->vui_num_units_in_tick;
    firmware->rate_numerator = given ? sequence->vui_time_scale : 30;
    firmware->rate_denominator = given ? sequence->vui_num_units_in_tick : 1;
}

void firmware_sequence(struct firmware *firmware, const struct personality *personality,
    const VAEncSequenceParameterBufferHEVC *sequence) {
    bool first = !firmware->has_sequence;
    firmware->has_sequence = true;
    switch (personality->parser) {
        case PARSER_IHD:
            // The record is zeroed; the rates and the HRD follow from the sequence's bit rate.
            firmware->target = firmware->peak = sequence->bits_per_second;
            firmware->buffer = sequence->bits_per_second << 1;
            firmware->fullness = sequence->bits_per_second;
            firmware->rate_numerator = 30;
            firmware->rate_denominator = 1;
            firmware->is_constant = false;
            break;
        case PARSER_MESA:
            if (first && personality->first_sequence_resets) {
                firmware->buffer = 20000000;
                firmware->fullness = 0;
                firmware->level = 48;
                firmware->min_qp = 0;
                firmware->max_qp = 51;
            }
            default_frame_rate(firmware, sequence);
            break;
        default:
            if (!firmware->has_rate) firmware->target = firmware->peak = sequence->bits_per_second;
            if (!firmware->rate_numerator) default_frame_rate(firmware, sequence);
    }
}

void firmware_picture(struct firmware *firmware, const struct personality *personality) {
    // The QP bounds are fields of the picture's record, which is zeroed.
    if (personality->parser == PARSER_IHD) firmware->min_qp = firmware->max_qp = 0;
}

bool firmware_rate(struct firmware *firmware, const struct personality *personality, uint32_t mode,
    const VAEncMiscParameterRateControl *rate) {
    if (mode != VA_RC_CBR && mode != VA_RC_CQP && (!rate->target_percentage || rate->target_percentage > 100)) return false;
    firmware->has_rate = true;
    firmware->peak = rate->bits_per_second;
    firmware->target =
        mode == VA_RC_CBR ? rate->bits_per_second : (uint32_t)(rate->bits_per_second * (rate->target_percentage / 100.0));
    firmware->is_constant = mode == VA_RC_CBR;
    firmware->min_qp = rate->min_qp;
    firmware->max_qp = rate->max_qp;
    firmware->quality_factor = mode == VA_RC_ICQ ? rate->ICQ_quality_factor : rate->quality_factor;
    firmware->skips = personality->may_skip && mode != VA_RC_CQP && !rate->rc_flags.bits.disable_frame_skip;
    if (personality->parser != PARSER_MESA) return true;
    // A buffer of a second or so; an HRD buffer replaces it if it comes later.
    uint32_t target = firmware->target;
    firmware->buffer = target >= 2000000 ? target : target * 2.75 < 2000000 ? (uint32_t)(target * 2.75) : 2000000;
    return true;
}

bool firmware_hrd(struct firmware *firmware, const struct personality *personality, const VAEncMiscParameterHRD *hrd) {
    if (personality->parser == PARSER_MESA) {
        if (!hrd->buffer_size) return false;
        firmware->level = (hrd->initial_buffer_fullness << 6) / hrd->buffer_size;  // of 32 bits
    }
    firmware->buffer = hrd->buffer_size;
    firmware->fullness = hrd->initial_buffer_fullness;
    if (personality->parser == PARSER_IHD) firmware->is_constant = true;
    return hrd->initial_buffer_fullness <= hrd->buffer_size;
}

bool firmware_quality(struct firmware *firmware, const struct personality *personality, uint32_t level) {
    firmware->quality_level = level;
    return !personality->three_quality_levels || level == 1 || level == 4 || level == 7;
}

void firmware_submit(const struct firmware *firmware, const struct personality *personality, struct firmware *running) {
    struct firmware old = *running;
    bool reset = !old.has_sequence || old.target != firmware->target || old.peak != firmware->peak;
    if (personality->parser == PARSER_IHD)
        reset = reset || old.rate_numerator != firmware->rate_numerator || old.rate_denominator != firmware->rate_denominator;
    // Mesa's whole session begins again with another target, and only then.
    if (personality->parser == PARSER_MESA && personality->latched_bounds && old.has_sequence && old.target == firmware->target)
        return;
    *running = *firmware;
    if (personality->fixed_rate_control) {
        running->buffer = 20000000;
        running->level = 48;
        running->min_qp = 0;
        running->max_qp = 51;
        return;
    }
    if (personality->parser == PARSER_IHD) {
        running->min_qp = firmware->min_qp < 10 ? 10 : firmware->min_qp;
        running->max_qp = firmware->max_qp < 10 ? 51 : firmware->max_qp > 51 ? 51 : firmware->max_qp;
    }
    if (!personality->latched_bounds || reset) return;
    running->min_qp = old.min_qp;
    running->max_qp = old.max_qp;
}
