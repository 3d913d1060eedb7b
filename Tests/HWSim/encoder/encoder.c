// SPDX-License-Identifier: GPL-2.0-or-later
// One picture from buffers to bytes.
#include "encoder/encoder.h"

#include <stdlib.h>
#include <string.h>

struct encoder *encoder_create(void) {
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) return NULL;
    encoder->coder.slices = encoder->settings;
    encoder->only_qp = -1;
    return encoder;
}

void encoder_free(struct encoder *encoder) {
    if (!encoder) return;
    coder_free(&encoder->coder);
    for (int i = 0; i < CACHED_REFERENCES; i++) frame_free(&encoder->cache[i].frame);
    bytes_free(&encoder->headers);
    bytes_free(&encoder->plain);
    bytes_free(&encoder->data);
    bytes_free(&encoder->output);
    free(encoder);
}

static bool fits(const struct sps *sps, const struct surface *surface, char *message) {
    if (surface->memory_width >= sps->width && surface->memory_height >= sps->height) return true;
    return refuse(message, "%dx%d are to be coded, and the surface has %dx%d", sps->width, sps->height,
        surface->memory_width, surface->memory_height);
}

static struct cached_reference *oldest_reference(struct encoder *encoder) {
    struct cached_reference *oldest = &encoder->cache[0];
    for (int i = 1; i < CACHED_REFERENCES; i++)
        if (encoder->cache[i].used < oldest->used) oldest = &encoder->cache[i];
    return oldest;
}

void encoder_keep(struct encoder *encoder, const struct surface *surface) {
    struct cached_reference *entry = oldest_reference(encoder);
    struct frame frame = entry->frame;
    *entry = (struct cached_reference){encoder->coder.reconstruction, surface, surface->serial, ++encoder->clock};
    encoder->coder.reconstruction = frame;
}

static const struct frame *reference_frame(struct encoder *encoder, const struct surface *surface) {
    const struct sps *sps = encoder->coder.sps;
    encoder->clock++;
    for (int i = 0; i < CACHED_REFERENCES; i++) {
        struct cached_reference *entry = &encoder->cache[i];
        if (entry->surface == surface && entry->serial == surface->serial && entry->frame.width == sps->width &&
            entry->frame.height == sps->height) {
            entry->used = encoder->clock;
            return &entry->frame;
        }
    }
    struct cached_reference *oldest = oldest_reference(encoder);
    if (!frame_allocate(&oldest->frame, sps->width, sps->height)) return NULL;
    frame_load(&oldest->frame, &surface->picture);
    oldest->surface = surface;
    oldest->serial = surface->serial;
    oldest->used = encoder->clock;
    return &oldest->frame;
}

// Where each slice ends; they have to cover the picture in order.
static bool lay_out_slices(struct encoder *encoder, const struct encode_job *job, char *message) {
    const struct submission *submission = job->context->submission;
    const struct sps *sps = encoder->coder.sps;
    int ctb = 1 << sps->log2_ctb, all = (sps->width + ctb - 1) / ctb * ((sps->height + ctb - 1) / ctb), next = 0;
    for (unsigned i = 0; i < encoder->slice_count; i++) {
        const VAEncSliceParameterBufferHEVC *buffer = &submission->slices[i];
        struct slice_setting *setting = &encoder->settings[i];
        if (setting->header.address != next || !buffer->num_ctu_in_slice || buffer->num_ctu_in_slice > (uint32_t)(all - next))
            return refuse(message, "slice %u has %u CTBs from %d on; %d of %d are coded so far", i,
                buffer->num_ctu_in_slice, setting->header.address, next, all);
        next += (int)buffer->num_ctu_in_slice;
        setting->end = next;
        if ((i + 1 == encoder->slice_count) != buffer->slice_fields.bits.last_slice_of_pic_flag)
            return refuse(message, "last_slice_of_pic_flag of slice %u of %u is %u", i + 1, encoder->slice_count,
                buffer->slice_fields.bits.last_slice_of_pic_flag);
    }
    return next == all || refuse(message, "the slices have %d of %d CTBs", next, all);
}

static bool prepare(struct encoder *encoder, struct encode_job *job, char *message) {
    const struct personality *personality = &DRIVER(job->driver_context)->personality;
    const struct submission *submission = job->context->submission;
    struct coder *coder = &encoder->coder;
    bool own = personality->own_headers;
    if (submission->firmware.quality_level > personality->quality_levels)
        return refuse(message, "quality level %u of %u", submission->firmware.quality_level, personality->quality_levels);
    if (!check_driver(job, message)) return false;
    if (!read_client_headers(encoder, job, message)) return false;
    if (own) {
        if (!make_own_headers(encoder, job, message)) return false;
        coder->sps = &encoder->own.sps[0];
        coder->pps = &encoder->own.pps[0];
    } else {
        encoder->slice_count = submission->slice_count;
        if (encoder->packed_count != submission->slice_count)
            return refuse(message, "%u slices have %u packed headers", submission->slice_count, encoder->packed_count);
        coder->pps = &encoder->client.pps[encoder->settings[0].header.pps_id];
        coder->sps = &encoder->client.sps[coder->pps->sps_id];
        if (!check_sets(job, coder->sps, coder->pps, message)) return false;
    }
    const struct sps *sps = coder->sps;
    if (!check_features(job, sps, coder->pps, message)) return false;
    if (sps->depth_luma != job->source->picture.depth)
        return refuse(message, "%d bits are to be coded, and the surface has %d", sps->depth_luma, job->source->picture.depth);
    if (!fits(sps, job->source, message) || !fits(sps, job->reconstruction, message)) return false;
    for (unsigned i = 0; i < encoder->slice_count; i++) {
        struct slice *slice = &encoder->settings[i].header;
        const VAEncSliceParameterBufferHEVC *buffer = &submission->slices[i];
        if (!own && !check_slice(job, sps, coder->pps, slice, buffer, message)) return false;
        if (!own && (slice->pps_id != encoder->settings[0].header.pps_id || slice->nal.type != encoder->settings[0].header.nal.type ||
                        slice->nal.temporal_id != encoder->settings[0].header.nal.temporal_id))
            return refuse(message, "the slices of the picture differ in their NAL unit types, temporal ids or PPS ids");
        if (!find_references(job, slice, buffer, &encoder->references[i], message)) return false;
        for (int list = 0; list < 2; list++)
            if (encoder->references[i].surfaces[list] && !fits(sps, encoder->references[i].surfaces[list], message))
                return false;
        // A GPB picture has type P for rate control, but never different lists.
        if (submission->picture.pic_fields.bits.coding_type == 2 && slice->type == SLICE_B &&
            encoder->references[i].surfaces[0] != encoder->references[i].surfaces[1])
            return refuse(message, "a B slice with different lists in a picture with coding_type 2");
    }
    if ((int)encoder->slice_count > personality->slices) return refuse(message, "%u slices", encoder->slice_count);
    return own || lay_out_slices(encoder, job, message);
}

// Applies what the client's buffers ask of rate control, as far as the driver does at this picture.
static bool take_over(struct encoder *encoder, const struct encode_job *job, char *message) {
    struct driver *driver = DRIVER(job->driver_context);
    const struct submission *submission = job->context->submission;
    struct firmware before = encoder->running;
    firmware_submit(&submission->firmware, &driver->personality, &encoder->running);
    if (memcmp(&before, &encoder->running, sizeof before)) trace_firmware(driver, job, &encoder->running);
    if (encoder->only_qp < 0) encoder->only_qp = submission->picture.pic_init_qp;
    return rate_configure(&encoder->rate, job->context->config.rate_control, &encoder->running, message);
}

// Sets the QPs of all slices. Returns the class of the picture for rate control, or -1.
static int set_qps(struct encoder *encoder, struct encode_job *job, char *message) {
    const struct coder *coder = &encoder->coder;
    const struct slice *first = &encoder->settings[0].header;
    uint32_t mode = job->context->config.rate_control;
    struct driver *driver = DRIVER(job->driver_context);
    bool own = driver->personality.own_headers;
    if (!take_over(encoder, job, message)) return -1;
    bool both = first->type == SLICE_B && encoder->references[0].surfaces[0] != encoder->references[0].surfaces[1];
    int class = first->type == SLICE_I ? RATE_INTRA : both ? RATE_B + first->nal.temporal_id : RATE_P;
    if (mode != VA_RC_CQP && !own && !coder->pps->cu_qp_delta) {
        refuse(message, "rate control with packed slice headers needs cu_qp_delta_enabled_flag");
        return -1;
    }
    int slice_qp = coder->pps->init_qp + first->qp_delta, reach = 3 * (coder->sps->depth_luma - 8);
    for (unsigned i = 0; i < encoder->slice_count; i++) {
        struct slice_setting *setting = &encoder->settings[i];
        setting->qp = coder->pps->init_qp + setting->header.qp_delta;
        setting->target_qp = setting->qp;
    }
    job->qp = slice_qp;
    if (mode == VA_RC_CQP && !driver->personality.one_qp) return class;
    // As far as CuQpDeltaVal reaches.
    int lowest = own ? 1 : slice_qp - 26 - reach, highest = own ? 51 : slice_qp + 25 + reach;
    uint32_t samples = (uint32_t)coder->sps->width * (uint32_t)coder->sps->height;
    job->qp = mode == VA_RC_CQP
                  ? encoder->only_qp
                  : rate_choose(&encoder->rate, class, samples, lowest < 1 ? 1 : lowest, highest > 51 ? 51 : highest);
    for (unsigned i = 0; i < encoder->slice_count; i++) {
        struct slice_setting *setting = &encoder->settings[i];
        setting->target_qp = job->qp;
        if (!own) continue;
        setting->qp = job->qp;
        setting->header.qp_delta = job->qp - coder->pps->init_qp;
    }
    return class;
}

static bool append_slice(struct encoder *encoder, const struct encode_job *job, unsigned index, char *message) {
    struct bytes *output = &encoder->output;
    int zeros = 0;
    if (DRIVER(job->driver_context)->personality.own_headers) {
        encoder->plain.count = 0;
        write_slice(&encoder->plain, encoder->coder.sps, encoder->coder.pps, &encoder->settings[index].header);
        append_nal(output, &encoder->plain, &zeros);
    } else {
        const struct packed_header *packed = encoder->packed[index];
        size_t size = packed->bits / 8, code = 0;
        while (!packed->data[code]) code++;  // it has been parsed: there is a start code
        code++;
        bytes_append(output, packed->data, code);
        if (packed->escaped) bytes_append(output, packed->data + code, size - code);
        else append_escaped(output, packed->data + code, size - code, &zeros);
        // The last byte of a header holds alignment's 1, so the run of zeros ends there at the latest.
        zeros = 0;
        for (size_t i = output->count; i > 0 && !output->data[i - 1]; i--) zeros++;
    }
    append_escaped(output, encoder->data.data, encoder->data.count, &zeros);
    return !(output->failed || encoder->data.failed) || refuse(message, "out of memory");
}

VAStatus encoder_run(struct encoder *encoder, struct encode_job *job, char *message) {
    struct coder *coder = &encoder->coder;
    if (!prepare(encoder, job, message)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    int class = set_qps(encoder, job, message);
    if (class < 0) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (encoder->running.skips && rate_skips(&encoder->rate, class)) {
        encoder->output.count = 0;
        encoder->rate.surplus -= encoder->rate.budget;
        job->output = &encoder->output;
        job->type = "skipped";
        return VA_STATUS_SUCCESS;
    }
    if (!coder_begin(coder)) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    coder->slice_count = (int)encoder->slice_count;
    frame_load(&coder->source, &job->source->picture);

    encoder->output.count = 0;
    bytes_append(&encoder->output, encoder->headers.data, encoder->headers.count);
    size_t headers = encoder->output.count;
    for (unsigned i = 0; i < encoder->slice_count; i++) {
        struct slice_setting *setting = &encoder->settings[i];
        setting->references[0] = setting->references[1] = NULL;
        for (int list = 0; list < 2; list++) {
            const struct surface *surface = encoder->references[i].surfaces[list];
            if (!surface) continue;
            setting->reference_pocs[list] = surface->poc;
            setting->references[list] = reference_frame(encoder, surface);
            if (!setting->references[list]) return VA_STATUS_ERROR_ALLOCATION_FAILED;
        }
        encoder->data.count = 0;
        coder_slice(coder, (int)i, &encoder->data);
        if (!append_slice(encoder, job, i, message)) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    coder_deblock(coder);
    frame_store(&coder->reconstruction, &job->reconstruction->picture);
    uint32_t mode = job->context->config.rate_control;
    if (mode == VA_RC_CBR || mode == VA_RC_VBR || mode == VA_RC_QVBR)
        rate_update(&encoder->rate, class, job->qp, 8.0 * (double)(encoder->output.count - headers));

    const struct slice *first = &encoder->settings[0].header;
    job->output = &encoder->output;
    job->temporal_id = first->nal.temporal_id;
    job->discardable = first->nal.type < 16 && !(first->nal.type & 1);
    bool gpb = first->type == SLICE_B && encoder->references[0].surfaces[0] == encoder->references[0].surfaces[1];
    job->type = first->type == SLICE_I ? "I" : first->type == SLICE_P ? "P" : gpb ? "GPB" : "B";
    return VA_STATUS_SUCCESS;
}
