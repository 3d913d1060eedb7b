/* SPDX-License-Identifier: MIT */
/*
 * libhwdaemon: .mov and .mp4 files that survive (docs/clients.md, Movies in C): packets in, a file out, without a daemon.
 *
 * A file has its final name from its first fragment on and grows by fragments of half a second. A program that is killed leaves a file
 * that plays up to its last fragment, and that `hwctl repair` finishes. hwd_movie_finish makes it a plain movie in place: the movie box
 * is appended, and 16 bytes change. While it is open other programs see by a lock (flock(2)) that it is being recorded.
 */
#ifndef HWDAEMON_MOVIE_H
#define HWDAEMON_MOVIE_H

#include <hwdaemon.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hwd_movie hwd_movie;

/* Flags of hwd_movie_create. Without the last two a name that ends with .mov is a QuickTime movie, and others are MP4. */
enum { HWD_MOVIE_REPLACE = 1 /* a file that exists is emptied */, HWD_MOVIE_QUICKTIME = 2, HWD_MOVIE_MP4 = 4 };

/* The most tracks of a movie, and the most formats of a track. */
enum { HWD_MOVIE_MAX_TRACKS = 16, HWD_MOVIE_MAX_FORMATS = 32 };

/* A track of HEVC. */
typedef struct hwd_movie_video {
    size_t size;
    uint32_t time_scale;    /* ticks per second of its packets' times, above 0 */
    uint32_t width, height; /* pixels of the pictures, 1 to 65535 */
    uint32_t rotation;      /* clockwise, degrees: 0, 90, 180, 270 */
    const void *format;     /* the hvcC record of a session (HWD_EVENT_FORMAT); lengths of NAL units have 4 bytes */
    size_t format_size;
    const void *boxes; /* more boxes of the sample entry, as they are: "mdcv", "clli", "pasp", …; NULL: none */
    size_t boxes_size;
    hwd_color color; /* primaries 0: not stated */
} hwd_movie_video;

/* A track of sound, whose packets and sample entry the app brings. */
typedef struct hwd_movie_sound {
    size_t size;
    uint32_t time_scale; /* ticks per second: the sample rate */
    uint32_t reserved;   /* 0 */
    const void *entry;   /* the sample entry, a box: "mp4a" with its "esds", "alac", … */
    size_t entry_size;
} hwd_movie_sound;

typedef struct hwd_movie_packet {
    size_t size;
    const void *data; /* of video: NAL units behind lengths of 4 bytes, with a picture, as sessions give them; copied */
    size_t data_size;
    /* In ticks of the track. pts: from dts on, and 2^55 at most; dts does not fall; what precedes 0 is decoded and not shown. */
    int64_t pts, dts, duration;
} hwd_movie_packet;

/* Creates a file; one without packets does not stay. -EEXIST: a file that is not to be replaced; -EBUSY: it is being recorded;
 * -EINVAL: it is no regular file; or -errno of open(2). */
HWD_API int hwd_movie_create(const char *path, uint32_t flags, hwd_movie **movie);
/* Add a track before the first packet of any track; the result is its number. -EINVAL: settings that no movie can hold; -EBUSY: too late. */
HWD_API int hwd_movie_add_video(hwd_movie *movie, const hwd_movie_video *video);
HWD_API int hwd_movie_add_sound(hwd_movie *movie, const hwd_movie_sound *sound);
/* The format of a track's packets that follow: an hvcC record of pictures of the same size. -ENOSPC: it changes too often. */
HWD_API int hwd_movie_change_format(hwd_movie *movie, int track, const void *format, size_t format_size);
/* Takes a track's next packet in decoding order; it is written with its fragment, by one write. -EINVAL: a packet that cannot be written,
 * after which others can; -EIO, -ENOSPC, …: nothing more can be written, and hwd_movie_finish finishes what was. */
HWD_API int hwd_movie_append(hwd_movie *movie, int track, const hwd_movie_packet *packet);
/* Writes the packets so far as a fragment, where none may come for a while. */
HWD_API int hwd_movie_flush(hwd_movie *movie);
/* Waits until what was written is on the disk, which a loss of power then does not take; for a thread of its own, since it may take
 * longer than a frame: appending does not wait for it. */
HWD_API int hwd_movie_sync(hwd_movie *movie);
/* Writes what is left and makes the file a plain movie, on the disk when this returns. -ENODATA: no packet was written. The error of a
 * last fragment that had no space: the file is finished without it. Only hwd_movie_close follows. */
HWD_API int hwd_movie_finish(hwd_movie *movie);
/* Frees a movie. A file that is not finished stays as a killed program leaves it. NULL is allowed. */
HWD_API void hwd_movie_close(hwd_movie *movie);

#ifdef __cplusplus
}
#endif
#endif
