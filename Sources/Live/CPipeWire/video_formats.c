// SPDX-License-Identifier: GPL-2.0-or-later
#include "video_formats.h"

#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>

static const struct {
    uint32_t id;
    enum hwd_pw_video_kind kind;
} kinds[] = {
    {SPA_VIDEO_FORMAT_NV12, HWD_PW_NV12},      {SPA_VIDEO_FORMAT_I420, HWD_PW_I420},
    {SPA_VIDEO_FORMAT_P010_10LE, HWD_PW_P010}, {SPA_VIDEO_FORMAT_YUY2, HWD_PW_YUY2},
    {SPA_VIDEO_FORMAT_UYVY, HWD_PW_UYVY},      {SPA_VIDEO_FORMAT_BGRx, HWD_PW_BGRX},
    {SPA_VIDEO_FORMAT_BGRA, HWD_PW_BGRX},      {SPA_VIDEO_FORMAT_RGBx, HWD_PW_RGBX},
    {SPA_VIDEO_FORMAT_RGBA, HWD_PW_RGBX},
};
enum { KINDS = sizeof kinds / sizeof *kinds };
_Static_assert(3 * KINDS == MAX_OFFERS, "offers in three steps");

// What a node is asked for: `size` and `rate` say whether it must have that.
static const struct spa_pod *
offer(struct spa_pod_builder *builder, uint32_t format, const hwd_pw_video_request *request, bool size, bool rate) {
    const struct spa_rectangle picture = request->width ? SPA_RECTANGLE(request->width, request->height)
                                                        : SPA_RECTANGLE(1280, 720);
    const struct spa_fraction frames = request->rate ? SPA_FRACTION(request->rate, request->per) : SPA_FRACTION(30, 1);
    struct spa_pod_frame object;
    spa_pod_builder_push_object(builder, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(
        builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(format), 0);
    if (size)
        spa_pod_builder_add(builder, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&picture), 0);
    else
        spa_pod_builder_add(
            builder, SPA_FORMAT_VIDEO_size,
            SPA_POD_CHOICE_RANGE_Rectangle(&picture, &SPA_RECTANGLE(1, 1), &SPA_RECTANGLE(MAX_SIDE, MAX_SIDE)), 0);
    if (rate)
        spa_pod_builder_add(builder, SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&frames), 0);
    else
        spa_pod_builder_add(
            builder, SPA_FORMAT_VIDEO_framerate,
            SPA_POD_CHOICE_RANGE_Fraction(&frames, &SPA_FRACTION(0, 1), &SPA_FRACTION(1000, 1)), 0);
    return spa_pod_builder_pop(builder, &object);
}

uint32_t hwd_pw_video_offers(
    struct spa_pod_builder *builder, const hwd_pw_video_request *request, const struct spa_pod *params[MAX_OFFERS]) {
    uint32_t count = 0;
    for (int step = 0; step < 3; step++) {
        const bool size = step < 2 && request->width, rate = step < 1 && request->rate;
        // The same as the step before.
        if ((step == 0 && !size && !rate) || (step == 1 && (!size || !request->rate))) continue;
        for (int i = 0; i < KINDS; i++) params[count++] = offer(builder, kinds[i].id, request, size, rate);
    }
    return count;
}

bool hwd_pw_video_read_format(const struct spa_pod *pod, hwd_pw_video_format *format) {
    struct spa_video_info_raw info = {0};
    uint32_t type, subtype;
    if (spa_format_parse(pod, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video || subtype != SPA_MEDIA_SUBTYPE_raw
        || spa_format_video_raw_parse(pod, &info) < 0)
        return false;
    size_t at = 0;
    while (at < KINDS && kinds[at].id != info.format) at++;
    if (at == KINDS || info.size.width == 0 || info.size.width > MAX_SIDE || info.size.height == 0
        || info.size.height > MAX_SIDE)
        return false;
    const bool has_rate = info.framerate.num > 0 && info.framerate.denom > 0;
    *format = (hwd_pw_video_format){
        kinds[at].kind, info.size.width, info.size.height, has_rate ? info.framerate.num : 0,
        has_rate ? info.framerate.denom : 1, info.color_range, info.color_matrix, info.transfer_function,
        info.color_primaries};
    return true;
}
