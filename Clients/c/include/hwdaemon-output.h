/* SPDX-License-Identifier: MIT */
/*
 * libhwdaemon: the frames of a video by display time (docs/clients.md, Frames for display in C).
 *
 * An output belongs to one thread at a time, in which it reads its source, decodes and converts: it has no thread of its own, and works
 * while hwd_output_copy_frame and hwd_output_has_new_frame run. Functions of the source must not call the output.
 * Host and item times are nanoseconds; the host's are those of any clock that the app chooses, as CLOCK_MONOTONIC, from -2^62 to 2^62.
 */
#ifndef HWDAEMON_OUTPUT_H
#define HWDAEMON_OUTPUT_H

#include <hwdaemon.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hwd_video_output hwd_video_output;

/* Bits of hwd_output_packet.flags. */
enum { HWD_OUTPUT_KEY = 1 /* decoding can start here */, HWD_OUTPUT_HIDDEN = 2 /* decoded as a reference of others, never shown */ };

typedef struct hwd_output_packet {
    size_t size;
    const void *data; /* valid until the source's next call */
    size_t data_size; /* bytes; an empty packet is left out */
    int64_t pts, duration; /* in the source's time_base; pts from -2^55 to 2^55; duration 0: unknown */
    uint32_t flags, reserved;
    const void *format; /* the format description from this packet on, where it changes; else NULL */
    size_t format_size;
} hwd_output_packet;

/* Where packets come from, as a demuxer. A function that fails, or gives a packet that cannot be one, ends the video there. */
typedef struct hwd_output_source {
    void *context;
    hwd_rational time_base; /* seconds of one unit of pts and duration */
    int64_t start;          /* the pts of the first picture */
    const void *format;     /* an hvcC record or Annex B parameter sets; packets have the same framing */
    size_t format_size;
    /* 1: `packet`, which is cleared, has the next packet in decoding order; 0: there is none; negative: an error, -errno. */
    int (*next)(void *context, hwd_output_packet *packet);
    /* The next packet is the last key frame at or before `pts`, else the first one. 0, or negative: an error. */
    int (*seek)(void *context, int64_t pts);
} hwd_output_source;

typedef struct hwd_output_config {
    size_t size;
    hwd_output_source source;
    hwd_image target;             /* what frames are converted to; pixel_format 0: the decoder's own pictures */
    const char *transfer_options; /* TransferOptions as of a transfer session; NULL */
    const char *specification, *properties; /* of the decompression session; NULL */
    int64_t display_interval; /* nanoseconds between refreshes: host times go to their grid; 0: no grid */
    uint64_t queue_bytes;     /* of decoded pictures that wait; 0: 268435456; two always may */
    uint32_t max_frames;      /* converted frames that exist at once, 2 to 16; 0: 4 */
    uint32_t loops;           /* 1: the video begins again at its end */
} hwd_output_config;

/* Creates the decompression session; transfer sessions come with the first picture of a size and format. The daemon's object must stay
 * as long as the output; the texts are copied. */
HWD_API int hwd_output_open(hwd_daemon *daemon, const hwd_output_config *config, hwd_video_output **output);
/* Frames that were not released are no longer valid. NULL is allowed. */
HWD_API void hwd_output_close(hwd_video_output *output);

/* From a host time on, `rate` times as fast as the host's clock, 0 to 2. HWD_PARAMETER: another rate; there is no play in reverse.
 * An output begins paused at its start. Time stands after hwd_output_open and each seek until the first frame is given. */
HWD_API int hwd_output_play(hwd_video_output *output, double rate, int64_t host);
HWD_API int hwd_output_pause(hwd_video_output *output, int64_t host);
/* For `tolerance`: exactly to a time, and to the last key frame at or before it. */
enum { HWD_OUTPUT_EXACT = 0, HWD_OUTPUT_TO_KEY = -1 };
/* Goes to an item time, in another epoch. `tolerance` above 0: to a key frame that many nanoseconds away at most, else exactly. */
HWD_API int hwd_output_seek(hwd_video_output *output, int64_t time, int64_t tolerance);
HWD_API int hwd_output_set_loop(hwd_video_output *output, int loops);

/* The item time at which a host time's frame is. */
HWD_API int64_t hwd_output_item_time(const hwd_video_output *output, int64_t host);
/* 1: a frame that was not given belongs to a host time, and is ready; 0: none; negative: why none will. */
HWD_API int hwd_output_has_new_frame(hwd_video_output *output, int64_t host);

/* Results of hwd_output_copy_frame. */
enum {
    HWD_OUTPUT_FRAME = 0,        /* a frame, for hwd_output_release */
    HWD_OUTPUT_SAME = 1,         /* that of this time, or one behind it, was given */
    HWD_OUTPUT_NOT_DECODED = 2,  /* it is not there in time; counted as late */
    HWD_OUTPUT_BEFORE_START = 3,
    HWD_OUTPUT_AFTER_END = 4,
    HWD_OUTPUT_SEEKING = 5       /* the first frame after a seek is not there */
};

typedef struct hwd_output_frame {
    size_t size;
    uint64_t id;          /* for hwd_output_release */
    int64_t display_time; /* item time of the frame, nanoseconds */
    int64_t pts, duration; /* in the source's time_base */
    uint64_t epoch; /* rises at each seek and lap: in an epoch no frame comes twice, and none behind a later one */
    uint32_t pixel_format, width, height, plane_count;
    hwd_color color; /* of the decoded picture */
    hwd_plane planes[HWD_MAX_PLANES]; /* samples to read, never to write */
    hwd_pool *pool;  /* the memory */
} hwd_output_frame;

/* The frame of a host time, the one at which the refresh is seen: the last one at or before its item time, with a tolerance of 0.1 ms,
 * or 0.5 ms with a grid. Waits wait_ms for it at most; below 0: as long as it takes. HWD_OUTPUT_…, or negative: no frame comes, and why;
 * a picture that cannot be converted fails once. A session whose process ends continues in another, as all sessions do. */
HWD_API int hwd_output_copy_frame(hwd_video_output *output, int64_t host, int wait_ms, hwd_output_frame *frame);
/* Gives a frame's memory back; -EINVAL: given back before. While max_frames are held, no other comes. */
HWD_API int hwd_output_release(hwd_video_output *output, const hwd_output_frame *frame);

typedef struct hwd_output_counts {
    size_t size;
    uint64_t shown;     /* frames given */
    uint64_t late;      /* questions whose picture was not there in time */
    uint64_t dropped;   /* decoded pictures whose time passed before they were given */
    uint64_t skipped;   /* pictures not decoded, because the machine is too slow for them */
    uint64_t converted; /* pictures */
    uint32_t restarts;  /* how often sessions continued in another process */
    int32_t cut_short;  /* why the video ended early, of the source or for a format that is refused; 0: it did not */
} hwd_output_counts;
HWD_API int hwd_output_get_counts(hwd_video_output *output, hwd_output_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
