// SPDX-License-Identifier: GPL-2.0-or-later
// Makes a whole stream of one picture after the other from VA-API's buffers, for libavcodec's software decoder.
//
// The stream has its own order: a picture without references begins a sequence (BLA), every other one is a trailing
// picture, all are shown at once. Picture order counts have 16 bits in it and may differ from the client's by a
// constant; only differences are ever used.
#include "decoder/decoder.h"

#include <libavcodec/avcodec.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bitstream/bits.h"
#include "decoder/decoder_frame.h"
#include "decoder/decoder_headers.h"
#include "decoder/decoder_references.h"

struct hwsim_decoder {
    int width, height, depth;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame;
    int64_t serial;
    struct decoder_holdings holdings;
    // Scratch: one NAL unit's payload, a slice without emulation prevention, the picture's byte stream.
    struct bytes payload, plain, stream;
};

// What was never written is grey, so that a damaged stream looks the same every time.
static int get_grey_buffer(AVCodecContext *codec, AVFrame *frame, int flags) {
    int result = avcodec_default_get_buffer2(codec, frame, flags);
    if (result < 0) return result;
    for (int plane = 0; plane < 3 && frame->data[plane]; plane++) {
        int rows = plane ? (frame->height + 1) / 2 : frame->height;
        size_t count = (size_t)rows * (size_t)frame->linesize[plane];
        if (frame->format == AV_PIX_FMT_YUV420P) memset(frame->data[plane], 0x80, count);
        if (frame->format == AV_PIX_FMT_YUV420P10)
            for (size_t i = 0; i < count / 2; i++) ((uint16_t *)frame->data[plane])[i] = 0x200;
    }
    return 0;
}

struct hwsim_decoder *hwsim_decoder_create(int width, int height, int depth) {
    if (width < 1 || height < 1 || (depth != 8 && depth != 10)) return NULL;
    struct hwsim_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->width = width;
    decoder->height = height;
    decoder->depth = depth;
    const AVCodec *hevc = avcodec_find_decoder_by_name("hevc");
    decoder->codec = hevc ? avcodec_alloc_context3(hevc) : NULL;
    decoder->packet = av_packet_alloc();
    decoder->frame = av_frame_alloc();
    if (!decoder->codec || !decoder->packet || !decoder->frame) goto failed;
    decoder->codec->thread_count = 1;
    decoder->codec->flags |= AV_CODEC_FLAG_LOW_DELAY | AV_CODEC_FLAG_OUTPUT_CORRUPT;
    decoder->codec->get_buffer2 = get_grey_buffer;
    // The client may have its own libavcodec in the same process, whose log must not speak of this one's damage.
    decoder->codec->log_level_offset = AV_LOG_TRACE;
    if (avcodec_open2(decoder->codec, hevc, NULL) < 0) goto failed;
    return decoder;
failed:
    hwsim_decoder_destroy(decoder);
    return NULL;
}

void hwsim_decoder_destroy(struct hwsim_decoder *decoder) {
    if (!decoder) return;
    avcodec_free_context(&decoder->codec);
    av_packet_free(&decoder->packet);
    av_frame_free(&decoder->frame);
    bytes_free(&decoder->payload);
    bytes_free(&decoder->plain);
    bytes_free(&decoder->stream);
    free(decoder);
}

// --- Pictures

void decoder_fill_grey(struct hwsim_picture *target) {
    for (int plane = 0; plane < 2; plane++) {
        int rows = plane ? target->height / 2 : target->height;
        int samples = plane ? target->width / 2 * 2 : target->width;
        for (int y = 0; y < rows; y++) {
            uint8_t *row = target->planes[plane] + (ptrdiff_t)y * target->strides[plane];
            if (target->depth == 8) memset(row, 0x80, (size_t)samples);
            else
                for (int x = 0; x < samples; x++) ((uint16_t *)row)[x] = 0x8000;
        }
    }
}

void decoder_copy_frame(const AVFrame *frame, struct hwsim_picture *target) {
    bool wide = target->depth > 8;
    for (int y = 0; y < frame->height; y++) {
        uint8_t *out = target->planes[0] + (ptrdiff_t)y * target->strides[0];
        const uint8_t *in = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
        if (!wide) memcpy(out, in, (size_t)frame->width);
        else
            for (int x = 0; x < frame->width; x++)
                ((uint16_t *)out)[x] = (uint16_t)(((const uint16_t *)in)[x] << 6);
    }
    for (int y = 0; y < frame->height / 2; y++) {
        uint8_t *out = target->planes[1] + (ptrdiff_t)y * target->strides[1];
        for (int c = 0; c < 2; c++) {
            const uint8_t *in = frame->data[1 + c] + (ptrdiff_t)y * frame->linesize[1 + c];
            for (int x = 0; x < frame->width / 2; x++) {
                if (wide) ((uint16_t *)out)[2 * x + c] = (uint16_t)(((const uint16_t *)in)[x] << 6);
                else out[2 * x + c] = in[x];
            }
        }
    }
}

// --- The stream

// Moves the payload into the stream as a NAL unit (H.265 7.3.1.1) of layer 0 and temporal level 0.
static void append_nal_unit(struct hwsim_decoder *decoder, int type) {
    const uint8_t start[] = {0, 0, 0, 1, (uint8_t)(type << 1), 1};
    int zeros = 0;
    bytes_append(&decoder->stream, start, sizeof start);
    append_escaped(&decoder->stream, decoder->payload.data, decoder->payload.count, &zeros);
    decoder->payload.count = 0;
}

static void append_sets(
    struct hwsim_decoder *decoder, const VAPictureParameterBufferHEVC *picture, const VAIQMatrixBufferHEVC *matrix) {
    struct bit_writer writer = {.bytes = &decoder->payload};
    decoder_write_vps(&writer);
    append_nal_unit(decoder, NAL_VPS);
    decoder_write_sps(&writer, picture);
    append_nal_unit(decoder, NAL_SPS);
    decoder_write_pps(&writer, picture, matrix);
    append_nal_unit(decoder, NAL_PPS);
}

// A header of our own before the client's slice data. Returns what is wrong, or NULL.
static const char *append_slice(
    struct hwsim_decoder *decoder, int type, const VAPictureParameterBufferHEVC *picture,
    const struct decoder_references *references, const struct hwsim_slice *slice) {
    decoder->plain.count = 0;
    if (!bytes_reserve(&decoder->plain, slice->size)) return NULL;
    size_t size = unescape(decoder->plain.data, slice->data, slice->size);
    size_t offset = slice->parameters->slice_data_byte_offset;
    // The byte before the data ends with byte_alignment(), a one and zeros.
    if (offset >= size || decoder->plain.data[offset - 1] == 0)
        return "slice_data_byte_offset is not where a header ends";
    struct bit_writer writer = {.bytes = &decoder->payload};
    decoder_write_slice_header(&writer, type, picture, references, slice->parameters);
    bytes_append(&decoder->payload, decoder->plain.data + offset, size - offset);
    append_nal_unit(decoder, type);
    return NULL;
}

// Decodes the stream; true when the frame of this packet came out.
static bool decode_stream(struct hwsim_decoder *decoder) {
    decoder->packet->data = decoder->stream.data;
    decoder->packet->size = (int)decoder->stream.count;
    decoder->packet->pts = ++decoder->serial;
    int result = avcodec_send_packet(decoder->codec, decoder->packet);
    av_packet_unref(decoder->packet);
    if (result < 0) return false;
    while (avcodec_receive_frame(decoder->codec, decoder->frame) == 0)
        if (decoder->frame->pts == decoder->serial) return true;
    return false;
}

// --- One picture

static const char *check(
    const struct hwsim_decoder *decoder, const VAPictureParameterBufferHEVC *picture,
    const VAIQMatrixBufferHEVC *matrix, const struct hwsim_slice *slices, int count,
    const struct hwsim_picture *target) {
    const char *wrong = decoder_check_picture(picture, matrix);
    if (wrong) return wrong;
    if (picture->pic_width_in_luma_samples > target->width || picture->pic_height_in_luma_samples > target->height
        || picture->pic_width_in_luma_samples > decoder->width || picture->pic_height_in_luma_samples > decoder->height)
        return "the picture is larger than its surface or the context";
    if (target->depth > decoder->depth || picture->bit_depth_luma_minus8 != target->depth - 8
        || picture->bit_depth_chroma_minus8 != target->depth - 8)
        return "the picture's bit depth is not its surface's or the profile's";
    if (count < 1) return "the picture has no slice";
    size_t total = 0;
    for (int i = 0; i < count && !wrong; i++) {
        wrong = decoder_check_slice(picture, &slices[i]);
        if (!wrong && slices[i].size > (1u << 28) - total) wrong = "the slices are of more than 256 MiB";
        if (!wrong) total += slices[i].size;
    }
    return wrong;
}

VAStatus hwsim_decoder_decode(
    struct hwsim_decoder *decoder, const VAPictureParameterBufferHEVC *picture, const VAIQMatrixBufferHEVC *matrix,
    const struct hwsim_slice *slices, int count, struct hwsim_picture *target, char *message, size_t message_size) {
    if (message_size) message[0] = 0;
    const char *wrong = check(decoder, picture, matrix, slices, count, target);
    if (wrong) {
        snprintf(message, message_size, "%s", wrong);
        decoder_fill_grey(target);
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }

    struct decoder_references references;
    int missing = decoder_references_make(&references, &decoder->holdings, picture, slices, count);
    if (missing)
        snprintf(message, message_size, "%d references were never decoded and are grey", missing);
    // Nothing is kept, so that nothing of the past may be taken for a reference by its number either.
    if (decoder->holdings.count == 0) avcodec_flush_buffers(decoder->codec);
    bool begins = references.before + references.after + references.long_term == 0;
    int type = begins ? NAL_BLA_N_LP : NAL_TRAIL_R;

    decoder->stream.count = 0;
    decoder->payload.count = 0;
    append_sets(decoder, picture, matrix);
    for (int i = 0; i < count && !wrong; i++) wrong = append_slice(decoder, type, picture, &references, &slices[i]);
    if (wrong) {
        snprintf(message, message_size, "%s", wrong);
        decoder_fill_grey(target);
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    if (decoder->payload.failed || decoder->plain.failed || decoder->stream.failed)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;

    bool decoded = decode_stream(decoder);
    const AVFrame *frame = decoder->frame;
    int format = target->depth == 8 ? AV_PIX_FMT_YUV420P : AV_PIX_FMT_YUV420P10;
    if (!decoded || frame->format != format || frame->width != picture->pic_width_in_luma_samples
        || frame->height != picture->pic_height_in_luma_samples) {
        av_frame_unref(decoder->frame);
        snprintf(message, message_size, "the slices cannot be decoded");
        decoder_fill_grey(target);
        return VA_STATUS_ERROR_DECODING_ERROR;
    }
    decoder_copy_frame(frame, target);
    av_frame_unref(decoder->frame);
    decoder->holdings.list[decoder->holdings.count++] =
        (struct decoder_held){picture->CurrPic.picture_id, picture->CurrPic.pic_order_cnt};
    return VA_STATUS_SUCCESS;
}
