// SPDX-License-Identifier: GPL-2.0-or-later
// Surfaces in a client's memory: DRM PRIME descriptors, linear. Any file that can be mapped will do for a dma-buf.
#include <sys/mman.h>
#include <unistd.h>

#include "driver/hwsim.h"

// DRM_FORMAT_MOD_LINEAR, and DRM_FORMAT_MOD_INVALID ("as it is").
static bool linear(uint64_t modifier) { return modifier == 0 || modifier == 0x00ffffffffffffff; }

// Plane `index`: the second of one layer, or the first of the second layer.
struct place {
    uint32_t object, offset, pitch;
};

static bool find_plane(const VADRMPRIMESurfaceDescriptor *descriptor, uint32_t index, struct place *place) {
    bool one = descriptor->num_layers == 1 && descriptor->layers[0].num_planes == 2;
    bool two = descriptor->num_layers == 2 && descriptor->layers[index].num_planes == 1;
    if (!one && !two) return false;
    uint32_t layer = one ? 0 : index, plane = one ? index : 0;
    *place = (struct place){
        .object = descriptor->layers[layer].object_index[plane],
        .offset = descriptor->layers[layer].offset[plane],
        .pitch = descriptor->layers[layer].pitch[plane],
    };
    return place->object < descriptor->num_objects;
}

void surface_unmap(struct surface *surface) {
    for (int i = 0; i < 4; i++)
        if (surface->mapped[i]) munmap(surface->mapped[i], surface->mapped_size[i]);
}

static bool map_objects(struct surface *surface, const VADRMPRIMESurfaceDescriptor *descriptor) {
    for (uint32_t i = 0; i < descriptor->num_objects; i++) {
        int file = descriptor->objects[i].fd;
        // The client's size is not trusted: access past the end of a file raises SIGBUS.
        off_t end = lseek(file, 0, SEEK_END);
        if (end <= 0 || (uint64_t)end < descriptor->objects[i].size || !linear(descriptor->objects[i].drm_format_modifier))
            return false;
        void *memory = mmap(NULL, (size_t)end, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) return false;
        surface->mapped[i] = memory;
        surface->mapped_size[i] = (size_t)end;
    }
    return true;
}

VAStatus surface_import(struct surface *surface, const VADRMPRIMESurfaceDescriptor *descriptor) {
    struct hwsim_picture *picture = &surface->picture;
    uint32_t sample = picture->depth == 10 ? 2 : 1;
    if (!descriptor || descriptor->fourcc != surface->fourcc || !descriptor->num_objects || descriptor->num_objects > 4 ||
        descriptor->width != (uint32_t)picture->width || descriptor->height != (uint32_t)picture->height)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (!map_objects(surface, descriptor)) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    surface->memory_width = surface->memory_height = 1 << 14;
    struct place places[2];
    for (uint32_t i = 0; i < 2; i++) {
        if (!find_plane(descriptor, i, &places[i]) || places[i].pitch % sample || !places[i].pitch ||
            places[i].pitch > 1 << 18 || places[i].offset % sample)
            return VA_STATUS_ERROR_INVALID_PARAMETER;
        // Up to the other plane when it follows in the same object, else up to the object's end.
        uint64_t end = surface->mapped_size[places[i].object];
        if (i == 0 && find_plane(descriptor, 1, &places[1]) && places[1].object == places[0].object &&
            places[1].offset > places[0].offset && places[1].offset < end)
            end = places[1].offset;
        uint64_t lines = end > places[i].offset ? (end - places[i].offset) / places[i].pitch : 0;
        if (i) lines *= 2;
        if (lines < (uint64_t)surface->memory_height) surface->memory_height = (int)lines;
        int width = (int)(places[i].pitch / sample);
        if (width < surface->memory_width) surface->memory_width = width;
        picture->planes[i] = surface->mapped[places[i].object] + places[i].offset;
        picture->strides[i] = (int)places[i].pitch;
    }
    if (surface->memory_width < picture->width || surface->memory_height < picture->height)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    return VA_STATUS_SUCCESS;
}
