// SPDX-License-Identifier: GPL-2.0-or-later
// vaExportSurfaceHandle: a memfd in place of a dma-buf, with a copy of the samples as they are now.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/hwsim.h"

// Intel's tiling Y (Programmer's Reference Manual, "Tiling"): tiles of 128 bytes by 32 rows, in which columns of 16 bytes
// follow each other.
enum { TILE_WIDTH = 128, TILE_ROWS = 32, COLUMN = 16 };
static const uint64_t linear_modifier = 0, y_tiled_modifier = 0x0100000000000002;  // drm_fourcc.h

static uint32_t aligned(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

static size_t place(bool tiled, uint32_t pitch, uint32_t x, uint32_t y) {
    if (!tiled) return (size_t)y * pitch + x;
    size_t tile = (size_t)(y / TILE_ROWS) * (pitch / TILE_WIDTH) + x / TILE_WIDTH;
    return tile * TILE_WIDTH * TILE_ROWS + (size_t)(x % TILE_WIDTH / COLUMN) * COLUMN * TILE_ROWS +
           (size_t)(y % TILE_ROWS) * COLUMN + x % COLUMN;
}

// Fills the descriptor and the file; false where that fails.
static bool write_planes(const struct surface *surface, bool tiled, int file, VADRMPRIMESurfaceDescriptor *descriptor) {
    const struct hwsim_picture *picture = &surface->picture;
    bool deep = picture->depth > 8;
    uint32_t width = (uint32_t)(picture->width + 1) / 2 * 2 * (deep ? 2 : 1), pitch = aligned(width, TILE_WIDTH), offset = 0;
    uint32_t rows[2] = {(uint32_t)picture->height, (uint32_t)(picture->height + 1) / 2};
    uint32_t size = pitch * (aligned(rows[0], TILE_ROWS) + aligned(rows[1], TILE_ROWS));
    if (ftruncate(file, size)) return false;
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return false;
    *descriptor = (VADRMPRIMESurfaceDescriptor){
        .fourcc = surface->fourcc,
        .width = (uint32_t)picture->width,
        .height = (uint32_t)picture->height,
        .num_objects = 1,
        .objects = {{.fd = file, .size = size, .drm_format_modifier = tiled ? y_tiled_modifier : linear_modifier}},
        .num_layers = 2,
    };
    // DRM_FORMAT_R8, GR88, R16, GR1616
    static const char *const formats[2][2] = {{"R8  ", "GR88"}, {"R16 ", "GR32"}};
    for (int plane = 0; plane < 2; plane++) {
        memcpy(&descriptor->layers[plane].drm_format, formats[deep][plane], 4);
        descriptor->layers[plane].num_planes = 1;
        descriptor->layers[plane].offset[0] = offset;
        descriptor->layers[plane].pitch[0] = pitch;
        for (uint32_t y = 0; y < rows[plane]; y++)
            for (uint32_t x = 0; x < width; x++)
                memory[offset + place(tiled, pitch, x, y)] =
                    picture->planes[plane][(ptrdiff_t)y * picture->strides[plane] + x];
        offset += pitch * aligned(rows[plane], TILE_ROWS);
    }
    munmap(memory, size);
    return true;
}

static VAStatus export_surface(VADriverContextP context, VASurfaceID id, uint32_t type, uint32_t flags, void *descriptor) {
    struct driver *driver = DRIVER(context);
    if (type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    if (!(flags & VA_EXPORT_SURFACE_SEPARATE_LAYERS) || flags & VA_EXPORT_SURFACE_WRITE_ONLY)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    const struct surface *surface = heap_find(&driver->heap, OBJECT_SURFACE, id);
    if (!surface) status = VA_STATUS_ERROR_INVALID_SURFACE;
    else if (surface->busy) status = VA_STATUS_ERROR_SURFACE_BUSY;
    int file = status ? -1 : memfd_create("hwsim-surface", MFD_CLOEXEC);
    if (!status && (file < 0 || !write_planes(surface, driver->personality.tiled, file, descriptor))) {
        if (file >= 0) close(file);
        status = VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

void export_install(struct VADriverVTable *table) { table->vaExportSurfaceHandle = export_surface; }
