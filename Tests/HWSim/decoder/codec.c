// SPDX-License-Identifier: GPL-2.0-or-later
#include "decoder/codec.h"

#include <libavcodec/avcodec.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/decoder_frame.h"

enum { MAX_PARTS = 1024 };

enum codec codec_of(VAProfile profile) {
    switch (profile) {
        case VAProfileH264High: return CODEC_H264;
        case VAProfileVP9Profile0:
        case VAProfileVP9Profile2: return CODEC_VP9;
        case VAProfileAV1Profile0: return CODEC_AV1;
        default: return 0;
    }
}

void codec_clear(struct codec_picture *picture) {
    for (unsigned i = 0; i < picture->part_count; i++) {
        free(picture->parts[i].parameters);
        free(picture->parts[i].data);
    }
    free(picture->parts);
    free(picture->parameters);
    free(picture->matrix);
    *picture = (struct codec_picture){0};
}

static VAStatus copy(uint8_t **to, size_t *to_size, const uint8_t *data, size_t size) {
    if (*to) return VA_STATUS_ERROR_INVALID_BUFFER;
    *to = malloc(size);
    if (!*to) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    memcpy(*to, data, size);
    *to_size = size;
    return VA_STATUS_SUCCESS;
}

VAStatus codec_take(
    struct codec_picture *picture, VABufferType type, const uint8_t *data, size_t each, unsigned count) {
    struct codec_part *last = picture->part_count ? &picture->parts[picture->part_count - 1] : NULL;
    size_t size = each * count;
    switch (type) {
        case VAPictureParameterBufferType: return copy(&picture->parameters, &picture->parameter_size, data, size);
        case VAIQMatrixBufferType: return copy(&picture->matrix, &picture->matrix_size, data, size);
        case VASliceParameterBufferType: {
            if ((last && !last->data) || picture->part_count == MAX_PARTS || each < sizeof(VASliceParameterBufferBase))
                return VA_STATUS_ERROR_INVALID_BUFFER;
            struct codec_part *parts = realloc(picture->parts, (picture->part_count + 1) * sizeof *parts);
            if (!parts) return VA_STATUS_ERROR_ALLOCATION_FAILED;
            picture->parts = parts;
            parts[picture->part_count] = (struct codec_part){.each = each, .count = count};
            size_t ignored;
            return copy(&parts[picture->part_count++].parameters, &ignored, data, size);
        }
        case VASliceDataBufferType: return last ? copy(&last->data, &last->size, data, size) : VA_STATUS_ERROR_INVALID_BUFFER;
        default: return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
}

bool codec_slice(const struct codec_part *part, unsigned index, const uint8_t **data, size_t *size) {
    VASliceParameterBufferBase base;
    if (!part->parameters || !part->data) return false;
    memcpy(&base, part->parameters + part->each * index, sizeof base);
    if (base.slice_data_offset > part->size || base.slice_data_size > part->size - base.slice_data_offset)
        return false;
    *data = part->data + base.slice_data_offset;
    *size = base.slice_data_size;
    return *size > 0;
}

// The whole frame is in the slice data. Hardware takes the segmentation, the filter and the probabilities' place from the
// parameters; only what selects the surface and the profile is compared here.
const char *codec_write_vp9(struct bytes *stream, const struct codec_picture *picture, const struct hwsim_picture *size) {
    VADecPictureParameterBufferVP9 parameters;
    const uint8_t *data;
    size_t count;
    if (picture->parameter_size < sizeof parameters) return "there are no picture parameters";
    memcpy(&parameters, picture->parameters, sizeof parameters);
    if (parameters.pic_fields.bits.frame_type != 0) return "only key frames are decoded";
    if (parameters.frame_width > size->width || parameters.frame_height > size->height)
        return "the picture is larger than its surface";
    if (parameters.bit_depth != size->depth || parameters.profile != (size->depth > 8 ? 2 : 0))
        return "the profile and the bit depth are not the surface's";
    if (picture->part_count != 1 || !codec_slice(&picture->parts[0], 0, &data, &count)) return "there is no frame";
    bytes_append(stream, data, count);
    return NULL;
}

static const char *write(
    enum codec codec, struct bytes *stream, const struct codec_picture *picture, const struct hwsim_picture *size) {
    switch (codec) {
        case CODEC_H264: return codec_write_h264(stream, picture, size);
        case CODEC_VP9: return codec_write_vp9(stream, picture, size);
        default: return codec_write_av1(stream, picture, size);
    }
}

static const char *decode_stream(enum codec codec, struct bytes *stream, struct hwsim_picture *target) {
    const char *name = codec == CODEC_H264 ? "h264" : codec == CODEC_VP9 ? "vp9" : "libdav1d", *wrong = "there is no memory";
    const AVCodec *found = avcodec_find_decoder_by_name(name);
    AVCodecContext *context = found ? avcodec_alloc_context3(found) : NULL;
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    if (context && packet && frame && av_new_packet(packet, (int)stream->count) == 0) {
        memcpy(packet->data, stream->data, stream->count);
        context->thread_count = 1;
        context->log_level_offset = AV_LOG_TRACE;
        wrong = "libavcodec cannot decode the frame";
        if (avcodec_open2(context, found, NULL) == 0 && avcodec_send_packet(context, packet) == 0 &&
            avcodec_send_packet(context, NULL) == 0 && avcodec_receive_frame(context, frame) == 0) {
            int format = target->depth == 8 ? AV_PIX_FMT_YUV420P : AV_PIX_FMT_YUV420P10;
            bool fits = frame->format == format && frame->width <= target->width && frame->height <= target->height;
            wrong = fits ? NULL : "the frame is not of the surface's format or size";
            if (fits) decoder_copy_frame(frame, target);
        }
    }
    av_frame_free(&frame);
    av_packet_free(&packet);
    avcodec_free_context(&context);
    return wrong;
}

const char *codec_decode(enum codec codec, const struct codec_picture *picture, struct hwsim_picture *target) {
    struct bytes stream = {0};
    const char *wrong = write(codec, &stream, picture, target);
    if (!wrong && (stream.failed || stream.count > 1 << 28)) wrong = "the frame is too large";
    if (!wrong) wrong = decode_stream(codec, &stream, target);
    bytes_free(&stream);
    if (wrong) decoder_fill_grey(target);
    return wrong;
}
