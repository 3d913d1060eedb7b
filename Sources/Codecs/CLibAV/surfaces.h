// SPDX-License-Identifier: GPL-2.0-or-later
//
// Frames in dma-bufs: Swift cannot name the arrays in libavutil's descriptor.
#ifndef CLIBAV_SURFACES_H
#define CLIBAV_SURFACES_H

#include <libavutil/frame.h>
#include <libavutil/hwcontext_drm.h>

/// A plane in a separate layer.
struct clibav_drm_plane {
    int object;
    uint64_t modifier;
    int64_t offset;
    int64_t pitch;
};

/// The number of dma-bufs of an AV_PIX_FMT_DRM_PRIME frame, at most four.
static inline int clibav_drm_object_count(const AVFrame *frame) {
    const AVDRMFrameDescriptor *drm = (const AVDRMFrameDescriptor *)frame->data[0];
    if (!drm || drm->nb_objects < 0) return 0;
    return drm->nb_objects > AV_DRM_MAX_PLANES ? AV_DRM_MAX_PLANES : drm->nb_objects;
}

/// The descriptor of a dma-buf; -1 where there is none.
static inline int clibav_drm_object(const AVFrame *frame, int index) {
    const AVDRMFrameDescriptor *drm = (const AVDRMFrameDescriptor *)frame->data[0];
    return index >= 0 && index < clibav_drm_object_count(frame) ? drm->objects[index].fd : -1;
}

/// Fetches a layer's only plane and returns 0; returns -1 where there is none or the layer has several.
static inline int clibav_drm_plane_at(const AVFrame *frame, int layer, struct clibav_drm_plane *plane) {
    const AVDRMFrameDescriptor *drm = (const AVDRMFrameDescriptor *)frame->data[0];
    if (!drm || layer < 0 || layer >= drm->nb_layers || layer >= AV_DRM_MAX_PLANES) return -1;
    if (drm->layers[layer].nb_planes != 1) return -1;
    const AVDRMPlaneDescriptor *only = &drm->layers[layer].planes[0];
    if (only->object_index < 0 || only->object_index >= clibav_drm_object_count(frame)) return -1;
    plane->object = only->object_index;
    plane->modifier = drm->objects[only->object_index].format_modifier;
    plane->offset = only->offset;
    plane->pitch = only->pitch;
    return 0;
}

#endif
