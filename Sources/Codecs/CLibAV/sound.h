// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sample FIFOs: Swift cannot offset the arrays of planes that libavutil takes.
#ifndef CLIBAV_SOUND_H
#define CLIBAV_SOUND_H

#include <libavutil/audio_fifo.h>
#include <libavutil/frame.h>
#include <libavutil/samplefmt.h>

/// Appends the samples of a frame from `offset` on to a FIFO of the same format; returns 0 or an AVERROR.
static inline int clibav_fifo_append(AVAudioFifo *fifo, const AVFrame *frame, int offset) {
    enum { MAX_PLANES = 64 };
    const enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
    const int channels = frame->ch_layout.nb_channels;
    const int is_planar = av_sample_fmt_is_planar(format);
    const int planes = is_planar ? channels : 1;
    const int step = av_get_bytes_per_sample(format) * (is_planar ? 1 : channels);
    const int count = frame->nb_samples - offset;
    if (planes < 1 || planes > MAX_PLANES || offset < 0 || count < 0) return AVERROR(EINVAL);
    void *data[MAX_PLANES];
    for (int plane = 0; plane < planes; plane++) data[plane] = frame->extended_data[plane] + (ptrdiff_t)offset * step;
    const int written = av_audio_fifo_write(fifo, data, count);
    return written < 0 ? written : written == count ? 0 : AVERROR(ENOMEM);
}

/// Fills a frame from a FIFO of the same format; returns 0 or an AVERROR.
static inline int clibav_fifo_take(AVAudioFifo *fifo, AVFrame *frame) {
    const int read = av_audio_fifo_read(fifo, (void **)frame->extended_data, frame->nb_samples);
    return read < 0 ? read : read == frame->nb_samples ? 0 : AVERROR(EINVAL);
}

#endif
