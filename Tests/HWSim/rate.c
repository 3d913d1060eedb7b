// SPDX-License-Identifier: GPL-2.0-or-later
// A picture's bits halve about every 6 QP. From what each class of pictures has cost, and how often it occurs, follows
// the QP at which all of them together keep the budget.
#include "rate.h"

#include <math.h>

#include "headers.h"

static int offset_of(int class) { return class == RATE_INTRA ? -2 : class == RATE_P ? 0 : 1 + (class - RATE_B > 2 ? 2 : class - RATE_B); }

bool rate_configure(struct rate *rate, uint32_t mode, const struct submission *submission, char *message) {
    const VAEncSequenceParameterBufferHEVC *sequence = &submission->sequence;
    rate->mode = mode;
    rate->frame_rate = 30;
    if (submission->has_frame_rate) {
        uint32_t numerator = submission->frame_rate.framerate & 0xffff, denominator = submission->frame_rate.framerate >> 16;
        if (!numerator) return refuse(message, "a frame rate of 0");
        rate->frame_rate = (double)numerator / (denominator ? denominator : 1);
    } else if (sequence->vui_fields.bits.vui_timing_info_present_flag && sequence->vui_num_units_in_tick) {
        rate->frame_rate = (double)sequence->vui_time_scale / sequence->vui_num_units_in_tick;
    }
    const VAEncMiscParameterRateControl *control = &submission->rate;
    bool given = submission->has_rate;
    rate->lowest_qp = given && control->min_qp ? (int)control->min_qp : 1;
    rate->highest_qp = given && control->max_qp ? (int)control->max_qp : 51;
    if (rate->lowest_qp > 51 || rate->highest_qp > 51 || rate->lowest_qp > rate->highest_qp)
        return refuse(message, "QPs from %d to %d", rate->lowest_qp, rate->highest_qp);
    if (mode == VA_RC_CQP) return true;
    rate->quality_qp = 0;
    if (mode == VA_RC_ICQ || mode == VA_RC_QVBR) {
        uint32_t quality = given ? (mode == VA_RC_ICQ ? control->ICQ_quality_factor : control->quality_factor) : 0;
        if (quality < 1 || quality > 51) return refuse(message, "a quality factor of %u; it has to be 1 to 51", quality);
        rate->quality_qp = (int)quality;
        if (mode == VA_RC_ICQ) return true;
    }
    double bits = given && control->bits_per_second ? control->bits_per_second : sequence->bits_per_second;
    if (bits <= 0) return refuse(message, "rate control without a bit rate");
    if (mode != VA_RC_CBR && given) {
        if (!control->target_percentage || control->target_percentage > 100)
            return refuse(message, "target_percentage is %u", control->target_percentage);
        bits = bits * control->target_percentage / 100;
    }
    if (submission->has_hrd && submission->hrd.initial_buffer_fullness > submission->hrd.buffer_size)
        return refuse(message, "the HRD buffer is fuller than it is large");
    if (given && control->rc_flags.bits.reset) *rate = (struct rate){.mode = mode, .frame_rate = rate->frame_rate,
        .lowest_qp = rate->lowest_qp, .highest_qp = rate->highest_qp, .quality_qp = rate->quality_qp};
    rate->budget = bits / rate->frame_rate;
    return true;
}

int rate_choose(struct rate *rate, int class, uint32_t samples, int lowest, int highest) {
    if (rate->lowest_qp > lowest) lowest = rate->lowest_qp;
    if (rate->highest_qp < highest) highest = rate->highest_qp;
    double qp;
    if (rate->mode == VA_RC_ICQ) {
        qp = rate->quality_qp;
    } else {
        // Until a class has occurred: half a bit a sample for intra pictures at QP 30, a fifth of that for others.
        double guess = 0.5 * samples * exp2(30 / 6.0), expected = 0, shares = 0;
        for (int i = 0; i < RATE_CLASSES; i++) {
            if (!rate->known[i])
                rate->complexity[i] = rate->known[RATE_INTRA] && i ? rate->complexity[RATE_INTRA] / (i == RATE_P ? 4 : 6)
                                                                   : guess / (i ? 5 : 1);
            double share = rate->share[i] + (i == class ? 0.02 : 0) + (i == RATE_P && rate->pictures < 30 ? 0.5 : 0);
            expected += share * rate->complexity[i] * exp2(-offset_of(i) / 6.0);
            shares += share;
        }
        // What was overspent is to be made up for within a second; at a constant rate, within a third of one.
        bool constant = rate->mode == VA_RC_CBR;
        double wanted = rate->budget - (constant ? 3 : 1) * rate->surplus / rate->frame_rate;
        if (wanted < rate->budget / 4) wanted = rate->budget / 4;
        if (constant && wanted > 3 * rate->budget) wanted = 3 * rate->budget;
        double base = 6 * log2(expected / shares / wanted), step = constant ? 6 : 3;
        if (rate->pictures > 2)
            base = base > rate->last + step ? rate->last + step : base < rate->last - step ? rate->last - step : base;
        base = base < lowest - 1 ? lowest - 1 : base > highest + 1 ? highest + 1 : base;
        rate->last = base;
        qp = base + offset_of(class);
        if (qp < rate->quality_qp) qp = rate->quality_qp;
    }
    int rounded = (int)lround(qp);
    return rounded < lowest ? lowest : rounded > highest ? highest : rounded;
}

void rate_update(struct rate *rate, int class, int qp, double bits) {
    // Some bits are spent at any QP: they are no measure of complexity, but they count.
    double complexity = (bits < 200 ? 200 : bits) * exp2(qp / 6.0);
    rate->complexity[class] = rate->known[class] ? 0.6 * rate->complexity[class] + 0.4 * complexity : complexity;
    rate->known[class] = true;
    for (int i = 0; i < RATE_CLASSES; i++) rate->share[i] *= 0.98;
    rate->share[class] += 0.02;
    rate->surplus += bits - rate->budget;
    // What was saved long ago may not be spent at once.
    double most = (rate->mode == VA_RC_CBR ? 0.25 : 2) * rate->budget * rate->frame_rate;
    if (rate->surplus < -most) rate->surplus = -most;
    rate->pictures++;
}
