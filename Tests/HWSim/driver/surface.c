// SPDX-License-Identifier: GPL-2.0-or-later
// Surfaces: pictures in the driver's own memory.
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "driver/hwsim.h"

enum { ALIGNMENT = 64 };  // of lines and of the number of lines, so that every coding block is there

static int aligned(int value) { return (value + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

size_t picture_layout(const struct personality *personality, struct hwsim_picture *picture, uint32_t fourcc, int width,
    int height, int *memory_width, int *memory_height) {
    *memory_width = aligned(width) + (personality->padded_pitch ? 3 * ALIGNMENT : 0);
    *memory_height = aligned(height) + (personality->padded_pitch ? ALIGNMENT : 0);
    int stride = *memory_width * (fourcc == VA_FOURCC_P010 ? 2 : 1);
    picture->width = width;
    picture->height = height;
    picture->depth = fourcc == VA_FOURCC_P010 ? 10 : 8;
    picture->strides[0] = picture->strides[1] = stride;
    return (size_t)stride * (size_t)*memory_height * 3 / 2;
}

void surface_guard(const struct driver *driver, struct surface *surface, bool is_derived) {
    const struct personality *personality = &driver->personality;
    if (!personality->luma_map && !(personality->deep_luma_map && surface->fourcc == VA_FOURCC_P010)) return;
    size_t luma = (size_t)surface->picture.strides[0] * (size_t)surface->memory_height;
    mprotect(surface->memory + luma, surface->size - luma, is_derived ? PROT_NONE : PROT_READ | PROT_WRITE);
}

void surface_free(struct driver *driver, struct surface *surface) {
    free(surface->memory);
    surface_unmap(surface);
    heap_remove(&driver->heap, surface);
}

// What the attributes ask for: a format, and memory of the client's, if any.
static VAStatus read_attributes(const struct driver *driver, unsigned format, const VASurfaceAttrib *list, unsigned count,
    uint32_t *fourcc, const VADRMPRIMESurfaceDescriptor **descriptor) {
    bool prime = false;
    *descriptor = NULL;
    *fourcc = format == VA_RT_FORMAT_YUV420 ? VA_FOURCC_NV12 : format == VA_RT_FORMAT_YUV420_10 ? VA_FOURCC_P010 : 0;
    if (!*fourcc) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    for (unsigned i = 0; i < count; i++) {
        if (!(list[i].flags & VA_SURFACE_ATTRIB_SETTABLE)) continue;
        switch (list[i].type) {
            case VASurfaceAttribPixelFormat:
                if ((uint32_t)list[i].value.value.i != *fourcc) return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
                break;
            case VASurfaceAttribMemoryType:
                prime = list[i].value.value.i == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
                if (list[i].value.value.i != VA_SURFACE_ATTRIB_MEM_TYPE_VA && (!prime || driver->personality.no_import))
                    return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
                break;
            case VASurfaceAttribExternalBufferDescriptor: *descriptor = list[i].value.value.p; break;
            case VASurfaceAttribUsageHint: break;
            default: return VA_STATUS_ERROR_ATTR_NOT_SUPPORTED;
        }
    }
    return prime == (*descriptor != NULL) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER;
}

static struct surface *surface_add(struct driver *driver, uint32_t fourcc, int width, int height,
    const VADRMPRIMESurfaceDescriptor *descriptor, VAStatus *status) {
    *status = VA_STATUS_ERROR_ALLOCATION_FAILED;
    struct surface *surface = heap_add(&driver->heap, OBJECT_SURFACE, sizeof *surface);
    if (!surface) return NULL;
    surface->fourcc = fourcc;
    surface->size = picture_layout(&driver->personality, &surface->picture, fourcc, width, height,
        &surface->memory_width, &surface->memory_height);
    surface->serial = ++driver->serial;
    if (descriptor) {
        *status = surface_import(surface, descriptor);
        if (!*status) return surface;
        surface_free(driver, surface);
        return NULL;
    }
    // Zeroed, which is green: what is coded but was never written shows.
    surface->memory = pages(surface->size);
    if (!surface->memory) {
        heap_remove(&driver->heap, surface);
        return NULL;
    }
    surface->picture.planes[0] = surface->memory;
    surface->picture.planes[1] = surface->memory + (size_t)surface->picture.strides[0] * (size_t)surface->memory_height;
    *status = VA_STATUS_SUCCESS;
    return surface;
}

static VAStatus create_surfaces2(VADriverContextP context, unsigned format, unsigned width, unsigned height,
    VASurfaceID *ids, unsigned count, VASurfaceAttrib *list, unsigned attributes) {
    struct driver *driver = DRIVER(context);
    uint32_t fourcc;
    const VADRMPRIMESurfaceDescriptor *descriptor;
    VAStatus status = read_attributes(driver, format, list, attributes, &fourcc, &descriptor);
    if (status) return status;
    if (descriptor && count != 1) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (!width || !height || width > 16384 || height > 16384) return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
    pthread_mutex_lock(&driver->lock);
    for (unsigned i = 0; i < count; i++) {
        struct surface *surface = surface_add(driver, fourcc, (int)width, (int)height, descriptor, &status);
        if (!surface) {
            while (i--) surface_free(driver, heap_find(&driver->heap, OBJECT_SURFACE, ids[i]));
            break;
        }
        ids[i] = surface->object.id;
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus create_surfaces(
    VADriverContextP context, int width, int height, int format, int count, VASurfaceID *ids) {
    if (width <= 0 || height <= 0 || count < 0) return VA_STATUS_ERROR_INVALID_PARAMETER;
    return create_surfaces2(
        context, (unsigned)format, (unsigned)width, (unsigned)height, ids, (unsigned)count, NULL, 0);
}

static VAStatus destroy_surfaces(VADriverContextP context, VASurfaceID *ids, int count) {
    struct driver *driver = DRIVER(context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    for (int i = 0; i < count; i++) {
        struct surface *surface = heap_find(&driver->heap, OBJECT_SURFACE, ids[i]);
        if (!surface) status = VA_STATUS_ERROR_INVALID_SURFACE;
        else if (surface->busy || surface->derived) status = VA_STATUS_ERROR_SURFACE_BUSY;
        else surface_free(driver, surface);
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

// Waits while `hung`, until the time is up or, with VA_TIMEOUT_INFINITE, for ever.
static VAStatus wait_hung(struct driver *driver, const bool *hung, uint64_t timeout) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t nanoseconds = (uint64_t)end.tv_nsec + timeout % 1000000000;
    end.tv_sec += (time_t)(timeout / 1000000000 + nanoseconds / 1000000000);
    end.tv_nsec = (long)(nanoseconds % 1000000000);
    while (*hung) {
        if (timeout == VA_TIMEOUT_INFINITE) pthread_cond_wait(&driver->never, &driver->lock);
        else if (pthread_cond_timedwait(&driver->never, &driver->lock, &end) == ETIMEDOUT) return VA_STATUS_ERROR_TIMEDOUT;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus wait_for_surface(VADriverContextP context, VASurfaceID id, uint64_t timeout) {
    struct driver *driver = DRIVER(context);
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = heap_find(&driver->heap, OBJECT_SURFACE, id);
    VAStatus status = surface ? wait_hung(driver, &surface->hung, timeout) : VA_STATUS_ERROR_INVALID_SURFACE;
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus sync_surface(VADriverContextP context, VASurfaceID id) {
    return wait_for_surface(context, id, VA_TIMEOUT_INFINITE);
}

static VAStatus sync_surface2(VADriverContextP context, VASurfaceID id, uint64_t timeout) {
    const struct personality *personality = &DRIVER(context)->personality;
    if (personality->no_timeouts || personality->only_endless_waits) return VA_STATUS_ERROR_UNIMPLEMENTED;
    return wait_for_surface(context, id, timeout);
}

static VAStatus sync_buffer(VADriverContextP context, VABufferID id, uint64_t timeout) {
    struct driver *driver = DRIVER(context);
    if (driver->personality.no_timeouts) return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (driver->personality.only_endless_waits && timeout != VA_TIMEOUT_INFINITE) return VA_STATUS_ERROR_UNIMPLEMENTED;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, id);
    VAStatus status = buffer ? wait_hung(driver, &buffer->hung, timeout) : VA_STATUS_ERROR_INVALID_BUFFER;
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus query_status(VADriverContextP context, VASurfaceID id, VASurfaceStatus *status) {
    struct driver *driver = DRIVER(context);
    pthread_mutex_lock(&driver->lock);
    const struct surface *surface = heap_find(&driver->heap, OBJECT_SURFACE, id);
    if (surface) *status = surface->busy || surface->hung ? VASurfaceRendering : VASurfaceReady;
    pthread_mutex_unlock(&driver->lock);
    return surface ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}

void surface_install(struct VADriverVTable *table) {
    table->vaCreateSurfaces = create_surfaces;
    table->vaCreateSurfaces2 = create_surfaces2;
    table->vaDestroySurfaces = destroy_surfaces;
    table->vaSyncSurface = sync_surface;
    table->vaSyncSurface2 = sync_surface2;
    table->vaSyncBuffer = sync_buffer;
    table->vaQuerySurfaceStatus = query_status;
}
