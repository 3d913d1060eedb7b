// SPDX-License-Identifier: GPL-2.0-or-later
// The drivers that the simulation can play. README.md has them as a table.
#include "personality/personality.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/codec.h"

enum { NO = 0, YES = 1, MUST = 2 };  // VA_FEATURE_*

#define ALL_HEADERS                                                                                     \
    (VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_PICTURE | VA_ENC_PACKED_HEADER_SLICE |        \
        VA_ENC_PACKED_HEADER_MISC | VA_ENC_PACKED_HEADER_RAW_DATA)

#define ALL_CODECS (CODEC_H264 | CODEC_VP9 | CODEC_AV1)

// CTBs from 16; coding blocks from 8, transform blocks 4 to 32, trees of up to three levels.
#define BLOCKS(smallest_ctb, hierarchy)                                                                             \
    {.bits = {.log2_max_coding_tree_block_size_minus3 = 3, .log2_min_coding_tree_block_size_minus3 = (smallest_ctb), \
         .log2_max_luma_transform_block_size_minus2 = 3, .max_max_transform_hierarchy_depth_inter = (hierarchy),    \
         .max_max_transform_hierarchy_depth_intra = (hierarchy)}}

// The words of feature and block sizes are those that iHD 23.1.1 and Mesa report on Gen11 and navi23.
#define INTEL_ENCODER                                                                                          \
    .entrypoint = VAEntrypointEncSliceLP, .encode = {true, true}, .decode = {true, true}, .smallest_width = 128, \
    .smallest_height = 128, .largest_width = 8192, .largest_height = 8192, .packed_headers = ALL_HEADERS,        \
    .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR, .references = {3, 3}, .references_total = 3, \
    .slices = 64, .quality_levels = 7, .features = {.value = 0x01900464}, .blocks = {.value = 0x000088cf},      \
    .tells_features = true, .no_p_slices = true, .parser = PARSER_IHD, .latched_bounds = true,                   \
    .three_quality_levels = true

#define AMD_ENCODER                                                                                             \
    .entrypoint = VAEntrypointEncSlice, .encode = {true, true}, .decode = {true, true}, .smallest_width = 130,   \
    .smallest_height = 128, .largest_width = 4096, .largest_height = 2304, .align_width = 64, .align_height = 16, \
    .decoders = ALL_CODECS, .references = {1, 0}, .slices = 128, .quality_levels = 32, .blocks = {.value = 0x000000cf},                  \
    .tells_features = true, .own_headers = true, .parser = PARSER_MESA, .deep_luma_map = true

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
        // Intel's low-power encoder of Gen11 (Ice Lake), with HuC firmware.
        .name = "ihd-icl", .decoders = CODEC_H264 | CODEC_VP9,
        .vendor = "Intel iHD driver for Intel(R) Gen Graphics - 23.1.1 (HWSim)",
        INTEL_ENCODER,
        .prediction_direction = VA_PREDICTION_DIRECTION_PREVIOUS | VA_PREDICTION_DIRECTION_BI_NOT_EMPTY,
        .only_equal_lists = true,
    },
    {
        // That of Gen12 (Tiger Lake), which codes pyramids, too.
        .name = "ihd-tgl", .decoders = ALL_CODECS,
        .vendor = "Intel iHD driver for Intel(R) Gen Graphics - 23.1.1 (HWSim, Gen12)",
        INTEL_ENCODER,
        .prediction_direction = VA_PREDICTION_DIRECTION_PREVIOUS | VA_PREDICTION_DIRECTION_FUTURE |
                                VA_PREDICTION_DIRECTION_BI_NOT_EMPTY,
        .limited_low_delay = true,
    },
    {
        // Mesa 22.3's radeonsi: it takes nothing but a packed sequence, and of that only size and crop.
        .name = "radeonsi-22",
        .vendor = "Mesa Gallium driver 22.3.6 for AMD HWSim (navi23, LLVM 15.0.6, DRM 3.49)",
        AMD_ENCODER,
        .packed_headers = VA_ENC_PACKED_HEADER_SEQUENCE,
        .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR,
        .features = {.value = 0x10041050},
        .first_sequence_resets = true, .one_qp = true, .latched_bounds = true, .may_skip = true, .stale_status = true,
        .hidden_minimum = true, .largest_intra_period = true, .only_endless_waits = true,
    },
    {
        // The same driver with UVD, as on Polaris and Vega: each picture has the driver's own buffer and bounds.
        .name = "radeonsi-22-uvd",
        .vendor = "Mesa Gallium driver 22.3.6 for AMD HWSim (polaris10, LLVM 15.0.6, DRM 3.49)",
        AMD_ENCODER,
        .packed_headers = VA_ENC_PACKED_HEADER_SEQUENCE,
        .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR,
        .features = {.value = 0x10041050},
        .first_sequence_resets = true, .one_qp = true, .may_skip = true, .stale_status = true,
        .hidden_minimum = true, .largest_intra_period = true, .only_endless_waits = true, .fixed_rate_control = true,
    },
    {
        // Mesa 25's radeonsi: it reads the client's headers, and rewrites them.
        .name = "radeonsi-25",
        .vendor = "Mesa Gallium driver 25.0.7-2 for AMD HWSim (radeonsi, navi23, ACO, DRM 3.61)",
        AMD_ENCODER,
        .packed_headers = ALL_HEADERS,
        .rate_control = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR,
        .prediction_direction = VA_PREDICTION_DIRECTION_PREVIOUS,
        .features = {.value = 0x10541050},
        .reads_headers = true,
    },
    {
        // Intel's older driver on Kaby Lake: HEVC decoders only.
        .name = "i965", .decoders = CODEC_H264 | CODEC_VP9,
        .vendor = "Intel i965 driver for Intel(R) Kaby Lake - 2.4.1 (HWSim)",
        .decode = {true, true},
        .smallest_width = 16, .smallest_height = 16, .largest_width = 4096, .largest_height = 4096,
    },
    {
        // The VA-API driver for NVDEC: no encoder, and no derived images.
        .name = "nvidia", .decoders = ALL_CODECS,
        .vendor = "VA-API NVDEC driver [HWSim]",
        .decode = {true, true},
        .smallest_width = 16, .smallest_height = 16, .largest_width = 8192, .largest_height = 8192,
        .no_derive = true,
    },
};

// Names of earlier versions.
static const struct {
    const char *name, *base;
} aliases[] = {
    {"intel-lp", "ihd-icl"},
    {"mesa22", "radeonsi-22"},
    {"mesa25", "radeonsi-25"},
    {"decode-only", "nvidia"},
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
    {"no-huc", offsetof(struct personality, no_huc)},
    {"padded-pitch", offsetof(struct personality, padded_pitch)},
    {"other-codecs", offsetof(struct personality, other_codecs)},
    {"refuses-codecs", offsetof(struct personality, refuses_codecs)},
    {"wrong-samples", offsetof(struct personality, wrong_samples)},
    {"tiled", offsetof(struct personality, tiled)},
    {"luma-map", offsetof(struct personality, luma_map)},
    {"no-device", offsetof(struct personality, no_device)},
    {"no-nvenc", offsetof(struct personality, no_nvenc)},
    {"old-driver", offsetof(struct personality, old_driver)},
    {"three-sessions", offsetof(struct personality, three_sessions)},
    {"client-key", offsetof(struct personality, client_key)},
    {"no-b", offsetof(struct personality, no_b)},
    {"no-b-references", offsetof(struct personality, no_b_references)},
};

// With a number behind them.
static const struct flag moments[] = {
    {"crash-at-", offsetof(struct personality, crash_at)},
    {"hang-at-", offsetof(struct personality, hang_at)},
    {"hang-map-", offsetof(struct personality, hang_map_at)},
    {"fail-at-", offsetof(struct personality, fail_at)},
    {"decode-crash-at-", offsetof(struct personality, decode_crash_at)},
    {"decode-hang-at-", offsetof(struct personality, decode_hang_at)},
    {"decode-fail-at-", offsetof(struct personality, decode_fail_at)},
    {"wrong-at-", offsetof(struct personality, wrong_at)},
    {"decode-wrong-at-", offsetof(struct personality, decode_wrong_at)},
    {"gpu-memory-", offsetof(struct personality, gpu_memory)},
};

// NAME or NAME-at-N: what a driver tries and when, at its start for 0, otherwise at its Nth picture to encode.
static bool apply_attempt(struct personality *personality, const char *word) {
    char name[32];
    const char *moment = strstr(word, "-at-");
    size_t length = moment ? (size_t)(moment - word) : strlen(word);
    if (length >= sizeof name) return false;
    memcpy(name, word, length);
    name[length] = 0;
    personality->forbidden_at = FORBIDDEN_PICTURE;
    if (moment) {
        char *end;
        unsigned long number = strtoul(moment + 4, &end, 10);
        if (end == moment + 4 || number > 1000000 || *end) return false;
        personality->forbidden_at = (unsigned)number;
    }
    return (personality->forbidden = forbidden_named(name));
}

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
    if (!strncmp(word, "evil-", 5)) return apply_attempt(personality, word + 5);
    if (!strcmp(word, "8-bit-only")) {
        personality->encode[1] = personality->decode[1] = false;
        return true;
    }
    return false;
}

static const struct personality *base_named(const char *word) {
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(word, aliases[i].name)) word = aliases[i].base;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (!strcmp(word, bases[i].name)) return &bases[i];
    return NULL;
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
        const struct personality *base = first ? base_named(word) : NULL;
        if (base) *personality = *base;
        first = false;
        if (base || apply(personality, word)) continue;
        snprintf(message, size, "what is '%s'?", word);
        return false;
    }
    // Without HuC firmware, which runs it, there is no rate control.
    if (personality->no_huc) personality->rate_control = VA_RC_CQP;
    if (personality->other_codecs) personality->decoders = ALL_CODECS;
    if (personality->size_ceiling) {
        personality->largest_width = 1280;
        personality->largest_height = 720;
    }
    return true;
}
