// SPDX-License-Identifier: GPL-2.0-or-later
// Buffers: parameters on their way in, and coded data on its way out.
#include <stdlib.h>
#include <string.h>

#include "driver/hwsim.h"

enum { LARGEST_BUFFER = 512 << 20 };

void *pages(size_t size) {
    void *memory;
    // Whole pages, so that parts can be protected.
    size = (size + 4095) / 4096 * 4096;
    if (posix_memalign(&memory, 4096, size)) return NULL;
    return memset(memory, 0, size);
}

struct buffer *buffer_add(
    struct driver *driver, VABufferType type, unsigned size, unsigned count, const void *data) {
    size_t bytes = (size_t)size * count;
    if (!bytes || bytes > LARGEST_BUFFER) return NULL;
    struct buffer *buffer = heap_add(&driver->heap, OBJECT_BUFFER, sizeof *buffer);
    if (!buffer) return NULL;
    buffer->type = type;
    buffer->size = size;
    buffer->count = count;
    buffer->data = type == VAImageBufferType ? pages(bytes) : calloc(1, bytes);
    if (!buffer->data) {
        heap_remove(&driver->heap, buffer);
        return NULL;
    }
    if (data) memcpy(buffer->data, data, bytes);
    return buffer;
}

void buffer_free(struct driver *driver, struct buffer *buffer) {
    if (buffer->surface) {
        buffer->surface->derived--;
        surface_guard(driver, buffer->surface, false);
    } else {
        free(buffer->data);
    }
    heap_remove(&driver->heap, buffer);
}

void buffer_set_coded(struct buffer *buffer, const struct bytes *bytes, uint32_t status, bool in_two) {
    size_t size = bytes ? bytes->count : 0, first = in_two && size > 1 ? size / 2 : size;
    if (size) memcpy(buffer->data, bytes->data, size);
    memset(buffer->segments, 0, sizeof buffer->segments);
    if (buffer->stale) memset(&status, 0xa5, sizeof status);
    buffer->segments[0].size = (uint32_t)first;
    buffer->segments[0].status = status;
    buffer->segments[0].buf = buffer->data;
    if (first == size) return;
    buffer->segments[0].next = &buffer->segments[1];
    buffer->segments[1].size = (uint32_t)(size - first);
    buffer->segments[1].status = status;
    buffer->segments[1].buf = buffer->data + first;
}

static VAStatus create_buffer(VADriverContextP context, VAContextID id, VABufferType type, unsigned size,
    unsigned count, void *data, VABufferID *result) {
    struct driver *driver = DRIVER(context);
    if (!size || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (type < 0 || type >= VABufferTypeMax) return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    if (!heap_find(&driver->heap, OBJECT_CONTEXT, id)) {
        status = VA_STATUS_ERROR_INVALID_CONTEXT;
    } else {
        struct buffer *buffer = buffer_add(driver, type, size, count, type == VAEncCodedBufferType ? NULL : data);
        if (buffer) buffer->stale = driver->personality.stale_status;
        if (buffer && type == VAEncCodedBufferType) buffer_set_coded(buffer, NULL, 0, false);
        if (buffer) *result = buffer->object.id;
        else status = VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus set_elements(VADriverContextP context, VABufferID id, unsigned count) {
    struct driver *driver = DRIVER(context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, id);
    if (!buffer) status = VA_STATUS_ERROR_INVALID_BUFFER;
    else if (!count || count > buffer->count) status = VA_STATUS_ERROR_INVALID_PARAMETER;
    else buffer->count = count;
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus map_buffer(VADriverContextP context, VABufferID id, void **address) {
    struct driver *driver = DRIVER(context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, id);
    // A hardware driver waits here for the picture, if nobody has before.
    while (buffer && (buffer->hung || buffer->hung_map)) pthread_cond_wait(&driver->never, &driver->lock);
    if (!buffer) status = VA_STATUS_ERROR_INVALID_BUFFER;
    else if (buffer->busy) status = VA_STATUS_ERROR_SURFACE_BUSY;
    else *address = buffer->type == VAEncCodedBufferType ? (void *)buffer->segments : buffer->data;
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus unmap_buffer(VADriverContextP context, VABufferID id) {
    struct driver *driver = DRIVER(context);
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, id);
    // The client may have written to the surface.
    if (buffer && buffer->surface) buffer->surface->serial = ++driver->serial;
    pthread_mutex_unlock(&driver->lock);
    return buffer ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}

static VAStatus destroy_buffer(VADriverContextP context, VABufferID id) {
    struct driver *driver = DRIVER(context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, id);
    if (!buffer) status = VA_STATUS_ERROR_INVALID_BUFFER;
    else if (buffer->busy) status = VA_STATUS_ERROR_SURFACE_BUSY;
    else buffer_free(driver, buffer);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus buffer_info(
    VADriverContextP context, VABufferID id, VABufferType *type, unsigned *size, unsigned *count) {
    struct driver *driver = DRIVER(context);
    pthread_mutex_lock(&driver->lock);
    const struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, id);
    if (buffer) *type = buffer->type, *size = buffer->size, *count = buffer->count;
    pthread_mutex_unlock(&driver->lock);
    return buffer ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}

void buffer_install(struct VADriverVTable *table) {
    table->vaCreateBuffer = create_buffer;
    table->vaBufferSetNumElements = set_elements;
    table->vaMapBuffer = map_buffer;
    table->vaUnmapBuffer = unmap_buffer;
    table->vaDestroyBuffer = destroy_buffer;
    table->vaBufferInfo = buffer_info;
}
