// SPDX-License-Identifier: GPL-2.0-or-later
// Images: how clients reach the samples of surfaces, directly or by copies.
#include <string.h>

#include "driver/hwsim.h"

const VAImageFormat image_formats[2] = {
    {.fourcc = VA_FOURCC_NV12, .byte_order = VA_LSB_FIRST, .bits_per_pixel = 12},
    {.fourcc = VA_FOURCC_P010, .byte_order = VA_LSB_FIRST, .bits_per_pixel = 24},
};

static VAStatus query_formats(VADriverContextP context, VAImageFormat *list, int *count) {
    (void)context;
    memcpy(list, image_formats, sizeof image_formats);
    *count = 2;
    return VA_STATUS_SUCCESS;
}

// Called with the lock held. Without a surface the image has memory of its own.
static VAStatus image_add(struct driver *driver, uint32_t fourcc, int width, int height, struct surface *surface,
    VAImage *result) {
    struct hwsim_picture picture;
    int memory_width, memory_height;
    size_t size = picture_layout(
        &driver->personality, &picture, fourcc, width, height, &memory_width, &memory_height);
    struct image *image = heap_add(&driver->heap, OBJECT_IMAGE, sizeof *image);
    if (!image) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    struct buffer *buffer;
    if (surface) {
        buffer = heap_add(&driver->heap, OBJECT_BUFFER, sizeof *buffer);
        if (buffer) {
            buffer->type = VAImageBufferType;
            buffer->size = (unsigned)size;
            buffer->count = 1;
            buffer->data = surface->memory;
            buffer->surface = surface;
            surface->derived++;
            surface_guard(driver, surface, true);
        }
    } else {
        buffer = buffer_add(driver, VAImageBufferType, (unsigned)size, 1, NULL);
    }
    if (!buffer) {
        heap_remove(&driver->heap, image);
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    image->image = (VAImage){
        .image_id = image->object.id,
        .format = image_formats[fourcc == VA_FOURCC_P010],
        .buf = buffer->object.id,
        .width = (uint16_t)width,
        .height = (uint16_t)height,
        .data_size = (uint32_t)size,
        .num_planes = 2,
        .pitches = {(uint32_t)picture.strides[0], (uint32_t)picture.strides[1]},
        .offsets = {0, (uint32_t)(picture.strides[0] * memory_height)},
    };
    *result = image->image;
    return VA_STATUS_SUCCESS;
}

static VAStatus create_image(VADriverContextP context, VAImageFormat *format, int width, int height, VAImage *result) {
    struct driver *driver = DRIVER(context);
    if (format->fourcc != VA_FOURCC_NV12 && format->fourcc != VA_FOURCC_P010)
        return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    if (width <= 0 || height <= 0 || width > 16384 || height > 16384) return VA_STATUS_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&driver->lock);
    VAStatus status = image_add(driver, format->fourcc, width, height, NULL, result);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus derive_image(VADriverContextP context, VASurfaceID id, VAImage *result) {
    struct driver *driver = DRIVER(context);
    if (driver->personality.no_derive || driver->personality.tiled) return VA_STATUS_ERROR_OPERATION_FAILED;
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = heap_find(&driver->heap, OBJECT_SURFACE, id);
    VAStatus status = VA_STATUS_ERROR_INVALID_SURFACE;
    if (surface && surface->busy) status = VA_STATUS_ERROR_SURFACE_BUSY;
    else if (surface && !surface->memory) status = VA_STATUS_ERROR_OPERATION_FAILED;
    else if (surface)
        status = image_add(
            driver, surface->fourcc, surface->picture.width, surface->picture.height, surface, result);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus destroy_image(VADriverContextP context, VAImageID id) {
    struct driver *driver = DRIVER(context);
    pthread_mutex_lock(&driver->lock);
    struct image *image = heap_find(&driver->heap, OBJECT_IMAGE, id);
    if (image) {
        struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, image->image.buf);
        if (buffer) buffer_free(driver, buffer);
        heap_remove(&driver->heap, image);
    }
    pthread_mutex_unlock(&driver->lock);
    return image ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_IMAGE;
}

struct region {
    int x, y, to_x, to_y, width, height;
};

static bool inside(int x, int y, int width, int height, int all_width, int all_height) {
    return x >= 0 && y >= 0 && width >= 0 && height >= 0 && x <= all_width - width && y <= all_height - height;
}

static VAStatus transfer(
    VADriverContextP context, VASurfaceID surface_id, VAImageID image_id, bool get, struct region region) {
    struct driver *driver = DRIVER(context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = heap_find(&driver->heap, OBJECT_SURFACE, surface_id);
    while (get && surface && surface->hung) pthread_cond_wait(&driver->never, &driver->lock);
    const struct image *image = heap_find(&driver->heap, OBJECT_IMAGE, image_id);
    struct buffer *buffer = image ? heap_find(&driver->heap, OBJECT_BUFFER, image->image.buf) : NULL;
    if (!surface) status = VA_STATUS_ERROR_INVALID_SURFACE;
    else if (!image || !buffer) status = VA_STATUS_ERROR_INVALID_IMAGE;
    else if (surface->busy) status = VA_STATUS_ERROR_SURFACE_BUSY;
    else if (image->image.format.fourcc != surface->fourcc) status = VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    else if (!inside(get ? region.x : region.to_x, get ? region.y : region.to_y, region.width, region.height,
                 surface->picture.width, surface->picture.height) ||
             !inside(get ? region.to_x : region.x, get ? region.to_y : region.y, region.width, region.height,
                 image->image.width, image->image.height) || region.x & 1 || region.to_x & 1)
        status = VA_STATUS_ERROR_INVALID_PARAMETER;
    if (status) {
        pthread_mutex_unlock(&driver->lock);
        return status;
    }
    size_t sample = surface->picture.depth == 10 ? 2 : 1;
    for (int plane = 0; plane < 2; plane++) {
        int in_y = plane ? region.y / 2 : region.y, out_y = plane ? region.to_y / 2 : region.to_y;
        // Chroma's lines have as many samples as luma's; of an odd width they have one more.
        int rows = plane ? (region.height + 1) / 2 : region.height, width = plane ? (region.width + 1) / 2 * 2 : region.width;
        uint8_t *inner = surface->picture.planes[plane], *outer = buffer->data + image->image.offsets[plane];
        size_t inner_stride = (size_t)surface->picture.strides[plane], outer_stride = image->image.pitches[plane];
        const uint8_t *in = (get ? inner : outer) + (size_t)in_y * (get ? inner_stride : outer_stride) + (size_t)region.x * sample;
        uint8_t *out = (get ? outer : inner) + (size_t)out_y * (get ? outer_stride : inner_stride) + (size_t)region.to_x * sample;
        for (int row = 0; row < rows; row++) {
            memmove(out, in, (size_t)width * sample);
            in += get ? inner_stride : outer_stride;
            out += get ? outer_stride : inner_stride;
        }
    }
    if (!get) surface->serial = ++driver->serial;
    pthread_mutex_unlock(&driver->lock);
    return VA_STATUS_SUCCESS;
}

static VAStatus get_image(VADriverContextP context, VASurfaceID surface, int x, int y, unsigned width, unsigned height,
    VAImageID image) {
    if (width > 16384 || height > 16384) return VA_STATUS_ERROR_INVALID_PARAMETER;
    return transfer(context, surface, image, true,
        (struct region){.x = x, .y = y, .width = (int)width, .height = (int)height});
}

static VAStatus put_image(VADriverContextP context, VASurfaceID surface, VAImageID image, int x, int y, unsigned width,
    unsigned height, int to_x, int to_y, unsigned to_width, unsigned to_height) {
    if (width > 16384 || height > 16384 || width != to_width || height != to_height)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    return transfer(context, surface, image, false,
        (struct region){.x = x, .y = y, .to_x = to_x, .to_y = to_y, .width = (int)width, .height = (int)height});
}

void image_install(struct VADriverVTable *table) {
    table->vaQueryImageFormats = query_formats;
    table->vaCreateImage = create_image;
    table->vaDeriveImage = derive_image;
    table->vaDestroyImage = destroy_image;
    table->vaGetImage = get_image;
    table->vaPutImage = put_image;
}
