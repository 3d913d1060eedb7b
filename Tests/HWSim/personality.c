// SPDX-License-Identifier: GPL-2.0-or-later
// The drivers that the simulation can play. README.md has them as a table.
#include "personality.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO = 0, YES = 1, MUST = 2 };  // VA_FEATURE_*

#define ALL_HEADERS                                                                                     \
    (VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_PICTURE | VA_ENC_PACKED_HEADER_SLICE |        \
        VA_ENC_PACKED_HEADER_MISC | VA_ENC_PACKED_HEADER_RAW_DATA)

// CTBs of 64 only, or from 16; coding blocks from 8, transform blocks 4 to 32, trees of up to two or three levels.
#define BLOCKS(smallest_ctb, hierarchy)                                                                             \
    {.bits = {.log2_max_coding_tree_block_size_minus3 = 3, .log2_min_coding_tree_block_size_minus3 = (smallest_ctb), \
         .log2_max_luma_transform_block_size_minus2 = 3, .max_max_transform_hierarchy_depth_inter = (hierarchy),    \
         .max_max_transform_hierarchy_depth_intra = (hierarchy)}}

static const struct personality bases[] = {
    {
        // Everything that the encoder here has.
        .name = "full",
        .vendor = "HWSim 1.0 full (software simulation)",
        .entrypoint = VAEntrypointEncSlice,
        .encode = {true, true}, .decode = {true, true},
        .smallest_width = 16, .smallest_height = 16, .largest_width = 8192, .largest_height = 8192,
        .packed_headers = ALL_HEADERS,
        .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_ICQ | VA_RC_QVBR,
        .references = {8, 8}, .slices = 200, .quality_levels = 7,
        .features = {.bits = {.amp = YES, .sao = YES, .temporal_mvp = YES, .strong_intra_smoothing = YES,
            .sign_data_hiding = YES, .transform_skip = YES, .cu_qp_delta = YES, .deblocking_filter_disable = YES}},
        .blocks = BLOCKS(1, 3), .tells_features = true,
    },
    {
        // Intel's low-power encoder of Gen11 and later, as the iHD driver shows it.
        .name = "intel-lp",
        .vendor = "HWSim 1.0 intel-lp (software simulation)",
        .entrypoint = VAEntrypointEncSliceLP,
        .encode = {true, true}, .decode = {true, true},
        .smallest_width = 128, .smallest_height = 128, .largest_width = 8192, .largest_height = 8192,
        .packed_headers = ALL_HEADERS,
        .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR,
        .prediction_direction = VA_PREDICTION_DIRECTION_PREVIOUS | VA_PREDICTION_DIRECTION_BI_NOT_EMPTY,
        .references = {3, 3}, .slices = 64, .quality_levels = 7,
        .features = {.bits = {.amp = MUST, .sao = YES, .temporal_mvp = YES, .transform_skip = YES, .cu_qp_delta = MUST,
            .deblocking_filter_disable = YES}},
        .blocks = BLOCKS(3, 2), .tells_features = true, .only_low_delay_b = true,
    },
    {
        // Mesa 22.3's radeonsi: it takes nothing but a packed sequence, and of that only size and crop.
        .name = "mesa22",
        .vendor = "HWSim 1.0 mesa22 (software simulation)",
        .entrypoint = VAEntrypointEncSlice,
        .encode = {true, true}, .decode = {true, true},
        .smallest_width = 130, .smallest_height = 128, .largest_width = 4096, .largest_height = 2304,
        .align_width = 64, .align_height = 16,
        .packed_headers = VA_ENC_PACKED_HEADER_SEQUENCE,
        .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR,
        .references = {1, 0}, .slices = 128, .quality_levels = 32,
        .features = {.bits = {.amp = YES, .sao = YES, .temporal_mvp = YES, .strong_intra_smoothing = YES,
            .transform_skip = YES, .cu_qp_delta = YES, .deblocking_filter_disable = YES}},
        .blocks = BLOCKS(1, 3), .own_headers = true,
    },
    {
        // Mesa 25: it reads the client's headers, and writes them anew.
        .name = "mesa25",
        .vendor = "HWSim 1.0 mesa25 (software simulation)",
        .entrypoint = VAEntrypointEncSlice,
        .encode = {true, true}, .decode = {true, true},
        .smallest_width = 130, .smallest_height = 128, .largest_width = 4096, .largest_height = 2304,
        .align_width = 64, .align_height = 16,
        .packed_headers = ALL_HEADERS,
        .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR,
        .prediction_direction = VA_PREDICTION_DIRECTION_PREVIOUS,
        .references = {1, 0}, .slices = 128, .quality_levels = 32,
        .features = {.bits = {.amp = YES, .sao = YES, .temporal_mvp = YES, .strong_intra_smoothing = YES,
            .transform_skip = YES, .cu_qp_delta = YES, .deblocking_filter_disable = YES}},
        .blocks = BLOCKS(3, 3), .tells_features = true, .own_headers = true, .reads_headers = true,
    },
    {
        // As the VA-API driver for NVDEC: no encoder, and no derived images.
        .name = "decode-only",
        .vendor = "HWSim 1.0 decode-only (software simulation)",
        .decode = {true, true},
        .smallest_width = 16, .smallest_height = 16, .largest_width = 8192, .largest_height = 8192,
        .no_derive = true,
    },
};

struct flag {
    const char *name;
    size_t offset;
};

static const struct flag flags[] = {
    {"no-derive", offsetof(struct personality, no_derive)},
    {"no-import", offsetof(struct personality, no_import)},
    {"no-timeouts", offsetof(struct personality, no_timeouts)},
    {"liar", offsetof(struct personality, liar)},
    {"corrupt", offsetof(struct personality, corrupt)},
    {"crash-init", offsetof(struct personality, crash_init)},
    {"fail-init", offsetof(struct personality, fail_init)},
    {"hang-init", offsetof(struct personality, hang_init)},
    {"busy", offsetof(struct personality, busy)},
    {"busy-maximum", offsetof(struct personality, busy_maximum)},
    {"two-segments", offsetof(struct personality, two_segments)},
    {"size-limited", offsetof(struct personality, size_ceiling)},
};

static const struct flag moments[] = {
    {"crash-at-", offsetof(struct personality, crash_at)},
    {"hang-at-", offsetof(struct personality, hang_at)},
    {"fail-at-", offsetof(struct personality, fail_at)},
    {"decode-crash-at-", offsetof(struct personality, decode_crash_at)},
    {"decode-hang-at-", offsetof(struct personality, decode_hang_at)},
    {"decode-fail-at-", offsetof(struct personality, decode_fail_at)},
};

static bool apply(struct personality *personality, const char *word) {
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(word, flags[i].name)) {
            *(bool *)((char *)personality + flags[i].offset) = true;
            return true;
        }
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        size_t length = strlen(moments[i].name);
        if (strncmp(word, moments[i].name, length)) continue;
        char *end;
        unsigned long number = strtoul(word + length, &end, 10);
        if (!number || number > 1000000 || *end) return false;
        *(unsigned *)((char *)personality + moments[i].offset) = (unsigned)number;
        return true;
    }
    if (!strcmp(word, "8-bit-only")) {
        personality->encode[1] = personality->decode[1] = false;
        return true;
    }
    return false;
}

bool personality_read(struct personality *personality, const char *words, char *message, unsigned size) {
    char copy[256], *rest = copy;
    *personality = bases[0];
    if (!words || !*words) return true;
    if (strlen(words) >= sizeof copy) {
        snprintf(message, size, "it is too long");
        return false;
    }
    strcpy(copy, words);
    bool first = true;
    for (char *word; (word = strsep(&rest, ","));) {
        bool base = false;
        for (size_t i = 0; first && i < sizeof bases / sizeof *bases; i++)
            if (!strcmp(word, bases[i].name)) *personality = bases[i], base = true;
        first = false;
        if (base || apply(personality, word)) continue;
        snprintf(message, size, "what is '%s'?", word);
        return false;
    }
    if (personality->size_ceiling) {
        personality->largest_width = 1280;
        personality->largest_height = 720;
    }
    return true;
}
