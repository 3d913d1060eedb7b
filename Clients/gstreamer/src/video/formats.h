// SPDX-License-Identifier: MIT
// GStreamer's descriptions of video and the daemon's.
#ifndef HWD_FORMATS_H
#define HWD_FORMATS_H

#include <gst/video/video.h>
#include <hwdaemon.h>

#include "properties/properties.h"

// The formats of frames and pictures, as caps name them.
#define HWD_PLAIN_FORMATS "NV12, I420, P010_10LE, I420_10LE"
#define HWD_ALPHA_FORMATS "A420, BGRA, RGBA"

// The DRM fourcc; 0 where the daemon has none.
guint32 hwd_format(GstVideoFormat format);
GstVideoFormat hwd_video_format(guint32 fourcc);

// What caps say about frames, as members of a compression session's properties, except those that `set` has.
void hwd_add_caps_properties(GString *json, const GstVideoCodecState *state, HwdProperties *set);

// A picture's color, as far as its stream states it.
void hwd_apply_color(GstVideoInfo *info, const hwd_color *color);
// The payloads of SEI messages 137 (24 bytes) and 144 (4 bytes).
void hwd_read_mastering_display(const guint8 *payload, GstVideoMasteringDisplayInfo *info);
void hwd_read_light_level(const guint8 *payload, GstVideoContentLightLevel *level);

// Copies a frame into planes; their number, sizes and format are those of the frame.
void hwd_copy_to_planes(const GstVideoFrame *from, const hwd_plane *planes, guint count);

#endif
