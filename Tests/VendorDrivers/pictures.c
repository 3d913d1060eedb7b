// SPDX-License-Identifier: GPL-2.0-or-later
// A preload for programs that encode with libva on a GPU that executes nothing. The driver receives every call but those
// that wait for the GPU; a coded buffer holds the packed headers of its picture and a few bytes in place of coded blocks.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <va/va.h>

#include "journal.h"

enum { MAX_BUFFERS = 4096, MAX_HEADERS = 4096 };

/// A buffer that the program created: a header's bytes, or for coded output the picture in it.
struct buffer {
    VABufferID id;
    VABufferType type;
    bool is_used;
    uint32_t bits;
    uint8_t *bytes;
    size_t size;
    /// Where the program has it mapped.
    void *mapped;
    VACodedBufferSegment segment;
};
static struct buffer buffers[MAX_BUFFERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/// The picture between vaBeginPicture and vaEndPicture.
static struct {
    uint8_t headers[MAX_HEADERS];
    size_t size;
    VABufferID coded;
    char order[512];
    size_t length;
    VAStatus refusal;
} picture;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static struct buffer *find(VABufferID id) {
    for (int i = 0; i < MAX_BUFFERS; i++)
        if (buffers[i].is_used && buffers[i].id == id) return &buffers[i];
    return NULL;
}

static void read_buffer(struct buffer *buffer, const void *data, size_t size) {
    if (!data) return;
    if (buffer->type == VAEncPackedHeaderDataBufferType && size <= MAX_HEADERS) {
        free(buffer->bytes);
        buffer->size = 0;
        buffer->bytes = malloc(size);
        if (buffer->bytes) memcpy(buffer->bytes, data, buffer->size = size);
    }
    if (buffer->type == VAEncPackedHeaderParameterBufferType) {
        const VAEncPackedHeaderParameterBuffer *header = data;
        buffer->bits = header->bit_length;
    }
    if (buffer->type == VAEncPictureParameterBufferType) {
        // HEVC's and H.264's structures differ; HEVC's is meant.
        buffer->size = ((const VAEncPictureParameterBufferHEVC *)data)->coded_buf;
    }
}

VAStatus vaCreateBuffer(
    VADisplay display, VAContextID context, VABufferType type, unsigned int size, unsigned int count, void *data,
    VABufferID *id) {
    VAStatus status = REAL(vaCreateBuffer)(display, context, type, size, count, data, id);
    if (status != VA_STATUS_SUCCESS) return status;
    pthread_mutex_lock(&lock);
    struct buffer *entry = find(*id);
    for (int i = 0; i < MAX_BUFFERS && !entry; i++)
        if (!buffers[i].is_used) entry = &buffers[i];
    if (entry) {
        free(entry->bytes);
        *entry = (struct buffer){.id = *id, .type = type, .is_used = true};
        read_buffer(entry, data, (size_t)size * count);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

VAStatus vaDestroyBuffer(VADisplay display, VABufferID id) {
    pthread_mutex_lock(&lock);
    struct buffer *entry = find(id);
    if (entry) {
        free(entry->bytes);
        *entry = (struct buffer){0};
    }
    pthread_mutex_unlock(&lock);
    return REAL(vaDestroyBuffer)(display, id);
}

static const char *short_name(VABufferType type) {
    switch (type) {
    case VAEncSequenceParameterBufferType: return "seq ";
    case VAEncPictureParameterBufferType: return "pic ";
    case VAEncMiscParameterBufferType: return "misc ";
    case VAEncPackedHeaderParameterBufferType: return "header ";
    case VAEncPackedHeaderDataBufferType: return "data ";
    case VAEncSliceParameterBufferType: return "slice ";
    default: return "other ";
    }
}

/// Adds a buffer to the picture.
static void add(const struct buffer *buffer, uint32_t bits) {
    const char *name = short_name(buffer->type);
    if (picture.length + strlen(name) < sizeof picture.order)
        picture.length += strlen(strcpy(picture.order + picture.length, name));
    if (buffer->type == VAEncPictureParameterBufferType) picture.coded = buffer->size;
    size_t size = bits ? (bits + 7) / 8 : buffer->size;
    if (buffer->type != VAEncPackedHeaderDataBufferType || size > buffer->size) return;
    if (size > MAX_HEADERS - picture.size) return;
    memcpy(picture.headers + picture.size, buffer->bytes, size);
    picture.size += size;
}

VAStatus vaBeginPicture(VADisplay display, VAContextID context, VASurfaceID surface) {
    memset(&picture, 0, sizeof picture);
    picture.coded = VA_INVALID_ID;
    return picture.refusal = REAL(vaBeginPicture)(display, context, surface);
}

VAStatus vaRenderPicture(VADisplay display, VAContextID context, VABufferID *ids, int count) {
    VAStatus status = REAL(vaRenderPicture)(display, context, ids, count);
    if (status != VA_STATUS_SUCCESS) picture.refusal = status;
    static uint32_t bits;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++) {
        const struct buffer *buffer = find(ids[i]);
        if (!buffer) continue;
        if (buffer->type == VAEncPackedHeaderParameterBufferType) bits = buffer->bits;
        add(buffer, buffer->type == VAEncPackedHeaderDataBufferType ? bits : 0);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

VAStatus vaEndPicture(VADisplay display, VAContextID context) {
    VAStatus status = REAL(vaEndPicture)(display, context);
    if (status != VA_STATUS_SUCCESS) picture.refusal = status;
    if (picture.coded == VA_INVALID_ID) return status;
    journal("{\"picture\":{\"status\":%d,\"order\":\"%s\"}}", picture.refusal, picture.order);
    pthread_mutex_lock(&lock);
    struct buffer *coded = find(picture.coded);
    static const uint8_t blocks[16] = {[0 ... 15] = 0xa5};
    free(coded ? coded->bytes : NULL);
    uint8_t *bytes = coded ? malloc(picture.size + sizeof blocks) : NULL;
    if (coded) coded->bytes = bytes;
    if (bytes) {
        memcpy(bytes, picture.headers, picture.size);
        memcpy(bytes + picture.size, blocks, sizeof blocks);
        coded->segment = (VACodedBufferSegment){.size = picture.size + sizeof blocks, .buf = bytes};
    }
    pthread_mutex_unlock(&lock);
    return status;
}

VAStatus vaMapBuffer(VADisplay display, VABufferID id, void **data) {
    pthread_mutex_lock(&lock);
    struct buffer *buffer = find(id);
    bool is_coded = buffer && buffer->type == VAEncCodedBufferType;
    if (is_coded) *data = &buffer->segment;
    pthread_mutex_unlock(&lock);
    if (is_coded) return VA_STATUS_SUCCESS;
    VAStatus status = REAL(vaMapBuffer)(display, id, data);
    pthread_mutex_lock(&lock);
    if (status == VA_STATUS_SUCCESS && (buffer = find(id))) buffer->mapped = *data;
    pthread_mutex_unlock(&lock);
    return status;
}

VAStatus vaUnmapBuffer(VADisplay display, VABufferID id) {
    pthread_mutex_lock(&lock);
    struct buffer *buffer = find(id);
    bool is_coded = buffer && buffer->type == VAEncCodedBufferType;
    // What the program wrote is complete only now; a header keeps its size.
    if (buffer && !is_coded)
        read_buffer(buffer, buffer->mapped, buffer->type == VAEncPackedHeaderDataBufferType ? buffer->size : 0);
    pthread_mutex_unlock(&lock);
    return is_coded ? VA_STATUS_SUCCESS : REAL(vaUnmapBuffer)(display, id);
}

VAStatus vaSyncBuffer(VADisplay display, VABufferID id, uint64_t timeout) { return VA_STATUS_SUCCESS; }
VAStatus vaSyncSurface(VADisplay display, VASurfaceID surface) { return VA_STATUS_SUCCESS; }
VAStatus vaSyncSurface2(VADisplay display, VASurfaceID surface, uint64_t timeout) { return VA_STATUS_SUCCESS; }
