// SPDX-License-Identifier: GPL-2.0-or-later
// Packets as libx265 returns them: NAL units in one block, and what an app is to know of their picture.
#include "session.h"

#include <stdlib.h>
#include <sys/mman.h>

void clear_output(output *to) {
    to->size = 0;
    to->count = 0;
    to->failed = false;
}

static bool reserve(output *to, size_t size) {
    if (to->count == to->places) {
        uint32_t places = to->places ? 2 * to->places : 16;
        x265_nal *nals = realloc(to->nals, places * sizeof *nals);
        if (!nals) return false;
        to->nals = nals;
        to->places = places;
    }
    if (to->capacity - to->size < size) {
        size_t capacity = 2 * (to->size + size);
        uint8_t *bytes = realloc(to->bytes, capacity);
        if (!bytes) return false;
        to->bytes = bytes;
        to->capacity = capacity;
    }
    return true;
}

// A NAL unit without its length or start code.
static void add_unit(output *to, const uint8_t *unit, uint32_t size, bool start_code) {
    if (!reserve(to, (size_t)size + 4)) {
        to->failed = true;
        return;
    }
    uint8_t *at = to->bytes + to->size;
    for (int i = 0; i < 4; i++) at[i] = start_code ? i == 3 : (uint8_t)(size >> (24 - 8 * i));
    memcpy(at + 4, unit, size);
    to->nals[to->count++] = (x265_nal){(unit[0] >> 1) & 0x3F, size + 4, NULL};
    to->size += (size_t)size + 4;
}

void add_units(output *to, const units *from, bool start_codes) {
    for (size_t at = 0; at < from->size;) {
        const uint8_t *length = from->bytes + at;
        uint32_t size = from->size - at < 4 ? 0 : (uint32_t)length[0] << 24 | (uint32_t)length[1] << 16 | (uint32_t)length[2] << 8 | length[3];
        if (size < 2 || size > from->size - at - 4) {
            to->failed = true;
            return;
        }
        add_unit(to, length + 4, size, start_codes);
        at += (size_t)size + 4;
    }
}

int finish_output(output *to) {
    if (to->failed || to->size > INT32_MAX) return -1;
    size_t at = 0;
    for (uint32_t i = 0; i < to->count; i++) {
        to->nals[i].payload = to->bytes + at;
        at += to->nals[i].sizeBytes;
    }
    return (int)to->size;
}

static int slice_type(const hardware *encoder, const packet *from) {
    if (from->unit_type == NAL_UNIT_CODED_SLICE_IDR_W_RADL || from->unit_type == NAL_UNIT_CODED_SLICE_IDR_N_LP) return X265_TYPE_IDR;
    if (from->flags & HWD_SYNC) return X265_TYPE_I;
    // Pictures that are shown before one that precedes them in the stream.
    if (from->number > encoder->greatest) return X265_TYPE_P;
    return from->flags & HWD_DISPOSABLE ? X265_TYPE_B : X265_TYPE_BREF;
}

// Of the i-th packet the presentation time that is `depth` pictures earlier; before the first one as far apart as the first two.
static int64_t decoding_time(hardware *encoder) {
    int64_t at = encoder->returned, depth = encoder->depth;
    if (at >= depth) return info_of(encoder, at - depth)->pts;
    int64_t last = encoder->sent > depth ? depth : encoder->sent - 1;
    int64_t span = last > 0 ? info_of(encoder, last)->pts - info_of(encoder, 0)->pts : depth;
    int64_t known = at < encoder->sent ? at : encoder->sent - 1;
    return info_of(encoder, known)->pts - span;
}

static void add_packet(hardware *encoder, packet *from, int type) {
    output *to = &encoder->output;
    bool start_codes = encoder->param.bAnnexB, is_key = from->flags & HWD_SYNC;
    clear_output(to);
    if (encoder->param.bEnableAccessUnitDelimiters) {
        // pic_type 0: I slices; 2: I, P and B slices (H.265 7.4.3.5).
        const uint8_t unit[] = {NAL_UNIT_ACCESS_UNIT_DELIMITER << 1, (uint8_t)(from->temporal_id + 1), is_key ? 0x10 : 0x50};
        add_unit(to, unit, sizeof unit, start_codes);
    }
    if (from->has_headers) {
        free(encoder->headers.bytes);
        encoder->headers = from->headers;
        from->headers = (units){0};
    }
    if (from->has_headers || (is_key && encoder->param.bRepeatHeaders)) add_units(to, &encoder->headers, start_codes);
    units messages = info_of(encoder, from->number)->messages;
    uint32_t first = to->count;
    size_t begin = to->size;
    add_units(to, &messages, start_codes);
    for (uint32_t i = first; i < to->count && !to->failed; begin += to->nals[i++].sizeBytes)
        to->bytes[begin + 5] = (uint8_t)(from->temporal_id + 1);
    add_units(to, &from->data, start_codes);
    unsigned kind = is_key ? 0 : type == X265_TYPE_P ? 1 : 2;
    encoder->types[kind].pictures++;
    encoder->types[kind].bits += 8 * (uint64_t)to->size;
}

// Reconstructed samples do not come back: an app that reads them finds zeros.
static void set_planes(hardware *encoder, x265_picture *out) {
    const x265_param *param = &encoder->param;
    size_t bytes = param->internalBitDepth > 8 ? 2 : 1, width = (size_t)param->sourceWidth * bytes;
    if (!encoder->blank) {
        encoder->blank_size = width * (size_t)param->sourceHeight;
        void *made = mmap(NULL, encoder->blank_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made != MAP_FAILED) encoder->blank = made;
    }
    for (int i = 0; i < 3; i++) {
        out->planes[i] = encoder->blank;
        out->stride[i] = (int)(i ? width / 2 : width);
    }
}

static void describe(hardware *encoder, const packet *from, int type, x265_picture *out) {
    const picture_info *info = info_of(encoder, from->number);
    out->pts = out->reorderedPts = info->pts;
    out->dts = decoding_time(encoder);
    out->userData = info->user_data;
    out->bitDepth = encoder->param.internalBitDepth;
    out->colorSpace = encoder->param.internalCsp;
    out->sliceType = type;
    out->poc = (int)from->number;
    out->framesize = encoder->output.size;
    set_planes(encoder, out);
    x265_frame_stats *statistics = &out->frameData;
    memset(statistics, 0, sizeof *statistics);
    statistics->sliceType = type == X265_TYPE_IDR || type == X265_TYPE_I ? 'I' : type == X265_TYPE_P ? 'P' : type == X265_TYPE_B ? 'b' : 'B';
    statistics->encoderOrder = (int)encoder->returned;
    statistics->poc = out->poc;
    statistics->bits = 8 * (uint64_t)encoder->output.size;
    if (encoder->param.rc.rateControlMode == X265_RC_CQP) statistics->qp = encoder->param.rc.qp;
}

int return_packet(hardware *encoder, x265_picture *out) {
    packet *from = encoder->first;
    encoder->first = from->next;
    if (!encoder->first) encoder->last = &encoder->first;
    int type = slice_type(encoder, from);
    add_packet(encoder, from, type);
    int result = finish_output(&encoder->output);
    if (result >= 0 && out) describe(encoder, from, type, out);
    encoder->returned++;
    if (from->number > encoder->greatest) encoder->greatest = from->number;
    free_packet(from);
    return result < 0 ? set_fault(encoder, "a packet is damaged, or there is no memory") : 0;
}
