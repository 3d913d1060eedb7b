// SPDX-License-Identifier: GPL-2.0-or-later
//
// FFmpeg's libraries for Swift: the headers, and the parts that Swift cannot import (function-like macros, macros with
// casts). What differs between versions is in versions.h.
#ifndef CLIBAV_SHIM_H
#define CLIBAV_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/buffer.h>
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/hdr_dynamic_metadata.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mem.h>
#include <libavutil/murmur3.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/sha.h>
#include <libavutil/spherical.h>
#include <libavutil/stereo3d.h>
#include <libavutil/timecode.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

/// `AVERROR(errno)`.
static inline int clibav_error(int error_number) { return AVERROR(error_number); }
/// The errno of an AVERROR; 0 for codes that libav defines.
static inline int clibav_errno(int code) {
    return code < 0 && code > -4096 ? AVUNERROR(code) : 0;
}
/// `AVERROR_EOF`.
static inline int clibav_eof(void) { return AVERROR_EOF; }
/// `AVERROR_INVALIDDATA`.
static inline int clibav_invalid_data(void) { return AVERROR_INVALIDDATA; }
/// `AVERROR(EAGAIN)`.
static inline int clibav_again(void) { return AVERROR(EAGAIN); }
/// `AVERROR_EXIT`: the result of a call that an interrupt callback aborted.
static inline int clibav_exit(void) { return AVERROR_EXIT; }
/// `AV_NOPTS_VALUE`.
static inline int64_t clibav_no_pts(void) { return AV_NOPTS_VALUE; }
/// `AV_TIME_BASE_Q`.
static inline AVRational clibav_time_base(void) { return (AVRational){1, AV_TIME_BASE}; }
/// `MKTAG`.
static inline uint32_t clibav_tag(char a, char b, char c, char d) { return MKTAG(a, b, c, d); }
/// `AV_PIX_FMT_P010`, little-endian.
static inline enum AVPixelFormat clibav_p010(void) { return AV_PIX_FMT_P010LE; }

/// A `get_format` that accepts only the surfaces of VA-API and CUDA, so that libavcodec never falls back to software: it offers
/// those of the device that is open.
static inline enum AVPixelFormat clibav_only_surfaces(AVCodecContext *context, const enum AVPixelFormat *offered) {
    (void)context;
    for (; *offered != AV_PIX_FMT_NONE; offered++) {
        if (*offered == AV_PIX_FMT_VAAPI || *offered == AV_PIX_FMT_CUDA) return *offered;
    }
    return AV_PIX_FMT_NONE;
}

/// The text of an error code; `buffer` holds AV_ERROR_MAX_STRING_SIZE bytes.
static inline void clibav_error_text(int code, char *buffer, size_t size) { av_strerror(code, buffer, size); }

/// `F_SETPIPE_SZ` (linux/fcntl.h), which `fcntl(2)` defines only with `_GNU_SOURCE`.
static inline int clibav_f_setpipe_sz(void) { return 1024 + 7; }

#endif
