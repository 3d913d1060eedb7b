// SPDX-License-Identifier: GPL-2.0-or-later
// Parameters without a counterpart: an encoder with one of them is libx265's.
#include "preload.h"

#include <stddef.h>

// A parameter that must have libx265's default; `name` is its name in x265_param_parse, or close to it.
typedef struct option {
    const char *name;
    size_t offset, size;
} option;

#define OPTION(name, member) {name, offsetof(x265_param, member), sizeof(((x265_param *)0)->member)}

// Presets and tunes change none of these.
static const option options[] = {
    // Measurements and files.
    OPTION("psnr", bEnablePsnr), OPTION("ssim", bEnableSsim), OPTION("csv", csvfn), OPTION("csv-log-level", csvLogLevel),
    OPTION("pass", rc.bStatWrite), OPTION("pass", rc.bStatRead), OPTION("lambda-file", rc.lambdaFileName),
    OPTION("analysis-reuse-mode", analysisReuseMode), OPTION("analysis-save", analysisSave), OPTION("analysis-load", analysisLoad),
    OPTION("multi-pass-opt-analysis", analysisMultiPassRefine), OPTION("multi-pass-opt-distortion", analysisMultiPassDistortion),
    OPTION("multi-pass-opt-rps", bMultiPassOptRPS), OPTION("scale-factor", scaleFactor), OPTION("ctu-info", bCTUInfo),
    OPTION("refine-ctu-distortion", ctuDistortionRefine), OPTION("refine-analysis-type", bAnalysisType),
    OPTION("use-rc-stats", bUseRcStats), OPTION("svt", bEnableSvtHevc),
    // What a stream contains.
    OPTION("lossless", bLossless), OPTION("cu-lossless", bCULossless), OPTION("interlace", interlaceMode), OPTION("field", bField),
    OPTION("uhd-bd", uhdBluray), OPTION("hrd", bEmitHRDSEI), OPTION("hrd-concat", bEnableHRDConcatFlag),
    OPTION("hash", decodedPictureHashSEI), OPTION("temporal-layers", bEnableTemporalSubLayers), OPTION("slices", maxSlices),
    OPTION("scaling-list", scalingLists), OPTION("constrained-intra", bEnableConstrainedIntra), OPTION("cbqpoffs", cbQpOffset),
    OPTION("crqpoffs", crQpOffset), OPTION("atc-sei", preferredTransferCharacteristics), OPTION("pic-struct", pictureStructure),
    OPTION("dhdr10-info", toneMapFile), OPTION("dhdr10-opt", bDhdr10opt), OPTION("nalu-file", naluFile),
    OPTION("dolby-vision-profile", dolbyProfile), OPTION("idr-recovery-sei", bEmitIDRRecoverySEI), OPTION("single-sei", bSingleSeiNal),
    OPTION("vui-timing-info", bEmitVUITimingInfo), OPTION("overscan", vui.bEnableOverscanInfoPresentFlag),
    OPTION("display-window", vui.bEnableDefaultDisplayWindowFlag), OPTION("conformance-window-offsets", confWinRightOffset),
    OPTION("conformance-window-offsets", confWinBottomOffset), OPTION("max-ausize-factor", maxAUSizeFactor),
    // Which pictures are coded, and from which samples.
    OPTION("chunk-start", chunkStart), OPTION("chunk-end", chunkEnd), OPTION("frame-dup", bEnableFrameDuplication),
    OPTION("force-flush", forceFlush), OPTION("nr-intra", noiseReductionIntra), OPTION("nr-inter", noiseReductionInter),
    OPTION("min-luma", minLuma), OPTION("max-luma", maxLuma),
    // Picture structure.
    OPTION("intra-refresh", bIntraRefresh), OPTION("gop-lookahead", gopLookahead), OPTION("radl", radl), OPTION("fades", bEnableFades),
    // Rate control.
    OPTION("crf-max", rc.rfConstantMax), OPTION("crf-min", rc.rfConstantMin), OPTION("strict-cbr", rc.bStrictCbr),
    OPTION("zones", rc.zoneCount), OPTION("zonefile", rc.zonefileCount), OPTION("zonefile", reconfigWindowSize),
    OPTION("vbv-end", vbvBufferEnd), OPTION("vbv-end-fr-adj", vbvEndFrameAdjust), OPTION("vbv-live-multi-pass", bliveVBV2pass),
    OPTION("min-vbv-fullness", minVbvFullness), OPTION("max-vbv-fullness", maxVbvFullness),
    OPTION("scenecut-aware-qp", bEnableSceneCutAwareQp), OPTION("decoder-vbv-maxrate", decoderVbvMaxRate),
};

static int check_format(const x265_api *api, const x265_param *param, char reason[REASON_SIZE]) {
    static const char *const formats[] = {"4:0:0", "4:2:0", "4:2:2", "4:4:4"};
    if (param->internalCsp != X265_CSP_I420)
        return refuse(reason, "%s is not coded in hardware",
                      param->internalCsp >= 0 && param->internalCsp < X265_CSP_COUNT ? formats[param->internalCsp] : "this chroma format");
    if (param->internalBitDepth != api->bit_depth || (api->bit_depth != 8 && api->bit_depth != 10))
        return refuse(reason, "%d bits a sample are not coded in hardware", param->internalBitDepth);
    if (param->sourceWidth < 1 || param->sourceHeight < 1 || param->sourceWidth > 16384 || param->sourceHeight > 16384)
        return refuse(reason, "pictures of %dx%d", param->sourceWidth, param->sourceHeight);
    // Apps differ in how many samples the chroma planes of such pictures have.
    if (param->sourceWidth % 2 || param->sourceHeight % 2)
        return refuse(reason, "the size %dx%d is odd", param->sourceWidth, param->sourceHeight);
    if (param->totalFrames == 1) return refuse(reason, "a still picture");
    return 0;
}

int check_options(const x265_api *api, const x265_param *param, char reason[REASON_SIZE]) {
    if (check_format(api, param, reason) < 0) return -1;
    x265_param *defaults = api->param_alloc();
    if (!defaults) return refuse(reason, "no memory");
    api->param_default(defaults);
    const option *found = NULL;
    for (size_t i = 0; i < sizeof options / sizeof *options && !found; i++) {
        const char *given = (const char *)param, *normal = (const char *)defaults;
        if (memcmp(given + options[i].offset, normal + options[i].offset, options[i].size) != 0) found = &options[i];
    }
    // GStreamer states 5, unspecified.
    bool has_format = param->vui.bEnableVideoSignalTypePresentFlag && param->vui.videoFormat != defaults->vui.videoFormat &&
                      param->vui.videoFormat != 5;
    api->param_free(defaults);
    if (found) return refuse(reason, "option %s has no counterpart in hardware", found->name);
    return has_format ? refuse(reason, "option videoformat has no counterpart in hardware") : 0;
}
