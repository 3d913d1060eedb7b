// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_RATE_H
#define HWSIM_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/submission.h"

// Rate control: one QP a picture. Pictures of a class (intra, P, B by temporal level) cost about the same.

enum { RATE_INTRA, RATE_P, RATE_B, RATE_CLASSES = RATE_B + 7 };

struct rate {
    uint32_t mode;  // VA_RC_*
    double budget;  // bits a picture
    double frame_rate, buffer;
    bool is_constant;
    int lowest_qp, highest_qp, quality_qp;

    double complexity[RATE_CLASSES];  // bits at QP 0, guessed until the class has occurred
    bool known[RATE_CLASSES];
    double share[RATE_CLASSES];  // how often it occurred of late
    double surplus;  // bits spent beyond the budget
    double last;     // the QP of P pictures, as last chosen
    unsigned pictures;
};

// Applies the client's parameters; false, with a message, when they are invalid.
bool rate_configure(struct rate *, uint32_t mode, const struct firmware *, char *message);
// The QP for the next picture, within [lowest, highest].
int rate_choose(struct rate *, int class, uint32_t samples, int lowest, int highest);
// Whether the HRD's buffer is so empty that a picture of this class is left out, by drivers that do this.
bool rate_skips(const struct rate *, int class);
void rate_update(struct rate *, int class, int qp, double bits);

#endif
