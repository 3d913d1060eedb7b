// SPDX-License-Identifier: GPL-2.0-or-later
// vaBeginPicture and vaRenderPicture: a picture's buffers are copied one by one.
#include "driver/submission.h"

#include <stdlib.h>
#include <string.h>


void submission_clear(struct submission *submission) {
    for (unsigned i = 0; i < submission->packed_count; i++) free(submission->packed[i].data);
    for (unsigned i = 0; i < submission->part_count; i++) {
        free(submission->parts[i].slices);
        free(submission->parts[i].data);
    }
    codec_clear(&submission->other);
    free(submission->slices);
    free(submission->parts);
    submission->slices = NULL;
    submission->parts = NULL;
    submission->packed_count = submission->slice_count = submission->part_count = 0;
    submission->has_picture = submission->header_pending = false;
    submission->has_decode_picture = submission->has_matrix = false;
}

void submission_free(struct submission *submission) {
    if (!submission) return;
    submission_clear(submission);
    free(submission);
}

static size_t size_of(const struct buffer *buffer) { return (size_t)buffer->size * buffer->count; }

// Copies a structure out of a buffer that should hold (at least) it.
static VAStatus take(void *to, size_t size, const struct buffer *buffer, bool *taken) {
    if (size_of(buffer) < size) return VA_STATUS_ERROR_INVALID_BUFFER;
    memcpy(to, buffer->data, size);
    *taken = true;
    return VA_STATUS_SUCCESS;
}

static void *copy_of(const void *data, size_t size) {
    void *copy = malloc(size ? size : 1);
    if (copy) memcpy(copy, data, size);
    return copy;
}

static VAStatus accepted(bool is_accepted) { return is_accepted ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER; }

static VAStatus take_misc(const struct personality *personality, uint32_t mode, struct submission *submission,
    const struct buffer *buffer) {
    if (size_of(buffer) < sizeof(VAEncMiscParameterBuffer)) return VA_STATUS_ERROR_INVALID_BUFFER;
    const VAEncMiscParameterBuffer *misc = (const void *)buffer->data;
    size_t size = size_of(buffer) - sizeof *misc;
    struct firmware *firmware = &submission->firmware;
    union {
        VAEncMiscParameterFrameRate frame_rate;
        VAEncMiscParameterHRD hrd;
        VAEncMiscParameterBufferQualityLevel quality;
    } data = {0};
    memcpy(&data, misc->data, size < sizeof data ? size : sizeof data);
    switch (misc->type) {
        case VAEncMiscParameterTypeRateControl:
            if (size < sizeof submission->rate) return VA_STATUS_ERROR_INVALID_BUFFER;
            memcpy(&submission->rate, misc->data, sizeof submission->rate);
            return accepted(firmware_rate(firmware, personality, mode, &submission->rate));
        case VAEncMiscParameterTypeFrameRate:
            if (size < sizeof data.frame_rate || !(data.frame_rate.framerate & 0xffff)) return VA_STATUS_ERROR_INVALID_BUFFER;
            firmware_frame_rate(firmware, data.frame_rate.framerate);
            return VA_STATUS_SUCCESS;
        case VAEncMiscParameterTypeHRD:
            if (size < sizeof data.hrd) return VA_STATUS_ERROR_INVALID_BUFFER;
            return accepted(firmware_hrd(firmware, personality, &data.hrd));
        case VAEncMiscParameterTypeQualityLevel:
            if (size < sizeof data.quality) return VA_STATUS_ERROR_INVALID_BUFFER;
            return accepted(firmware_quality(firmware, personality, data.quality.quality_level));
        default: return VA_STATUS_SUCCESS;  // drivers ignore what they do not know
    }
}

static VAStatus take_packed(struct submission *submission, const struct buffer *buffer) {
    const VAEncPackedHeaderParameterBuffer *header = &submission->pending;
    if (!submission->header_pending || submission->packed_count == MAX_PACKED) return VA_STATUS_ERROR_INVALID_PARAMETER;
    size_t size = ((size_t)header->bit_length + 7) / 8;
    if (!size || size > size_of(buffer)) return VA_STATUS_ERROR_INVALID_BUFFER;
    struct packed_header packed = {
        .type = header->type,
        .bits = header->bit_length,
        .escaped = header->has_emulation_bytes,
        .data = copy_of(buffer->data, size),
        .size = size,
    };
    if (!packed.data) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    submission->packed[submission->packed_count++] = packed;
    submission->header_pending = false;
    return VA_STATUS_SUCCESS;
}

static VAStatus take_slices(struct submission *submission, const struct buffer *buffer) {
    size_t size = sizeof *submission->slices, count = submission->slice_count;
    if (buffer->size < size || count + buffer->count > 4096) return VA_STATUS_ERROR_INVALID_BUFFER;
    void *slices = realloc(submission->slices, (count + buffer->count) * size);
    if (!slices) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    submission->slices = slices;
    for (unsigned i = 0; i < buffer->count; i++)
        memcpy(&submission->slices[count + i], buffer->data + (size_t)i * buffer->size, size);
    submission->slice_count += buffer->count;
    return VA_STATUS_SUCCESS;
}

static VAStatus take_sequence(const struct personality *personality, struct submission *submission, const struct buffer *buffer) {
    VAStatus status = take(&submission->sequence, sizeof submission->sequence, buffer, &submission->has_sequence);
    if (!status) firmware_sequence(&submission->firmware, personality, &submission->sequence);
    return status;
}

static VAStatus take_picture(const struct personality *personality, struct submission *submission, const struct buffer *buffer) {
    VAStatus status = take(&submission->picture, sizeof submission->picture, buffer, &submission->has_picture);
    if (!status) firmware_picture(&submission->firmware, personality);
    return status;
}

static VAStatus take_encode(const struct personality *personality, struct context *context, const struct buffer *buffer) {
    struct submission *submission = context->submission;
    switch (buffer->type) {
        case VAEncSequenceParameterBufferType: return take_sequence(personality, submission, buffer);
        case VAEncPictureParameterBufferType: return take_picture(personality, submission, buffer);
        case VAEncSliceParameterBufferType: return take_slices(submission, buffer);
        case VAEncMiscParameterBufferType: return take_misc(personality, context->config.rate_control, submission, buffer);
        case VAEncPackedHeaderParameterBufferType:
            if (submission->header_pending) return VA_STATUS_ERROR_INVALID_PARAMETER;
            return take(&submission->pending, sizeof submission->pending, buffer, &submission->header_pending);
        case VAEncPackedHeaderDataBufferType: return take_packed(submission, buffer);
        case VAQMatrixBufferType: return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
        default: return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
}

static struct decode_part *part_add(struct submission *submission) {
    struct decode_part *parts = realloc(submission->parts, (submission->part_count + 1) * sizeof *parts);
    if (!parts) return NULL;
    submission->parts = parts;
    parts[submission->part_count] = (struct decode_part){0};
    return &parts[submission->part_count++];
}

static VAStatus take_decode(struct submission *submission, const struct buffer *buffer) {
    struct decode_part *part = submission->part_count ? &submission->parts[submission->part_count - 1] : NULL;
    size_t each = sizeof(VASliceParameterBufferHEVC);
    switch (buffer->type) {
        case VAPictureParameterBufferType:
            return take(&submission->decode_picture, sizeof submission->decode_picture, buffer,
                &submission->has_decode_picture);
        case VAIQMatrixBufferType:
            return take(&submission->matrix, sizeof submission->matrix, buffer, &submission->has_matrix);
        case VASliceParameterBufferType:
            if (buffer->size < each || (part && !part->data)) return VA_STATUS_ERROR_INVALID_BUFFER;
            if (!(part = part_add(submission))) return VA_STATUS_ERROR_ALLOCATION_FAILED;
            part->slices = calloc(buffer->count, each);
            if (!part->slices) return VA_STATUS_ERROR_ALLOCATION_FAILED;
            part->count = buffer->count;
            for (unsigned i = 0; i < buffer->count; i++)
                memcpy(&part->slices[i], buffer->data + (size_t)i * buffer->size, each);
            return VA_STATUS_SUCCESS;
        case VASliceDataBufferType:
            if (!part || part->data) return VA_STATUS_ERROR_INVALID_BUFFER;
            part->data = copy_of(buffer->data, size_of(buffer));
            part->size = size_of(buffer);
            return part->data ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_ALLOCATION_FAILED;
        default: return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
}

static VAStatus begin_picture(VADriverContextP driver_context, VAContextID id, VASurfaceID target) {
    struct driver *driver = DRIVER(driver_context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    struct context *context = heap_find(&driver->heap, OBJECT_CONTEXT, id);
    const struct surface *surface = heap_find(&driver->heap, OBJECT_SURFACE, target);
    if (!context) {
        status = VA_STATUS_ERROR_INVALID_CONTEXT;
    } else if (!surface) {
        status = VA_STATUS_ERROR_INVALID_SURFACE;
    } else if (context->busy) {
        status = VA_STATUS_ERROR_OPERATION_FAILED;
    } else if (!(context->config.format &
                   (surface->fourcc == VA_FOURCC_P010 ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420))) {
        driver_complain(driver_context, "vaBeginPicture: the surface's format is not the context's");
        status = VA_STATUS_ERROR_INVALID_SURFACE;
    } else {
        submission_clear(context->submission);
        context->target = target;
        context->begun = true;
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus render_picture(VADriverContextP driver_context, VAContextID id, VABufferID *ids, int count) {
    struct driver *driver = DRIVER(driver_context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    struct context *context = heap_find(&driver->heap, OBJECT_CONTEXT, id);
    if (!context || !context->begun) status = VA_STATUS_ERROR_INVALID_CONTEXT;
    for (int i = 0; i < count && !status; i++) {
        const struct buffer *buffer = heap_find(&driver->heap, OBJECT_BUFFER, ids[i]);
        if (!buffer) status = VA_STATUS_ERROR_INVALID_BUFFER;
        else if (context->encoder) status = take_encode(&driver->personality, context, buffer);
        else if (context->codec)
            status = codec_take(&context->submission->other, buffer->type, buffer->data, buffer->size, buffer->count);
        else status = take_decode(context->submission, buffer);
        if (status)
            driver_complain(driver_context, "vaRenderPicture: buffer %d of %d (type %d, %u bytes): status 0x%x", i + 1,
                count, buffer ? (int)buffer->type : -1, buffer ? buffer->size * buffer->count : 0, status);
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

void submission_install(struct VADriverVTable *table) {
    table->vaBeginPicture = begin_picture;
    table->vaRenderPicture = render_picture;
    table->vaEndPicture = end_picture;
}
