// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_PERSONALITY_H
#define HWSIM_PERSONALITY_H

#include <stdbool.h>
#include <stdint.h>
#include <va/va.h>

// Which driver the simulation plays, and with which faults. HWSIM_PERSONALITY names both, by commas.
struct personality {
    const char *name;
    const char *vendor;

    VAEntrypoint entrypoint;  // of the encoder; 0 is none
    bool encode[2], decode[2];  // Main, Main10
    int smallest_width, smallest_height, largest_width, largest_height;
    int align_width, align_height;  // of the coded size when it writes its own headers
    uint32_t packed_headers;  // VA_ENC_PACKED_HEADER_*
    uint32_t rate_control;    // VA_RC_*
    uint32_t prediction_direction;  // VA_PREDICTION_DIRECTION_*, or 0 where the attribute is unknown
    int references[2];
    int slices;
    uint32_t quality_levels;
    VAConfigAttribValEncHEVCFeatures features;
    VAConfigAttribValEncHEVCBlockSizes blocks;
    bool tells_features;  // through VAConfigAttribEncHEVCFeatures and …BlockSizes
    bool own_headers;     // it writes parameter sets and slice headers itself
    bool reads_headers;   // from what the client's say; otherwise from the buffers
    bool only_low_delay_b;  // no P slices, and B slices with two equal lists

    bool no_derive, no_import, no_timeouts, liar, corrupt, crash_init, fail_init, hang_init, busy, busy_maximum, two_segments, size_ceiling;
    // The how-manieth picture to encode or to decode, from 1; 0 is never.
    unsigned crash_at, hang_at, fail_at, decode_crash_at, decode_hang_at, decode_fail_at;
};

// False, with a sentence, when a word is unknown.
bool personality_read(struct personality *, const char *words, char *message, unsigned size);

#endif
