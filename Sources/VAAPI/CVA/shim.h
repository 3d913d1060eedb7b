// SPDX-License-Identifier: GPL-2.0-or-later
// libva for Swift: the headers of the DRM back end, the parts that Swift cannot import, and the start code search.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
#include <va/va_enc_hevc.h>
#include <va/va_str.h>

/// `VA_ATTRIB_NOT_SUPPORTED` as an unsigned value.
static inline uint32_t hwd_va_not_supported(void) { return VA_ATTRIB_NOT_SUPPORTED; }

/// `VA_FOURCC_NV12` and `VA_FOURCC_P010`.
static inline uint32_t hwd_va_fourcc_nv12(void) { return VA_FOURCC_NV12; }
static inline uint32_t hwd_va_fourcc_p010(void) { return VA_FOURCC_P010; }

/// Sets one of a surface's objects, at most four. Swift cannot name the types in the descriptor.
static inline void hwd_va_prime_object(
    VADRMPRIMESurfaceDescriptor *descriptor, uint32_t index, int fd, uint32_t size, uint64_t modifier) {
    if (index >= 4) return;
    descriptor->objects[index].fd = fd;
    descriptor->objects[index].size = size;
    descriptor->objects[index].drm_format_modifier = modifier;
    descriptor->num_objects = index + 1;
}

/// Sets one of a surface's planes, at most four, in a single layer of the surface's format.
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

typedef uint8_t hwd_va_bytes16 __attribute__((vector_size(16)));

/// Whether two consecutive bytes of 65 are zero.
static inline int hwd_va_has_zeros(const uint8_t *bytes) {
    hwd_va_bytes16 found = {0};
    for (int at = 0; at < 64; at += 16) {
        hwd_va_bytes16 first, second;
        memcpy(&first, bytes + at, sizeof first);
        memcpy(&second, bytes + at + 1, sizeof second);
        found |= (hwd_va_bytes16)((first | second) == 0);
    }
    uint64_t halves[2];
    memcpy(halves, &found, sizeof found);
    return (halves[0] | halves[1]) != 0;
}

/// Offset of the next `00 00 01` at or after `from`, or `size` where there is none (H.265 B.2).
///
/// Searches for two zeros first: in coded data they are at one position of 65536, a one is at every 256th.
static inline size_t hwd_start_code(const uint8_t *bytes, size_t from, size_t size) {
    size_t at = from;
    while (size >= 3 && at <= size - 3) {
        if (size - at >= 66 && !hwd_va_has_zeros(bytes + at)) {
            at += 64;
            continue;
        }
        const size_t end = size - at >= 66 ? at + 64 : size - 2;
        for (; at < end; at++)
            if (bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1) return at;
    }
    return size;
}
