// SPDX-License-Identifier: GPL-2.0-or-later
// Contexts: an encoder or a decoder each.
#include <stdlib.h>

#include "faults/plan.h"
#include "driver/submission.h"

void context_free(struct driver *driver, struct context *context) {
    submission_free(context->submission);
    encoder_free(context->encoder);
#ifdef HWSIM_DECODER
    hwsim_decoder_destroy(context->decoder);
#endif
    heap_remove(&driver->heap, context);
}

static VAStatus create_context(VADriverContextP driver_context, VAConfigID config_id, int width, int height, int flag,
    VASurfaceID *targets, int count, VAContextID *result) {
    (void)flag, (void)targets, (void)count;
    struct driver *driver = DRIVER(driver_context);
    const struct personality *personality = &driver->personality;
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    const struct config *config = heap_find(&driver->heap, OBJECT_CONFIG, config_id);
    if (!config) {
        status = VA_STATUS_ERROR_INVALID_CONFIG;
    } else if (personality->busy_maximum) {
        status = VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
    } else if (personality->busy) {
        status = VA_STATUS_ERROR_HW_BUSY;
    } else if ((!personality->hidden_minimum &&
                   (width < personality->smallest_width || height < personality->smallest_height)) ||
               width > personality->largest_width || height > personality->largest_height) {
        driver_complain(driver_context, "vaCreateContext: %dx%d is outside of %dx%d to %dx%d", width, height,
            personality->smallest_width, personality->smallest_height, personality->largest_width,
            personality->largest_height);
        status = VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
    } else {
        struct config copy = *config;  // adding to the heap moves nothing, but the client may destroy it
        struct context *context = heap_add(&driver->heap, OBJECT_CONTEXT, sizeof *context);
        bool made = context != NULL;
        if (made) {
            context->config = copy;
            context->width = width;
            context->height = height;
            context->resets = plan_resets();
            context->submission = calloc(1, sizeof *context->submission);
            made = context->submission != NULL;
            if (made && copy.entrypoint != VAEntrypointVLD) made = (context->encoder = encoder_create()) != NULL;
#ifdef HWSIM_DECODER
            context->codec = codec_of(copy.profile);
            if (made && copy.entrypoint == VAEntrypointVLD && !context->codec) {
                context->decoder =
                    hwsim_decoder_create(width, height, copy.format == VA_RT_FORMAT_YUV420_10 ? 10 : 8);
                made = context->decoder != NULL;
            }
#endif
            if (made) *result = context->object.id;
            else context_free(driver, context);
        }
        if (!made) status = VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static VAStatus destroy_context(VADriverContextP driver_context, VAContextID id) {
    struct driver *driver = DRIVER(driver_context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    struct context *context = heap_find(&driver->heap, OBJECT_CONTEXT, id);
    if (!context) status = VA_STATUS_ERROR_INVALID_CONTEXT;
    else if (context->busy) status = VA_STATUS_ERROR_OPERATION_FAILED;
    else context_free(driver, context);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

void context_install(struct VADriverVTable *table) {
    table->vaCreateContext = create_context;
    table->vaDestroyContext = destroy_context;
}
