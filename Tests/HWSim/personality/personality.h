// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_PERSONALITY_H
#define HWSIM_PERSONALITY_H

#include <stdbool.h>
#include <stdint.h>
#include <va/va.h>

// How a driver reads the parameters that its firmware receives (firmware.c).
enum parser { PARSER_PLAIN, PARSER_IHD, PARSER_MESA };

// Which driver the simulation plays, and with which faults. HWSIM_PERSONALITY names both, by commas.
struct personality {
    const char *name;
    const char *vendor;

    VAEntrypoint entrypoint;  // of the encoder; 0 is none
    bool encode[2], decode[2];  // Main, Main10
    unsigned decoders;          // of H.264, VP9 and AV1: CODEC_… of codec.h
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
    bool no_p_slices;       // inter pictures are B pictures with both lists filled
    bool only_equal_lists;  // and the lists are equal and have earlier pictures only
    int references_total;   // pictures in reference_frames; 0 where all 15 are supported

    // What real drivers do with parameters; README.md has the sources.
    enum parser parser;
    bool first_sequence_resets;   // the first sequence buffer overwrites the HRD and the QP bounds
    bool one_qp;                  // the first picture's pic_init_qp is that of all pictures in mode CQP
    bool latched_bounds;          // QP bounds hold from the start of rate control to its next reset
    bool may_skip;                // with a bit rate, unless disable_frame_skip is set, pictures may be left out
    bool three_quality_levels;    // 1, 4 and 7; others are refused
    bool limited_low_delay;       // no hierarchical_level_plus1 of 4 with low_delay_seq and a bit rate
    bool largest_intra_period;    // intra_period determines the POC's length, which is at most 16 bits
    bool stale_status;            // the status of coded segments is uninitialized memory
    bool hidden_minimum;          // smaller pictures fail when they are coded, not before
    bool only_endless_waits;      // finite timeouts of vaSyncBuffer are not implemented, nor is vaSyncSurface2
    bool fixed_rate_control;      // each picture sets the HRD's buffer and the QP bounds to the driver's own
    bool luma_map;                // a derived image claims two planes and maps luma only
    bool deep_luma_map;           // that of a P010 surface does

    bool no_derive, no_import, no_timeouts, liar, corrupt, crash_init, fail_init, hang_init, busy, busy_maximum, two_segments, size_ceiling,
        no_huc, padded_pitch, other_codecs, refuses_codecs, wrong_samples, tiled, no_device, no_nvenc, old_driver, three_sessions, client_key,
        no_b, no_b_references;
    const char *forbidden;  // what it tries (forbidden.c); NULL is nothing
    unsigned forbidden_at;  // the picture to encode at which it does; 0 is the driver's start
    // The number of the picture to encode or decode, from 1; 0 is never.
    unsigned crash_at, hang_at, hang_map_at, fail_at, wrong_at, decode_crash_at, decode_hang_at, decode_fail_at, decode_wrong_at;
    unsigned gpu_memory;  // of an NVIDIA GPU, in MiB; 0 is enough
};

// Where the name of an attempt says nothing else: after all pictures of a verification.
enum { FORBIDDEN_PICTURE = 20 };
// The static name of an attempt, or NULL where the word names none.
const char *forbidden_named(const char *word);
// Tries it; a success ends the process with SIGUSR2.
void forbidden_try(const char *name);

// False, with a sentence, when a word is unknown.
bool personality_read(struct personality *, const char *words, char *message, unsigned size);

#endif
