// SPDX-License-Identifier: GPL-2.0-or-later
// What libnvidia-encode says it has.
#include <string.h>

#include "nvidia/nvenc.h"

static bool is_hevc(GUID guid) { return !memcmp(&guid, &NV_ENC_CODEC_HEVC_GUID, sizeof guid); }

static NVENCSTATUS codec_count(void *handle, uint32_t *count) {
    (void)handle;
    *count = 1;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS codecs(void *handle, GUID *guids, uint32_t room, uint32_t *count) {
    (void)handle;
    *count = room ? 1 : 0;
    if (room) guids[0] = NV_ENC_CODEC_HEVC_GUID;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS profile_count(void *handle, GUID codec, uint32_t *count) {
    (void)handle;
    *count = 2;
    return is_hevc(codec) ? NV_ENC_SUCCESS : NV_ENC_ERR_UNSUPPORTED_PARAM;
}

static NVENCSTATUS profiles(void *handle, GUID codec, GUID *guids, uint32_t room, uint32_t *count) {
    const GUID all[2] = {NV_ENC_HEVC_PROFILE_MAIN_GUID, NV_ENC_HEVC_PROFILE_MAIN10_GUID};
    (void)handle;
    *count = room < 2 ? room : 2;
    memcpy(guids, all, *count * sizeof *guids);
    return is_hevc(codec) ? NV_ENC_SUCCESS : NV_ENC_ERR_UNSUPPORTED_PARAM;
}

static const NV_ENC_BUFFER_FORMAT formats[] = {
    NV_ENC_BUFFER_FORMAT_NV12, NV_ENC_BUFFER_FORMAT_YV12, NV_ENC_BUFFER_FORMAT_IYUV, NV_ENC_BUFFER_FORMAT_YUV420_10BIT};
enum { FORMATS = sizeof formats / sizeof *formats };

bool nvenc_has_format(NV_ENC_BUFFER_FORMAT format) {
    for (int i = 0; i < FORMATS; i++)
        if (formats[i] == format) return true;
    return false;
}

static NVENCSTATUS format_count(void *handle, GUID codec, uint32_t *count) {
    (void)handle;
    *count = FORMATS;
    return is_hevc(codec) ? NV_ENC_SUCCESS : NV_ENC_ERR_UNSUPPORTED_PARAM;
}

static NVENCSTATUS list_formats(void *handle, GUID codec, NV_ENC_BUFFER_FORMAT *list, uint32_t room, uint32_t *count) {
    (void)handle;
    *count = room < FORMATS ? room : FORMATS;
    memcpy(list, formats, *count * sizeof *list);
    return is_hevc(codec) ? NV_ENC_SUCCESS : NV_ENC_ERR_UNSUPPORTED_PARAM;
}

static NVENCSTATUS capability(void *handle, GUID codec, NV_ENC_CAPS_PARAM *asked, int *value) {
    const struct personality *personality = nvidia_personality();
    (void)handle;
    if (asked->version != NV_ENC_CAPS_PARAM_VER) return NV_ENC_ERR_INVALID_VERSION;
    if (!is_hevc(codec)) return NV_ENC_ERR_UNSUPPORTED_PARAM;
    switch ((int)asked->capsToQuery) {
        case NV_ENC_CAPS_NUM_MAX_BFRAMES: *value = personality->no_b ? 0 : MOST_B; break;
        case NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES: *value = NV_ENC_PARAMS_RC_VBR | NV_ENC_PARAMS_RC_CBR; break;
        case NV_ENC_CAPS_LEVEL_MAX: *value = 186; break;
        case NV_ENC_CAPS_LEVEL_MIN: *value = 30; break;
        case NV_ENC_CAPS_WIDTH_MAX: *value = personality->largest_width; break;
        case NV_ENC_CAPS_HEIGHT_MAX: *value = personality->largest_height; break;
        case NV_ENC_CAPS_WIDTH_MIN: *value = SMALLEST_WIDTH; break;
        case NV_ENC_CAPS_HEIGHT_MIN: *value = SMALLEST_HEIGHT; break;
        case NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE: *value = personality->no_b || personality->no_b_references ? 0 : 3; break;
        case NV_ENC_CAPS_SUPPORT_10BIT_ENCODE: *value = personality->encode[1]; break;
        case NV_ENC_CAPS_NUM_ENCODER_ENGINES:
        case NV_ENC_CAPS_SUPPORT_LOOKAHEAD:
        case NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE:
        case NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE:
        case NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE: *value = 1; break;
        case NV_ENC_CAPS_MB_NUM_MAX: *value = personality->largest_width / 16 * (personality->largest_height / 16); break;
        default: *value = 0; break;
    }
    return NV_ENC_SUCCESS;
}

// --- Presets

static const GUID *const presets[] = {&NV_ENC_PRESET_P1_GUID, &NV_ENC_PRESET_P2_GUID, &NV_ENC_PRESET_P3_GUID, &NV_ENC_PRESET_P4_GUID,
    &NV_ENC_PRESET_P5_GUID, &NV_ENC_PRESET_P6_GUID, &NV_ENC_PRESET_P7_GUID};
enum { PRESETS = sizeof presets / sizeof *presets };

static NVENCSTATUS preset_count(void *handle, GUID codec, uint32_t *count) {
    (void)handle;
    *count = PRESETS;
    return is_hevc(codec) ? NV_ENC_SUCCESS : NV_ENC_ERR_UNSUPPORTED_PARAM;
}

static NVENCSTATUS list_presets(void *handle, GUID codec, GUID *guids, uint32_t room, uint32_t *count) {
    (void)handle;
    *count = room < PRESETS ? room : PRESETS;
    for (uint32_t i = 0; i < *count; i++) guids[i] = *presets[i];
    return is_hevc(codec) ? NV_ENC_SUCCESS : NV_ENC_ERR_UNSUPPORTED_PARAM;
}

NVENCSTATUS nvenc_preset(void *handle, GUID codec, GUID preset, NV_ENC_TUNING_INFO tuning, NV_ENC_PRESET_CONFIG *preset_config) {
    bool known = false;
    (void)handle;
    for (int i = 0; i < PRESETS; i++) known = known || !memcmp(&preset, presets[i], sizeof preset);
    if (!is_hevc(codec) || !known || tuning <= NV_ENC_TUNING_INFO_UNDEFINED || tuning >= NV_ENC_TUNING_INFO_LOSSLESS)
        return NV_ENC_ERR_UNSUPPORTED_PARAM;
    if (preset_config->version != NV_ENC_PRESET_CONFIG_VER || preset_config->presetCfg.version != NV_ENC_CONFIG_VER)
        return NV_ENC_ERR_INVALID_VERSION;
    NV_ENC_CONFIG *config = &preset_config->presetCfg;
    bool is_quick = tuning != NV_ENC_TUNING_INFO_HIGH_QUALITY;
    memset(config, 0, sizeof *config);
    config->version = NV_ENC_CONFIG_VER;
    config->profileGUID = NV_ENC_HEVC_PROFILE_MAIN_GUID;
    config->gopLength = is_quick ? NVENC_INFINITE_GOPLENGTH : 250;
    config->frameIntervalP = 1;
    config->frameFieldMode = NV_ENC_PARAMS_FRAME_FIELD_MODE_FRAME;
    config->rcParams.version = NV_ENC_RC_PARAMS_VER;
    config->rcParams.rateControlMode = is_quick ? NV_ENC_PARAMS_RC_CBR : NV_ENC_PARAMS_RC_VBR;
    config->rcParams.constQP = (NV_ENC_QP){28, 31, 25};
    config->encodeCodecConfig.hevcConfig.idrPeriod = config->gopLength;
    config->encodeCodecConfig.hevcConfig.chromaFormatIDC = 1;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS old_preset_config(void *handle, GUID codec, GUID preset, NV_ENC_PRESET_CONFIG *config) {
    return nvenc_preset(handle, codec, preset, NV_ENC_TUNING_INFO_HIGH_QUALITY, config);
}

void nvenc_install_queries(NV_ENCODE_API_FUNCTION_LIST *list) {
    list->nvEncGetEncodeGUIDCount = codec_count;
    list->nvEncGetEncodeProfileGUIDCount = profile_count;
    list->nvEncGetEncodeProfileGUIDs = profiles;
    list->nvEncGetEncodeGUIDs = codecs;
    list->nvEncGetInputFormatCount = format_count;
    list->nvEncGetInputFormats = list_formats;
    list->nvEncGetEncodeCaps = capability;
    list->nvEncGetEncodePresetCount = preset_count;
    list->nvEncGetEncodePresetGUIDs = list_presets;
    list->nvEncGetEncodePresetConfig = old_preset_config;
    list->nvEncGetEncodePresetConfigEx = nvenc_preset;
}
