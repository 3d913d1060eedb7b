// SPDX-License-Identifier: GPL-2.0-or-later
// vaEndPicture: the picture is coded or decoded here and now, unless the personality has another plan for it.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bitstream/headers.h"
#include "driver/submission.h"
#include "faults/spoil.h"

// Looks up all that the encoder will touch. The driver is locked.
static VAStatus gather(struct driver *driver, struct encode_job *job, char *message) {
    const struct submission *submission = job->context->submission;
    const VAEncPictureParameterBufferHEVC *picture = &submission->picture;
    if (!submission->has_sequence || !submission->has_picture || !submission->slice_count) {
        refuse(message, "there are no sequence, picture or slice parameters");
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    job->source = heap_find(&driver->heap, OBJECT_SURFACE, job->context->target);
    job->reconstruction = heap_find(&driver->heap, OBJECT_SURFACE, picture->decoded_curr_pic.picture_id);
    job->coded = heap_find(&driver->heap, OBJECT_BUFFER, picture->coded_buf);
    if (!job->coded || job->coded->type != VAEncCodedBufferType) {
        job->coded = NULL;
        refuse(message, "coded_buf is no coded buffer");
        return VA_STATUS_ERROR_INVALID_BUFFER;
    }
    if (!job->source || !job->reconstruction || job->source->fourcc != job->reconstruction->fourcc) {
        refuse(message, "the source or the reconstructed surface is missing, or their formats differ");
        return VA_STATUS_ERROR_INVALID_SURFACE;
    }
    if (job->source == job->reconstruction || job->source->busy || job->reconstruction->busy || job->coded->busy) {
        refuse(message, "a surface or buffer is busy, or used twice");
        return VA_STATUS_ERROR_SURFACE_BUSY;
    }
    for (int i = 0; i < MAX_JOB_REFERENCES; i++) {
        const VAPictureHEVC *frame = &picture->reference_frames[i];
        if (frame->picture_id == VA_INVALID_SURFACE || frame->flags & VA_PICTURE_HEVC_INVALID) continue;
        job->references[i] = heap_find(&driver->heap, OBJECT_SURFACE, frame->picture_id);
        if (!job->references[i] || job->references[i]->fourcc != job->source->fourcc) {
            refuse(message, "reference_frames[%d] is no surface of the source's format", i);
            return VA_STATUS_ERROR_INVALID_SURFACE;
        }
        if (job->references[i] == job->reconstruction) {
            refuse(message, "reference_frames[%d] is the surface that is reconstructed into", i);
            return VA_STATUS_ERROR_INVALID_SURFACE;
        }
    }
    return VA_STATUS_SUCCESS;
}

static void hold(struct encode_job *job, int change) {
    job->context->busy = change > 0;
    job->source->busy += (unsigned)change;
    job->reconstruction->busy += (unsigned)change;
    job->coded->busy += (unsigned)change;
    for (int i = 0; i < MAX_JOB_REFERENCES; i++)
        if (job->references[i]) job->references[i]->busy += (unsigned)change;
}

// Does what a fault of the plan does to a picture to encode before it is coded.
static void begin_fault(struct driver *driver, enum planned_fault fault) {
    if (fault == FAULT_CRASH) raise(SIGSEGV);
    if (fault == FAULT_SLOW) sleep(1);
    if (fault == FAULT_HANG) driver->personality.hang_at = driver->pictures;
    if (fault == FAULT_FAIL) driver->personality.fail_at = driver->pictures;
}

static void deliver(struct driver *driver, struct encode_job *job, VAStatus status) {
    const struct personality *personality = &driver->personality;
    if (status) {
        buffer_set_coded(job->coded, NULL, VA_CODED_BUF_STATUS_BAD_BITSTREAM, false);
        job->reconstruction->reconstructed = false;
        return;
    }
    struct surface *surface = job->reconstruction;
    surface->reconstructed = true;
    surface->discardable = job->discardable;
    surface->poc = job->poc;
    surface->temporal_id = job->temporal_id;
    surface->serial = ++driver->serial;
    encoder_keep(job->context->encoder, surface);
    uint32_t flags = (uint32_t)job->qp & VA_CODED_BUF_STATUS_PICTURE_AVE_QP_MASK;
    size_t room = (size_t)job->coded->size * job->coded->count;
    if (personality->liar) {
        buffer_set_coded(job->coded, NULL, 0, false);
    } else if (job->output->count > room) {
        struct bytes cut = {.data = job->output->data, .count = room};
        buffer_set_coded(job->coded, &cut, flags | VA_CODED_BUF_STATUS_FRAME_SIZE_OVERFLOW |
            VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK, personality->two_segments);
    } else {
        buffer_set_coded(job->coded, job->output, flags, personality->two_segments);
        if (personality->corrupt || job->fault == FAULT_GARBAGE) {
            struct bytes coded = {.data = job->coded->data, .count = job->output->count};
            spoil_bytes(&coded);
        }
    }
}

// Whether the GPU was reset since the context was made.
static bool is_lost(const struct context *context) { return plan_resets() > context->resets; }

// Called locked and returns locked; the lock is off while it encodes.
static VAStatus encode(VADriverContextP driver_context, struct context *context) {
    struct driver *driver = DRIVER(driver_context);
    const struct personality *personality = &driver->personality;
    char message[MESSAGE_SIZE] = "";
    struct encode_job job = {.driver_context = driver_context, .context = context, .number = ++driver->pictures};
    job.poc = context->submission->picture.decoded_curr_pic.pic_order_cnt;
    VAStatus status = gather(driver, &job, message);
    if (!status) {
        job.fault = plan_take(false, job.number);
        begin_fault(driver, job.fault);
        if (job.number == personality->crash_at) raise(SIGSEGV);
        if (personality->forbidden && job.number == personality->forbidden_at)
            forbidden_try(personality->forbidden);
        if (personality->hang_at && job.number >= personality->hang_at) {
            // Intel's vaSyncBuffer does not wait for the engine; its vaMapBuffer polls the engine's status.
            if (personality->parser == PARSER_IHD) job.coded->hung_map = true;
            else job.source->hung = job.reconstruction->hung = job.coded->hung = true;
            return VA_STATUS_SUCCESS;
        }
        if (personality->hang_map_at && job.number >= personality->hang_map_at) {
            job.coded->hung_map = true;
            return VA_STATUS_SUCCESS;
        }
        if ((personality->fail_at && job.number >= personality->fail_at) || is_lost(context)) {
            refuse(message, "it was asked to fail");
            status = VA_STATUS_ERROR_OPERATION_FAILED;
        } else {
            hold(&job, 1);
            pthread_mutex_unlock(&driver->lock);
            uint64_t start = monotonic_nanoseconds();
            bool is_wrong = job.fault == FAULT_CORRUPT || (personality->wrong_at && job.number >= personality->wrong_at);
            if (is_wrong) invert_picture(&job.source->picture);
            status = encoder_run(context->encoder, &job, message);
            if (is_wrong) invert_picture(&job.source->picture);
            uint64_t taken = monotonic_nanoseconds() - start;
            pthread_mutex_lock(&driver->lock);
            hold(&job, -1);
            driver->busy_time += taken;
            if (!status) trace_picture(driver, &job, start);
        }
    }
    if (job.coded) {
        if (job.reconstruction) deliver(driver, &job, status);
        else buffer_set_coded(job.coded, NULL, VA_CODED_BUF_STATUS_BAD_BITSTREAM, false);
    }
    if (status) driver_complain(driver_context, "picture %u (POC %d): %s", job.number, job.poc, message);
    return status;
}

#ifdef HWSIM_DECODER
// Called locked and returns locked.
static VAStatus decode_hevc(VADriverContextP driver_context, struct context *context, struct surface *target) {
    struct driver *driver = DRIVER(driver_context);
    const struct submission *submission = context->submission;
    char message[MESSAGE_SIZE] = "";
    unsigned count = 0;
    if (!submission->has_decode_picture || !submission->part_count) return VA_STATUS_ERROR_INVALID_PARAMETER;
    for (unsigned i = 0; i < submission->part_count; i++) count += submission->parts[i].count;
    struct hwsim_slice *slices = calloc(count, sizeof *slices), *next = slices;
    if (!slices) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    VAStatus status = VA_STATUS_SUCCESS;
    for (unsigned i = 0; i < submission->part_count; i++) {
        const struct decode_part *part = &submission->parts[i];
        for (unsigned j = 0; j < part->count; j++) {
            const VASliceParameterBufferHEVC *slice = &part->slices[j];
            if (slice->slice_data_offset > part->size || slice->slice_data_size > part->size - slice->slice_data_offset)
                status = VA_STATUS_ERROR_INVALID_BUFFER;
            else
                *next++ = (struct hwsim_slice){slice, part->data + slice->slice_data_offset, slice->slice_data_size};
        }
    }
    if (!status) {
        context->busy = true;
        target->busy++;
        pthread_mutex_unlock(&driver->lock);
        status = hwsim_decoder_decode(context->decoder, &submission->decode_picture,
            submission->has_matrix ? &submission->matrix : NULL, slices, (int)count, &target->picture, message,
            sizeof message);
        pthread_mutex_lock(&driver->lock);
        context->busy = false;
        target->busy--;
        target->serial = ++driver->serial;
    }
    if (status || *message) driver_complain(driver_context, "decoding: %s", *message ? message : "slices lie outside");
    free(slices);
    return status;
}

static VAStatus decode(VADriverContextP driver_context, struct context *context) {
    struct driver *driver = DRIVER(driver_context);
    const struct personality *personality = &driver->personality;
    struct surface *target = heap_find(&driver->heap, OBJECT_SURFACE, context->target);
    if (!target) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (target->busy) return VA_STATUS_ERROR_SURFACE_BUSY;
    unsigned number = ++driver->decoded;
    enum planned_fault fault = plan_take(true, number);
    if (fault == FAULT_DECODE_CRASH) raise(SIGSEGV);
    if (fault == FAULT_DECODE_HANG) driver->personality.decode_hang_at = number;
    if (fault == FAULT_DECODE_FAIL) driver->personality.decode_fail_at = number;
    if (number == personality->decode_crash_at) raise(SIGSEGV);
    if (personality->decode_hang_at && number >= personality->decode_hang_at) {
        target->hung = true;
        return VA_STATUS_SUCCESS;
    }
    if ((personality->decode_fail_at && number >= personality->decode_fail_at) || is_lost(context)) {
        driver_complain(driver_context, "decoding: picture %u was asked to fail", number);
        return VA_STATUS_ERROR_DECODING_ERROR;
    }
    VAStatus status = VA_STATUS_SUCCESS;
    if (context->codec) {
        const char *wrong = codec_decode(context->codec, &context->submission->other, &target->picture);
        target->serial = ++driver->serial;
        if (wrong) {
            driver_complain(driver_context, "decoding: %s", wrong);
            status = VA_STATUS_ERROR_DECODING_ERROR;
        }
    } else {
        status = decode_hevc(driver_context, context, target);
    }
    if (personality->decode_wrong_at && number >= personality->decode_wrong_at) invert_picture(&target->picture);
    // The lowest bit of the first sample.
    if (personality->wrong_samples) target->picture.planes[0][0] ^= target->picture.depth > 8 ? 1 << 6 : 1;
    return status;
}
#endif

VAStatus end_picture(VADriverContextP driver_context, VAContextID id) {
    struct driver *driver = DRIVER(driver_context);
    VAStatus status = VA_STATUS_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&driver->lock);
    struct context *context = heap_find(&driver->heap, OBJECT_CONTEXT, id);
    if (context && context->begun && !context->busy) {
        context->begun = false;
        if (context->encoder) status = encode(driver_context, context);
#ifdef HWSIM_DECODER
        else status = decode(driver_context, context);
#else
        else status = VA_STATUS_ERROR_UNIMPLEMENTED;
#endif
        submission_clear(context->submission);
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}
