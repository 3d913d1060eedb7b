// SPDX-License-Identifier: GPL-2.0-or-later
// The client's packed headers: taken apart to be understood, and put into the stream as they are.
#include <string.h>

#include "encoder/encoder.h"

// The length of a start code with the zeros before it, or 0.
static size_t start_code(const uint8_t *data, size_t size) {
    size_t zeros = 0;
    while (zeros < size && !data[zeros]) zeros++;
    return zeros >= 2 && zeros < size && data[zeros] == 1 ? zeros + 1 : 0;
}

static size_t nal_length(const uint8_t *data, size_t size) {
    for (size_t i = 0; i + 2 < size; i++)
        if (!data[i] && !data[i + 1] && data[i + 2] <= 1) return i;
    return size;
}

static bool read_parameter_set(
    struct encoder *encoder, struct nal_header nal, struct bit_reader *reader, char *message) {
    int id;
    switch (nal.type) {
        case NAL_VPS: return parse_vps(reader, &encoder->client, message);
        case NAL_SPS:
            if (!parse_sps(reader, &encoder->client, &id, message)) return false;
            encoder->last_sps = id;
            return true;
        case NAL_PPS: return parse_pps(reader, &encoder->client, &id, message);
        case NAL_SEI_SUFFIX: return refuse(message, "a suffix SEI message would come before the slices");
        case NAL_AUD:
        case NAL_SEI_PREFIX: return true;
        default: return refuse(message, "a packed header with a NAL unit of type %d", nal.type);
    }
}

// Brings a NAL unit without its start code to RBSP form, in encoder->plain. `spare` bits at its end do not count.
static bool to_plain(
    struct encoder *encoder, const uint8_t *data, size_t size, bool escaped, unsigned spare, struct bit_reader *reader) {
    encoder->plain.count = 0;
    if (!bytes_reserve(&encoder->plain, size)) return false;
    if (escaped) {
        size = unescape(encoder->plain.data, data, size);
    } else {
        memcpy(encoder->plain.data, data, size);
    }
    *reader = bit_reader_of(encoder->plain.data, 8 * size - spare);
    return true;
}

static bool read_one(struct encoder *encoder, const struct packed_header *packed, char *message) {
    const uint8_t *data = packed->data;
    size_t size = packed->size;
    unsigned spare = (unsigned)(8 * size - packed->bits);
    int nals = 0;
    while (size) {
        size_t code = start_code(data, size);
        if (!code) {
            // Zeros may follow a NAL unit.
            bool nothing = nals > 0;
            for (size_t i = 0; i < size; i++) nothing = nothing && !data[i];
            if (nothing) break;
            return refuse(message, "a packed header does not begin with a start code");
        }
        data += code;
        size -= code;
        size_t length = packed->escaped ? nal_length(data, size) : size;
        struct bit_reader reader;
        struct nal_header nal;
        if (!to_plain(encoder, data, length, packed->escaped, length == size ? spare : 0, &reader))
            return refuse(message, "out of memory");
        if (!parse_nal_header(&reader, &nal, message)) return false;
        bool slice = nal.type < NAL_VPS;
        if (slice != (packed->type == VAEncPackedHeaderSlice))
            return refuse(message, "a packed header of type %u holds a NAL unit of type %d", packed->type, nal.type);
        bool set = nal.type == NAL_VPS || nal.type == NAL_SPS, pps = nal.type == NAL_PPS;
        if ((packed->type == VAEncPackedHeaderPicture && set) || (pps && packed->type > VAEncPackedHeaderPicture) ||
            (set && packed->type > VAEncPackedHeaderPicture))
            return refuse(message, "a packed header of type %u holds a NAL unit of type %d", packed->type, nal.type);
        if (slice) {
            if (nals || length != size) return refuse(message, "a packed slice header holds more than one NAL unit");
            if (encoder->packed_count == MAX_SLICES) return refuse(message, "too many slices");
            struct slice *header = &encoder->settings[encoder->packed_count].header;
            if (!parse_slice(&reader, &encoder->client, nal, header, message)) return false;
            encoder->packed[encoder->packed_count++] = packed;
        } else if (!read_parameter_set(encoder, nal, &reader, message)) {
            return false;
        }
        nals++;
        data += length;
        size -= length;
    }
    return nals > 0 || refuse(message, "a packed header holds no NAL unit");
}

bool read_client_headers(struct encoder *encoder, const struct encode_job *job, char *message) {
    const struct submission *submission = job->context->submission;
    uint32_t accepted = job->context->config.packed_headers;
    encoder->packed_count = 0;
    encoder->last_sps = -1;
    encoder->headers.count = 0;
    for (unsigned i = 0; i < submission->packed_count; i++) {
        const struct packed_header *packed = &submission->packed[i];
        uint32_t bit = packed->type == VAEncPackedHeaderSequence  ? VA_ENC_PACKED_HEADER_SEQUENCE
                       : packed->type == VAEncPackedHeaderPicture ? VA_ENC_PACKED_HEADER_PICTURE
                       : packed->type == VAEncPackedHeaderSlice   ? VA_ENC_PACKED_HEADER_SLICE
                                                                  : VA_ENC_PACKED_HEADER_RAW_DATA | VA_ENC_PACKED_HEADER_MISC;
        if (!(accepted & bit)) return refuse(message, "packed headers of type %u were not configured", packed->type);
        if (!read_one(encoder, packed, message)) return false;
        if (packed->type == VAEncPackedHeaderSlice) continue;
        bool parameters = packed->type == VAEncPackedHeaderSequence || packed->type == VAEncPackedHeaderPicture;
        if (parameters && job->context->config.entrypoint && DRIVER(job->driver_context)->personality.own_headers) continue;
        // Emitted as sent; what is not escaped yet is escaped, except for the start code.
        size_t code = packed->escaped ? packed->size : start_code(packed->data, packed->size);
        int zeros = 0;
        bytes_append(&encoder->headers, packed->data, code);
        append_escaped(&encoder->headers, packed->data + code, packed->size - code, &zeros);
    }
    return !encoder->headers.failed || refuse(message, "out of memory");
}
