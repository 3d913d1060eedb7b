// SPDX-License-Identifier: GPL-2.0-or-later
// What a session codes with, from NV_ENC_CONFIG.
#include <stdlib.h>
#include <string.h>

#include "nvidia/nvenc.h"

// Table A.8: levels, and what they allow of luma samples a picture and a second.
static const struct {
    int level;
    uint64_t picture, second;
} levels[] = {
    {30, 36864, 552960}, {60, 122880, 3686400}, {63, 245760, 7372800}, {90, 552960, 16588800}, {93, 983040, 33177600},
    {120, 2228224, 66846720}, {123, 2228224, 133693440}, {150, 8912896, 267386880}, {153, 8912896, 534773760},
    {156, 8912896, 1069547520}, {180, 35651584, 1069547520}, {183, 35651584, 2139095040}, {186, 35651584, 4278190080},
};

static int level_of(const NV_ENC_INITIALIZE_PARAMS *parameters, uint32_t wanted) {
    if (wanted) return (int)wanted;
    uint64_t samples = (uint64_t)parameters->encodeWidth * parameters->encodeHeight;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (samples <= levels[i].picture &&
            samples * parameters->frameRateNum <= levels[i].second * parameters->frameRateDen)
            return levels[i].level;
    return 186;
}

static void make_vui(struct vui *vui, const struct session *session) {
    const NV_ENC_CONFIG_HEVC_VUI_PARAMETERS *from = &session->config.encodeCodecConfig.hevcConfig.hevcVUIParameters;
    const NV_ENC_INITIALIZE_PARAMS *parameters = &session->parameters;
    *vui = (struct vui){.is_present = true, .video_format = 5, .primaries = 2, .transfer = 2, .matrix = 2,
        .tick = parameters->frameRateDen, .time_scale = parameters->frameRateNum};
    uint64_t across = (uint64_t)parameters->darWidth * parameters->encodeHeight;
    uint64_t down = (uint64_t)parameters->darHeight * parameters->encodeWidth, a = across, b = down;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    if (across && down && across / a <= 0xffff && down / a <= 0xffff) {
        vui->aspect_width = (int)(across / a);
        vui->aspect_height = (int)(down / a);
    }
    if (!from->videoSignalTypePresentFlag) return;
    vui->video_format = (int)(from->videoFormat & 7);
    vui->full_range = from->videoFullRangeFlag;
    if (!from->colourDescriptionPresentFlag) return;
    vui->primaries = (int)(from->colourPrimaries & 0xff);
    vui->transfer = (int)(from->transferCharacteristics & 0xff);
    vui->matrix = (int)(from->colourMatrix & 0xff);
}

static bool is_guid(const GUID *a, const GUID *b) { return !memcmp(a, b, sizeof *a); }

static bool make_sets(struct session *session) {
    const NV_ENC_INITIALIZE_PARAMS *parameters = &session->parameters;
    const NV_ENC_CONFIG *config = &session->config;
    const NV_ENC_CONFIG_HEVC *hevc = &config->encodeCodecConfig.hevcConfig;
    int width = (int)parameters->encodeWidth, height = (int)parameters->encodeHeight, depth = 8 + (int)hevc->pixelBitDepthMinus8;
    bool deep = is_guid(&config->profileGUID, &NV_ENC_HEVC_PROFILE_MAIN10_GUID) || depth > 8;
    const struct personality *personality = nvidia_personality();
    if (hevc->chromaFormatIDC > 1) return refuse(session->error, "chroma_format_idc %u is not implemented", hevc->chromaFormatIDC);
    if (depth != 8 && depth != 10) return refuse(session->error, "%d bits", depth);
    if (!personality->encode[deep]) return refuse(session->error, "the profile is not supported");
    if (is_guid(&config->profileGUID, &NV_ENC_HEVC_PROFILE_FREXT_GUID) ||
        (depth > 8 && is_guid(&config->profileGUID, &NV_ENC_HEVC_PROFILE_MAIN_GUID)))
        return refuse(session->error, "the profile does not have %d bits", depth);
    int coded_width = (width + 15) / 16 * 16, coded_height = (height + 15) / 16 * 16, b = config->frameIntervalP - 1;
    bool middle = b > 1 && hevc->useBFramesAsRef == NV_ENC_BFRAME_REF_MODE_MIDDLE;
    session->sps = (struct sps){
        .present = true, .sub_layers = 1, .profile = deep ? 2 : 1, .tier = (int)hevc->tier & 1,
        .level = level_of(parameters, hevc->level), .chroma_format = 1, .width = coded_width, .height = coded_height,
        .crop = {0, (coded_width - width) / 2, 0, (coded_height - height) / 2}, .depth_luma = depth, .depth_chroma = depth,
        .log2_poc_lsb = 8, .ordering = {{b > 0 ? 4 : 2, b > 0 ? 1 + middle : 0, 0}},
        .log2_min_cb = 3, .log2_ctb = 5, .log2_min_tb = 2, .log2_max_tb = 5, .hierarchy_inter = 3, .hierarchy_intra = 3,
        .amp = true,
    };
    make_vui(&session->sps.vui, session);
    session->pps = (struct pps){
        .present = true, .cabac_init_present = true, .default_active = {1, 1}, .init_qp = 26, .across_slices = true,
        .slice_chroma_offsets = true, .log2_merge_level = 2, .cb_offset = config->rcParams.cbQPIndexOffset,
        .cr_offset = config->rcParams.crQPIndexOffset, .tile_columns = 1, .tile_rows = 1,
    };
    return true;
}

// The rates as the firmware of rate.c has them.
static bool make_rate(struct session *session) {
    const NV_ENC_RC_PARAMS *from = &session->config.rcParams;
    uint32_t mode = VA_RC_CQP;
    struct firmware firmware = {.rate_numerator = session->parameters.frameRateNum,
        .rate_denominator = session->parameters.frameRateDen ? session->parameters.frameRateDen : 1,
        .target = from->averageBitRate, .peak = from->maxBitRate, .buffer = from->vbvBufferSize};
    switch ((int)from->rateControlMode) {
        case NV_ENC_PARAMS_RC_CONSTQP: break;
        case NV_ENC_PARAMS_RC_VBR:
#if NVENCAPI_MAJOR_VERSION < 12
        case NV_ENC_PARAMS_RC_VBR_HQ:
#endif
            if (from->targetQuality) {
                mode = from->maxBitRate ? VA_RC_QVBR : VA_RC_ICQ;
                firmware.target = from->maxBitRate;
                firmware.quality_factor = from->targetQuality;
            } else if (from->averageBitRate) {
                mode = VA_RC_VBR;
            }
            break;
        case NV_ENC_PARAMS_RC_CBR:
#if NVENCAPI_MAJOR_VERSION < 12
        case NV_ENC_PARAMS_RC_CBR_HQ:
        case NV_ENC_PARAMS_RC_CBR_LOWDELAY_HQ:
#endif
            mode = VA_RC_CBR;
            firmware.is_constant = true;
            break;
        default: return refuse(session->error, "the rate control mode %d", (int)from->rateControlMode);
    }
    return rate_configure(&session->rate, mode, &firmware, session->error);
}

bool nvenc_configure(struct session *session) {
    const struct personality *personality = nvidia_personality();
    const NV_ENC_INITIALIZE_PARAMS *parameters = &session->parameters;
    NV_ENC_CONFIG *config = &session->config;
    if (!is_guid(&parameters->encodeGUID, &NV_ENC_CODEC_HEVC_GUID)) return refuse(session->error, "the codec is not supported");
    if (parameters->encodeWidth < SMALLEST_WIDTH || parameters->encodeHeight < SMALLEST_HEIGHT ||
        parameters->encodeWidth > (unsigned)personality->largest_width ||
        parameters->encodeHeight > (unsigned)personality->largest_height || parameters->encodeWidth & 1 || parameters->encodeHeight & 1)
        return refuse(session->error, "%ux%u is not supported", parameters->encodeWidth, parameters->encodeHeight);
    if (!parameters->frameRateNum || !parameters->enablePTD || parameters->enableEncodeAsync)
        return refuse(session->error, "no frame rate, pictures typed by the client, and asynchronous coding are not implemented");
    if (config->frameIntervalP < 0 || config->frameIntervalP > (personality->no_b ? 0 : MOST_B) + 1)
        return refuse(session->error, "frameIntervalP is %d", config->frameIntervalP);
    if (personality->no_b_references && config->encodeCodecConfig.hevcConfig.useBFramesAsRef)
        return refuse(session->error, "B pictures are no references");
    if (config->frameFieldMode > NV_ENC_PARAMS_FRAME_FIELD_MODE_FRAME) return refuse(session->error, "fields are not supported");
    if (config->rcParams.lookaheadDepth > 32) return refuse(session->error, "lookaheadDepth is %u", config->rcParams.lookaheadDepth);
    return make_sets(session) && make_rate(session);
}

void nvenc_write_sets(const struct session *session, struct bytes *bytes) {
    write_vps(bytes, &session->sps);
    write_sps(bytes, &session->sps);
    write_pps(bytes, &session->pps);
}
