// SPDX-License-Identifier: GPL-2.0-or-later
// A picture's bits halve about every 6 QP. From what each class of pictures has cost, and how often it occurs, follows
// the QP at which all of them together keep the budget.
#include "encoder/rate.h"

#include <math.h>

#include "bitstream/headers.h"

static int offset_of(int class) { return class == RATE_INTRA ? -2 : class == RATE_P ? 0 : 1 + (class - RATE_B > 2 ? 2 : class - RATE_B); }

bool rate_configure(struct rate *rate, uint32_t mode, const struct firmware *firmware, char *message) {
    rate->mode = mode;
    if (!firmware->rate_numerator) return refuse(message, "a frame rate of 0");
    rate->frame_rate = (double)firmware->rate_numerator / firmware->rate_denominator;
    rate->lowest_qp = firmware->min_qp ? (int)firmware->min_qp : 1;
    rate->highest_qp = firmware->max_qp ? (int)firmware->max_qp : 51;
    if (rate->lowest_qp > 51 || rate->highest_qp > 51 || rate->lowest_qp > rate->highest_qp)
        return refuse(message, "QPs from %d to %d", rate->lowest_qp, rate->highest_qp);
    if (mode == VA_RC_CQP) return true;
    rate->quality_qp = 0;
    if (mode == VA_RC_ICQ || mode == VA_RC_QVBR) {
        uint32_t quality = firmware->quality_factor;
        if (quality < 1 || quality > 51) return refuse(message, "a quality factor of %u; it has to be 1 to 51", quality);
        rate->quality_qp = (int)quality;
        if (mode == VA_RC_ICQ) return true;
    }
    if (!firmware->target) return refuse(message, "rate control without a bit rate");
    rate->is_constant = firmware->is_constant;
    rate->buffer = firmware->buffer;
    rate->budget = firmware->target / rate->frame_rate;
    return true;
}

bool rate_skips(const struct rate *rate, int class) {
    return class != RATE_INTRA && rate->buffer > 0 && rate->surplus > rate->buffer / 4;
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
        bool constant = rate->is_constant;
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
    double most = (rate->is_constant ? 0.25 : 2) * rate->budget * rate->frame_rate;
    if (rate->surplus < -most) rate->surplus = -most;
    rate->pictures++;
}
