// SPDX-License-Identifier: MIT
#include "video/formats.h"

#include <string.h>

static const struct { GstVideoFormat video; guint32 fourcc; } formats[] = {
    {GST_VIDEO_FORMAT_NV12, HWD_NV12}, {GST_VIDEO_FORMAT_P010_10LE, HWD_P010}, {GST_VIDEO_FORMAT_I420, HWD_YU12},
    {GST_VIDEO_FORMAT_I420_10LE, HWD_I010}, {GST_VIDEO_FORMAT_A420, HWD_YUVA}, {GST_VIDEO_FORMAT_BGRA, HWD_AR24},
    {GST_VIDEO_FORMAT_RGBA, HWD_AB24}, {GST_VIDEO_FORMAT_BGRx, HWD_AR24}, {GST_VIDEO_FORMAT_RGBx, HWD_AB24},
    {GST_VIDEO_FORMAT_BGR10A2_LE, HWD_AR30}, {GST_VIDEO_FORMAT_RGB10A2_LE, HWD_AB30},
};

guint32 hwd_format(GstVideoFormat format) {
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
        if (formats[i].video == format) return formats[i].fourcc;
    return 0;
}

GstVideoFormat hwd_video_format(guint32 fourcc) {
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
        if (formats[i].fourcc == fourcc) return formats[i].video;
    return GST_VIDEO_FORMAT_UNKNOWN;
}

// ---- Caps to properties

static void G_GNUC_PRINTF(4, 5) add(GString *json, HwdProperties *set, const char *key, const char *value, ...) {
    if (hwd_properties_is_set(set, key)) return;
    va_list arguments;
    va_start(arguments, value);
    gchar *text = g_strdup_vprintf(value, arguments);
    va_end(arguments);
    hwd_json_add(json, key, text);
    g_free(text);
}

// H.265 figure E.1; -1: unknown.
static int chroma_location(GstVideoChromaSite site) {
    switch (site) {
    case GST_VIDEO_CHROMA_SITE_H_COSITED: return 0;
    case GST_VIDEO_CHROMA_SITE_NONE: return 1;
    case GST_VIDEO_CHROMA_SITE_COSITED: return 2;
    case GST_VIDEO_CHROMA_SITE_V_COSITED: return 3;
    default: return -1;
    }
}

static void add_color(GString *json, const GstVideoInfo *info, HwdProperties *set) {
    enum { UNSPECIFIED = 2 };
    gboolean is_rgb = GST_VIDEO_INFO_IS_RGB(info);
    guint primaries = gst_video_color_primaries_to_iso(info->colorimetry.primaries);
    guint transfer = gst_video_transfer_function_to_iso(info->colorimetry.transfer);
    guint matrix = gst_video_color_matrix_to_iso(info->colorimetry.matrix);
    if (info->colorimetry.primaries != GST_VIDEO_COLOR_PRIMARIES_UNKNOWN && primaries != UNSPECIFIED)
        add(json, set, is_rgb ? "SourceColorPrimaries" : "ColorPrimaries", "%u", primaries);
    if (info->colorimetry.transfer != GST_VIDEO_TRANSFER_UNKNOWN && transfer != UNSPECIFIED)
        add(json, set, is_rgb ? "SourceTransferFunction" : "TransferFunction", "%u", transfer);
    if (is_rgb) return;
    if (info->colorimetry.matrix != GST_VIDEO_COLOR_MATRIX_UNKNOWN && matrix != UNSPECIFIED)
        add(json, set, "YCbCrMatrix", "%u", matrix);
    if (info->colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255) add(json, set, "FullRangeVideo", "true");
    int location = chroma_location(info->chroma_site);
    if (location >= 0) add(json, set, "ChromaSampleLocType", "%d", location);
}

static void add_light(GString *json, const GstCaps *caps, HwdProperties *set) {
    // Green, blue, red: H.265 D.3.28.
    static const int order[] = {1, 2, 0};
    GstVideoMasteringDisplayInfo display;
    GstVideoContentLightLevel light;
    if (gst_video_mastering_display_info_from_caps(&display, caps)) {
        GString *hex = g_string_new("\"");
        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
            g_string_append_printf(hex, "%04x%04x", display.display_primaries[order[i]].x, display.display_primaries[order[i]].y);
        g_string_append_printf(hex, "%04x%04x%08x%08x\"", display.white_point.x, display.white_point.y,
                               display.max_display_mastering_luminance, display.min_display_mastering_luminance);
        add(json, set, "MasteringDisplayColorVolume", "%s", hex->str);
        g_string_free(hex, TRUE);
    }
    if (gst_video_content_light_level_from_caps(&light, caps))
        add(json, set, "ContentLightLevelInfo", "\"%04x%04x\"", light.max_content_light_level, light.max_frame_average_light_level);
}

void hwd_add_caps_properties(GString *json, const GstVideoCodecState *state, HwdProperties *set) {
    const GstVideoInfo *info = &state->info;
    if (info->fps_n > 0 && info->fps_d > 0 && info->fps_n / info->fps_d <= 1000)
        add(json, set, "ExpectedFrameRate", "\"%d/%d\"", info->fps_n, info->fps_d);
    if (info->par_n > 0 && info->par_d > 0 && info->par_n != info->par_d && info->par_n <= G_MAXUINT16 && info->par_d <= G_MAXUINT16)
        add(json, set, "PixelAspectRatio", "\"%d:%d\"", info->par_n, info->par_d);
    if (info->interlace_mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED) {
        add(json, set, "FieldCount", "2");
        GstVideoFieldOrder order = GST_VIDEO_INFO_FIELD_ORDER(info);
        if (order != GST_VIDEO_FIELD_ORDER_UNKNOWN)
            add(json, set, "FieldDetail", "\"SpatialFirstLine%s\"", order == GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST ? "Early" : "Late");
    }
    add_color(json, info, set);
    add_light(json, state->caps, set);
}

// ---- Pictures to caps

void hwd_apply_color(GstVideoInfo *info, const hwd_color *color) {
    enum { UNSPECIFIED = 2 };
    static const GstVideoChromaSite sites[] = {GST_VIDEO_CHROMA_SITE_H_COSITED, GST_VIDEO_CHROMA_SITE_NONE,
                                               GST_VIDEO_CHROMA_SITE_COSITED, GST_VIDEO_CHROMA_SITE_V_COSITED};
    GstVideoColorimetry *to = &info->colorimetry;
    if (color->primaries != UNSPECIFIED) to->primaries = gst_video_color_primaries_from_iso(color->primaries);
    if (color->transfer != UNSPECIFIED) to->transfer = gst_video_transfer_function_from_iso(color->transfer);
    if (color->matrix != UNSPECIFIED) to->matrix = gst_video_color_matrix_from_iso(color->matrix);
    to->range = color->full_range ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235;
    if (!GST_VIDEO_INFO_IS_RGB(info) && color->chroma_location < G_N_ELEMENTS(sites)) info->chroma_site = sites[color->chroma_location];
}

void hwd_read_mastering_display(const guint8 *payload, GstVideoMasteringDisplayInfo *info) {
    static const int order[] = {1, 2, 0};
    for (gsize i = 0; i < G_N_ELEMENTS(order); i++) {
        info->display_primaries[order[i]].x = GST_READ_UINT16_BE(payload + 4 * i);
        info->display_primaries[order[i]].y = GST_READ_UINT16_BE(payload + 4 * i + 2);
    }
    info->white_point.x = GST_READ_UINT16_BE(payload + 12);
    info->white_point.y = GST_READ_UINT16_BE(payload + 14);
    info->max_display_mastering_luminance = GST_READ_UINT32_BE(payload + 16);
    info->min_display_mastering_luminance = GST_READ_UINT32_BE(payload + 20);
}

void hwd_read_light_level(const guint8 *payload, GstVideoContentLightLevel *level) {
    level->max_content_light_level = GST_READ_UINT16_BE(payload);
    level->max_frame_average_light_level = GST_READ_UINT16_BE(payload + 2);
}

void hwd_copy_to_planes(const GstVideoFrame *from, const hwd_plane *planes, guint count) {
    for (guint i = 0; i < count; i++) {
        const guint8 *source = GST_VIDEO_FRAME_PLANE_DATA(from, i);
        for (guint32 row = 0; row < planes[i].rows; row++)
            memcpy(planes[i].data + (gsize)row * planes[i].stride, source + (gssize)row * GST_VIDEO_FRAME_PLANE_STRIDE(from, i),
                   planes[i].row_bytes);
    }
}
