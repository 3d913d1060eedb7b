// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_FIRMWARE_H
#define HWSIM_FIRMWARE_H

#include <stdbool.h>
#include <va/va.h>
#include <va/va_enc_hevc.h>

#include "personality/personality.h"

// What a driver's firmware receives for rate control. Drivers keep one such record, and each buffer that a client renders
// overwrites parts of it, so the order of buffers matters.
struct firmware {
    bool has_sequence, has_rate;
    bool is_constant;              // the rate is to be constant, whatever the configuration says
    uint32_t target, peak;         // bits a second
    uint32_t buffer, fullness;     // of the HRD, in bits; 0 is none
    uint32_t level;                // the fullness in 64ths of the buffer, as Mesa computes it
    uint32_t rate_numerator, rate_denominator;
    uint32_t min_qp, max_qp;       // 0 is none
    uint32_t quality_factor, quality_level;
    bool skips;
};

// Each is called for a buffer in its turn; false when the driver refuses it.
void firmware_sequence(struct firmware *, const struct personality *, const VAEncSequenceParameterBufferHEVC *);
void firmware_picture(struct firmware *, const struct personality *);
bool firmware_rate(struct firmware *, const struct personality *, uint32_t mode, const VAEncMiscParameterRateControl *);
bool firmware_hrd(struct firmware *, const struct personality *, const VAEncMiscParameterHRD *);
bool firmware_quality(struct firmware *, const struct personality *, uint32_t level);
void firmware_frame_rate(struct firmware *, uint32_t framerate);

// Passes the record on with a picture: what a running rate control takes over, and the rest of it where it is reset.
void firmware_submit(const struct firmware *, const struct personality *, struct firmware *running);

#endif
