// SPDX-License-Identifier: GPL-2.0-or-later
//
// What differs between FFmpeg 5.1 (Debian 12) and 7.1 (Debian 13). The versions that are compared with are those that brought the
// later fields and functions: libavutil 58 and libavcodec 60 are FFmpeg 6.0's; libavutil 58.7.100, libavcodec 60.11.100 and 60.30.100
// are in 6.1; libavformat 61 is 7.0's; libavcodec 61.10.100 and 61.13.100 and libavformat 61.5.100 are in 7.1.
#ifndef CLIBAV_VERSIONS_H
#define CLIBAV_VERSIONS_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <string.h>

/// Whether a picture is a key frame.
static inline int clibav_is_key_frame(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT < AV_VERSION_INT(58, 7, 100)
    return frame->key_frame != 0;
#else
    return (frame->flags & AV_FRAME_FLAG_KEY) != 0;
#endif
}

/// Whether a picture is of two fields.
static inline int clibav_is_interlaced(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT < AV_VERSION_INT(58, 7, 100)
    return frame->interlaced_frame != 0;
#else
    return (frame->flags & AV_FRAME_FLAG_INTERLACED) != 0;
#endif
}

/// Whether the top field of an interlaced picture is shown first.
static inline int clibav_is_top_field_first(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT < AV_VERSION_INT(58, 7, 100)
    return frame->top_field_first != 0;
#else
    return (frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
#endif
}

/// A frame's duration in units of its times; 0 where it is unknown.
static inline int64_t clibav_duration(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR < 58
    return frame->pkt_duration;
#else
    return frame->duration;
#endif
}

/// A stream's side data, and how many entries it has.
static inline const AVPacketSideData *clibav_side_data(const AVStream *stream, int *count) {
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(60, 30, 100)
    *count = stream->nb_side_data;
    return stream->side_data;
#else
    *count = stream->codecpar->nb_coded_side_data;
    return stream->codecpar->coded_side_data;
#endif
}

/// New side data of a stream, in the place of what it has of the type; NULL without memory.
static inline uint8_t *clibav_new_side_data(AVStream *stream, enum AVPacketSideDataType type, size_t size) {
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(60, 30, 100)
    return av_stream_new_side_data(stream, type, size);
#else
    AVPacketSideData *data = av_packet_side_data_new(
        &stream->codecpar->coded_side_data, &stream->codecpar->nb_coded_side_data, type, size, 0);
    return data ? data->data : NULL;
#endif
}

/// Copies a stream's parameters without its side data, which are a part of them since FFmpeg 6.1; returns 0 or an AVERROR.
static inline int clibav_copy_parameters(AVCodecParameters *target, const AVCodecParameters *source) {
    const int code = avcodec_parameters_copy(target, source);
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 100)
    if (code >= 0) av_packet_side_data_free(&target->coded_side_data, &target->nb_coded_side_data);
#endif
    return code;
}

/// The frame rate of an elementary stream: the one that it declares, else the demuxer's option `framerate`.
///
/// Up to FFmpeg 6.0 libavformat's average is this; later that is always the option.
static inline AVRational clibav_elementary_frame_rate(const AVStream *stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 11, 100)
    if (stream->codecpar->framerate.num > 0 && stream->codecpar->framerate.den > 0) return stream->codecpar->framerate;
#endif
    return stream->avg_frame_rate;
}

/// Whether a stream of `context` is an item of a HEIF file (ISO/IEC 23008-12), a picture that is not of a track; libavformat reads them
/// since FFmpeg 7.0.
static inline int clibav_is_item(const AVFormatContext *context, const AVStream *stream) {
#if LIBAVFORMAT_VERSION_MAJOR < 61
    (void)context;
    (void)stream;
    return 0;
#else
    // mov.c, heif_add_stream: one frame in ticks of a second, without the duration that the header of a track's media has.
    return context->iformat && strncmp(context->iformat->name, "mov,", 4) == 0 && stream->nb_frames == 1
        && stream->duration == AV_NOPTS_VALUE && stream->time_base.num == 1 && stream->time_base.den == 1;
#endif
}

/// A stream's disposition without what it says of samples in several layers, for which the muxer of .mov writes a box (`lhvC`).
static inline int clibav_disposition(const AVStream *stream) {
#if LIBAVFORMAT_VERSION_INT < AV_VERSION_INT(61, 5, 100)
    return stream->disposition;
#else
    return stream->disposition & ~AV_DISPOSITION_MULTILAYER;
#endif
}

/// Whether muxers leave the layers above the base, such as alpha, out of the configuration record that they get (hevc.c,
/// write_configuration_record).
static inline int clibav_drops_upper_layers(void) { return LIBAVFORMAT_VERSION_MAJOR >= 61; }

/// Whether libavformat's aspect ratio of a cropped track of Matroska relates the displayed size to the cropped picture, not to the
/// coded one.
static inline int clibav_crops_aspect(void) { return LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 10, 100); }

/// An audio encoder's sample rates, ended by 0; NULL where it takes all.
static inline const int *clibav_sample_rates(const AVCodec *codec) {
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(61, 13, 100)
    return codec->supported_samplerates;
#else
    const void *rates = NULL;
    if (avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_SAMPLE_RATE, 0, &rates, NULL) < 0) return NULL;
    return (const int *)rates;
#endif
}

/// Allows libavcodec to call `get_buffer2` from its own threads, concurrently, as it always does since FFmpeg 6.0.
static inline void clibav_thread_safe_callbacks(AVCodecContext *context) {
#if LIBAVCODEC_VERSION_MAJOR < 60
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    context->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#else
    (void)context;
#endif
}

#endif
