// SPDX-License-Identifier: GPL-2.0-or-later
// The VUI's and HDR's parameters as properties of a session.
#include "preload.h"

#include <stdio.h>

// H.265 table E.1: aspect_ratio_idc 1 to 16.
static const int aspects[][2] = {{1, 1},   {12, 11}, {10, 11}, {16, 11}, {40, 33}, {24, 11},  {20, 11}, {32, 11},
                                 {80, 33}, {18, 11}, {15, 11}, {64, 33}, {160, 99}, {4, 3}, {3, 2},   {2, 1}};

static int map_aspect(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    int idc = param->vui.aspectRatioIdc, width = 0, height = 0;
    if (idc == 0) return 0;
    if (idc == X265_EXTENDED_SAR) {
        width = param->vui.sarWidth;
        height = param->vui.sarHeight;
        // Apps set it without values where they know none.
        if (width == 0 || height == 0) return 0;
    } else if (idc > 0 && idc <= (int)(sizeof aspects / sizeof *aspects)) {
        width = aspects[idc - 1][0];
        height = aspects[idc - 1][1];
    }
    if (width < 1 || height < 1 || width > 65535 || height > 65535) return refuse(reason, "sar %d (%d:%d)", idc, width, height);
    add_property(to, "PixelAspectRatio", "\"%d:%d\"", width, height);
    return 0;
}

static int add_code_point(properties *to, const char *name, int value, char reason[REASON_SIZE]) {
    enum { UNSPECIFIED = 2 };
    if (value < 0 || value > 255) return refuse(reason, "%s %d is no code point", name, value);
    if (value != UNSPECIFIED) add_property(to, name, "%d", value);
    return 0;
}

static int map_signal(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    if (param->vui.bEnableVideoSignalTypePresentFlag) {
        if (param->vui.bEnableVideoFullRangeFlag) add_property(to, "FullRangeVideo", "true");
        if (param->vui.bEnableColorDescriptionPresentFlag &&
            (add_code_point(to, "ColorPrimaries", param->vui.colorPrimaries, reason) < 0 ||
             add_code_point(to, "TransferFunction", param->vui.transferCharacteristics, reason) < 0 ||
             add_code_point(to, "YCbCrMatrix", param->vui.matrixCoeffs, reason) < 0))
            return -1;
    }
    if (!param->vui.bEnableChromaLocInfoPresentFlag) return 0;
    int top = param->vui.chromaSampleLocTypeTopField;
    if (top < 0 || top > 5 || top != param->vui.chromaSampleLocTypeBottomField) return refuse(reason, "chromaloc %d", top);
    add_property(to, "ChromaSampleLocType", "%d", top);
    return 0;
}

// The payload of SEI message 137 in hexadecimal (H.265 D.2.28): x and y of green, blue, red and white, then luminances.
static int map_mastering_display(const char *text, properties *to, char reason[REASON_SIZE]) {
    unsigned short at[8];
    unsigned greatest, least;
    int read = sscanf(text, "G(%hu,%hu)B(%hu,%hu)R(%hu,%hu)WP(%hu,%hu)L(%u,%u)", &at[0], &at[1], &at[2], &at[3], &at[4], &at[5],
                      &at[6], &at[7], &greatest, &least);
    if (read != 10) return refuse(reason, "master-display is not of the form G(x,y)B(x,y)R(x,y)WP(x,y)L(max,min)");
    add_property(to, "MasteringDisplayColorVolume", "\"%04x%04x%04x%04x%04x%04x%04x%04x%08x%08x\"", at[0], at[1], at[2], at[3], at[4],
                 at[5], at[6], at[7], greatest, least);
    return 0;
}

int map_color(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    if (map_aspect(param, to, reason) < 0 || map_signal(param, to, reason) < 0) return -1;
    if (param->maxCLL || param->maxFALL) add_property(to, "ContentLightLevelInfo", "\"%04x%04x\"", param->maxCLL, param->maxFALL);
    const char *display = param->masteringDisplayColorVolume;
    return display && *display ? map_mastering_display(display, to, reason) : 0;
}
