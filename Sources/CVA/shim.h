// SPDX-License-Identifier: GPL-2.0-or-later
// libva for Swift: the headers of the DRM back end, what Swift cannot import from them, and a search.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
#include <va/va_enc_hevc.h>
#include <va/va_str.h>

/// `VA_ATTRIB_NOT_SUPPORTED`, whose value Swift would import as a signed one where it fits.
static inline uint32_t hwd_va_not_supported(void) { return VA_ATTRIB_NOT_SUPPORTED; }

/// `VA_FOURCC_NV12` and `VA_FOURCC_P010`, as libva's surface attributes take them.
static inline uint32_t hwd_va_fourcc_nv12(void) { return VA_FOURCC_NV12; }
static inline uint32_t hwd_va_fourcc_p010(void) { return VA_FOURCC_P010; }

/// Describes one of a surface's objects, at most four. Swift has no names for the types in the descriptor.
static inline void hwd_va_prime_object(
    VADRMPRIMESurfaceDescriptor *descriptor, uint32_t index, int fd, uint32_t size, uint64_t modifier) {
    if (index >= 4) return;
    descriptor->objects[index].fd = fd;
    descriptor->objects[index].size = size;
    descriptor->objects[index].drm_format_modifier = modifier;
    descriptor->num_objects = index + 1;
}

/// Describes one of a surface's planes, at most four; together they are one layer of the surface's format.
static inline void hwd_va_prime_plane(
    VADRMPRIMESurfaceDescriptor *descriptor, uint32_t index, uint32_t object, uint32_t offset, uint32_t pitch) {
    if (index >= 4) return;
    descriptor->num_layers = 1;
    descriptor->layers[0].drm_format = descriptor->fourcc;
    descriptor->layers[0].num_planes = index + 1;
    descriptor->layers[0].object_index[index] = object;
    descriptor->layers[0].offset[index] = offset;
    descriptor->layers[0].pitch[index] = pitch;
}

/// Offset of the next `00 00 01` at or after `from`, or `size` where there is none (H.265 B.2).
static inline size_t hwd_start_code(const uint8_t *bytes, size_t from, size_t size) {
    size_t at = from + 2;
    while (at < size) {
        const uint8_t *one = (const uint8_t *)memchr(bytes + at, 1, size - at);
        if (!one) return size;
        at = (size_t)(one - bytes);
        if (bytes[at - 1] == 0 && bytes[at - 2] == 0) return at - 2;
        at++;
    }
    return size;
}
