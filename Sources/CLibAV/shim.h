// SPDX-License-Identifier: GPL-2.0-or-later
//
// FFmpeg's libraries for Swift: the headers, and what Swift cannot import from them (function-like macros,
// macros with casts, deprecated fields that still matter in FFmpeg 5.1).
#ifndef CLIBAV_SHIM_H
#define CLIBAV_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/buffer.h>
#include <libavutil/dict.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/timecode.h>
#include <libswscale/swscale.h>

/// `AVERROR(errno)`.
static inline int clibav_error(int error_number) { return AVERROR(error_number); }
/// The errno inside an AVERROR, or 0 where the code is one of libav's own.
static inline int clibav_errno(int code) {
    return code < 0 && code > -4096 ? AVUNERROR(code) : 0;
}
/// `AVERROR_EOF`.
static inline int clibav_eof(void) { return AVERROR_EOF; }
/// `AVERROR(EAGAIN)`.
static inline int clibav_again(void) { return AVERROR(EAGAIN); }
/// `AVERROR_EXIT`: what an interrupt callback leads to.
static inline int clibav_exit(void) { return AVERROR_EXIT; }
/// `AV_NOPTS_VALUE`.
static inline int64_t clibav_no_pts(void) { return AV_NOPTS_VALUE; }
/// `AV_TIME_BASE_Q`.
static inline AVRational clibav_time_base(void) { return (AVRational){1, AV_TIME_BASE}; }
/// `MKTAG`.
static inline uint32_t clibav_tag(char a, char b, char c, char d) { return MKTAG(a, b, c, d); }
/// `AV_PIX_FMT_P010`, little-endian.
static inline enum AVPixelFormat clibav_p010(void) { return AV_PIX_FMT_P010LE; }

/// A `get_format` that takes VA-API surfaces or nothing: never libavcodec's own fallback to software.
static inline enum AVPixelFormat clibav_only_vaapi(AVCodecContext *context, const enum AVPixelFormat *offered) {
    (void)context;
    for (; *offered != AV_PIX_FMT_NONE; offered++) {
        if (*offered == AV_PIX_FMT_VAAPI) return AV_PIX_FMT_VAAPI;
    }
    return AV_PIX_FMT_NONE;
}

/// The text of an error code; `buffer` holds AV_ERROR_MAX_STRING_SIZE bytes.
static inline void clibav_error_text(int code, char *buffer, size_t size) { av_strerror(code, buffer, size); }

/// Lets libavcodec call `get_buffer2` from its own threads instead of one after the other from ours.
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

/// `open(2)` flags of a file without a name; `O_TMPFILE` itself is hidden behind `_GNU_SOURCE`.
static inline int clibav_o_tmpfile(void) { return __O_TMPFILE | O_DIRECTORY; }
/// The `fcntl(2)` command `F_SETPIPE_SZ`, hidden the same way (linux/fcntl.h).
static inline int clibav_f_setpipe_sz(void) { return 1024 + 7; }

#endif
