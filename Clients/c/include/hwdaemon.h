/* SPDX-License-Identifier: MIT */
/*
 * libhwdaemon: HEVC compression, decompression and pixel-transfer sessions of the hwdaemon daemon, for C and C++.
 * hwdaemon(3) is the manual page, docs/clients.md the introduction, docs/protocol.md the protocol beneath.
 *
 * Results: 0 or more is success; -12999 to -12000 is VideoToolbox's status (hwd_status_name); any other negative number
 * is -errno. hwd_last_error is the cause in words, of the last failure in the calling thread.
 *
 * Threads: any function may be called from any thread at any time, except that hwd_destroy, hwd_close and the last hwd_pool_unref
 * must be the last use of their object. After fork(2) only the process that made an object may use it; the other may free it.
 *
 * Times: a timeout is in milliseconds; 0 does not wait. The session's timeout, timeout_ms of its configuration, also limits
 * functions that have none. When a worker has died, a call may take 6 s longer, or until another worker has the frames.
 * Structures: HWD_INIT(x) clears a structure and sets x.size, before each use. A member that is 0 has its default.
 */
#ifndef HWDAEMON_H
#define HWDAEMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#define HWD_API __attribute__((visibility("default")))

#define HWD_VERSION 200 /* 10000 major + 100 minor + patch */

/* Clears a structure of this header and states its size. */
#define HWD_INIT(x) ((void)memset(&(x), 0, sizeof(x)), (void)((x).size = sizeof(x)))

/* A DRM fourcc, as in HWD_FOURCC('N', 'V', '1', '2'). */
#define HWD_FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define HWD_NV12 HWD_FOURCC('N', 'V', '1', '2')
#define HWD_P010 HWD_FOURCC('P', '0', '1', '0')
#define HWD_YU12 HWD_FOURCC('Y', 'U', '1', '2')
#define HWD_I010 HWD_FOURCC('I', '0', '1', '0')
#define HWD_YUVA HWD_FOURCC('Y', 'U', 'V', 'A')
#define HWD_AR24 HWD_FOURCC('A', 'R', '2', '4')
#define HWD_AB24 HWD_FOURCC('A', 'B', '2', '4')
#define HWD_AR30 HWD_FOURCC('A', 'R', '3', '0')
#define HWD_AB30 HWD_FOURCC('A', 'B', '3', '0')
#define HWD_XR30 HWD_FOURCC('X', 'R', '3', '0')
#define HWD_XB30 HWD_FOURCC('X', 'B', '3', '0')
#define HWD_AB4H HWD_FOURCC('A', 'B', '4', 'H')

#define HWD_DEFAULT_TIMEOUT (-1) /* 30 s in hwd_call; of a session timeout_ms of its configuration, or 60 s */
/* The pts of a packet whose presentation time is unknown. */
#define HWD_NO_PTS INT64_MIN
/* hwd_complete: every frame. */
#define HWD_ALL_FRAMES INT64_MAX

/* VideoToolbox's statuses (VTErrors.h). */
enum {
    HWD_PROPERTY_NOT_SUPPORTED = -12900, HWD_PROPERTY_READ_ONLY = -12901, HWD_PARAMETER = -12902,
    HWD_INVALID_SESSION = -12903, HWD_ALLOCATION_FAILED = -12904, HWD_PIXEL_TRANSFER_NOT_SUPPORTED = -12905,
    HWD_COULD_NOT_FIND_VIDEO_DECODER = -12906, HWD_COULD_NOT_CREATE_INSTANCE = -12907,
    HWD_COULD_NOT_FIND_VIDEO_ENCODER = -12908, HWD_VIDEO_DECODER_BAD_DATA = -12909,
    HWD_VIDEO_DECODER_UNSUPPORTED_DATA_FORMAT = -12910, HWD_VIDEO_DECODER_MALFUNCTION = -12911,
    HWD_VIDEO_ENCODER_MALFUNCTION = -12912, HWD_VIDEO_DECODER_NOT_AVAILABLE_NOW = -12913,
    HWD_VIDEO_ENCODER_NOT_AVAILABLE_NOW = -12915, HWD_FORMAT_DESCRIPTION_CHANGE_NOT_SUPPORTED = -12916
};

typedef struct hwd_daemon hwd_daemon;   /* a daemon's address; perhaps a private daemon */
typedef struct hwd_session hwd_session; /* a session and its connection */
typedef struct hwd_pool hwd_pool;       /* shared memory, reference counted */

typedef struct hwd_rational { int32_t numerator, denominator; } hwd_rational;

/* Code points of ITU-T H.273. */
typedef struct hwd_color {
    uint8_t primaries, transfer, matrix; /* tables 2, 3, 4; 2: unspecified */
    uint8_t full_range;      /* 0 or 1 */
    uint8_t chroma_location; /* H.265 E.3.1, 0 to 5; 255: unspecified */
    uint8_t reserved[3];     /* 0 */
} hwd_color;

/* Kinds of side data. */
enum {
    HWD_MASTERING_DISPLAY = 1, /* 24 bytes: the SEI message's payload (H.265 D.2.28) */
    HWD_CONTENT_LIGHT = 2,     /* 4 bytes (D.2.35) */
    HWD_AMBIENT_VIEWING = 3,   /* 8 bytes (D.2.39) */
    HWD_HDR10_PLUS = 4,        /* the SEI payload, from itu_t_t35_country_code on */
    HWD_DOLBY_VISION_RPU = 5,  /* the NAL unit */
    HWD_CLOSED_CAPTIONS = 6    /* the SEI payload with cc_data(); of frames to encode only */
};

typedef struct hwd_side_data {
    uint32_t kind;
    uint32_t size; /* bytes */
    const uint8_t *bytes;
} hwd_side_data;

enum { HWD_MAX_PLANES = 4, HWD_MAX_SIDE_DATA = 16 };

/* A plane of a picture. */
typedef struct hwd_plane {
    uint8_t *data;   /* its first sample in this process; NULL where only the offset counts */
    uint64_t offset; /* bytes from the start of its pool */
    uint32_t stride; /* bytes from one row to the next */
    uint32_t rows, row_bytes; /* row_bytes: bytes of a row that hold samples */
    uint32_t reserved;        /* 0 */
} hwd_plane;

/* ---- Library ---- */

HWD_API int hwd_version(void); /* the library's: 10000 major + 100 minor + patch */
/* The cause of the last failure in this thread; empty before the first. Valid until the thread's next failure. */
HWD_API const char *hwd_last_error(void);
/* VideoToolbox's name without prefix ("Parameter"), or strerror's text of -errno. */
HWD_API const char *hwd_status_name(int status);
/* Frees what hwd_call and hwd_copy_properties return. NULL is allowed. */
HWD_API void hwd_free(void *memory);

/* ---- Daemon ---- */

/* Where no daemon listens, hwd_open starts a private one, which ends with hwd_close or this process. 0: hwd_open fails. */
enum { HWD_OPEN_PRIVATE = 1 };

/* Finds a daemon. `address` is a socket's path or "@name"; NULL: $HWDAEMON_SOCKET, else /run/hwdaemon/hwdaemon.sock. A private
 * daemon is started for NULL only, and only if $HWDAEMON_SOCKET is not set. -ECONNREFUSED: no daemon listens; -EACCES: no
 * permission (and which group has it), or who listens is not trusted; -ENOENT: no hwdaemon program to start. */
HWD_API int hwd_open(const char *address, uint32_t flags, hwd_daemon **daemon);
/* Sessions that are still open stay usable, except those of a private daemon, which ends. NULL is allowed. */
HWD_API void hwd_close(hwd_daemon *daemon);
HWD_API const char *hwd_address(const hwd_daemon *daemon); /* valid as long as the daemon */
HWD_API int hwd_is_private(const hwd_daemon *daemon);       /* 1 if hwd_open started it */
/* Calls a Varlink method on a connection of its own: "org.hwdaemon.GetFeatures", with a JSON object of parameters or NULL.
 * `reply` becomes the reply's parameters, a JSON object; free it with hwd_free. Upgrade calls (Create…) are refused. */
HWD_API int hwd_call(hwd_daemon *daemon, const char *method, const char *parameters, int timeout_ms, char **reply);

/* ---- Pools: memory that sessions read and write ---- */

/* A new pool of `size` bytes, zero-filled, sealed against a change of size. */
HWD_API int hwd_pool_create(size_t size, hwd_pool **pool);
/* A pool of a memfd from elsewhere, which stays the caller's: the pool duplicates it. The memfd must be sealed with
 * F_SEAL_SHRINK or allow that this is added. -EINVAL: anything else. */
HWD_API int hwd_pool_import(int fd, hwd_pool **pool);
/* The memory for writing, NULL if it may only be read; and for reading. */
HWD_API void *hwd_pool_data(hwd_pool *pool);
HWD_API const void *hwd_pool_bytes(const hwd_pool *pool);
HWD_API size_t hwd_pool_size(const hwd_pool *pool);
HWD_API int hwd_pool_fd(const hwd_pool *pool); /* the memfd; it stays the pool's */
HWD_API hwd_pool *hwd_pool_ref(hwd_pool *pool);
HWD_API void hwd_pool_unref(hwd_pool *pool); /* the last one frees it; sessions hold their pools; NULL is allowed */

/* Registers a pool with a session; the result is its number there, at least 1. */
HWD_API int hwd_add_pool(hwd_session *session, hwd_pool *pool, int timeout_ms);
/* Fails with HWD_PARAMETER while a frame or packet in it is in flight. */
HWD_API int hwd_remove_pool(hwd_session *session, int number, int timeout_ms);

/* Consecutive planes of a picture from `offset` on, with rows aligned to 64 bytes: sets the planes' offset, stride, rows
 * and row_bytes and returns how many planes there are. `size` becomes the picture's bytes. HWD_PARAMETER: an unknown
 * format, or a size that is not 1 to 16384. */
HWD_API int hwd_layout(
    uint32_t pixel_format, uint32_t width, uint32_t height, uint64_t offset, hwd_plane planes[HWD_MAX_PLANES], uint64_t *size);

/* ---- Sessions of every kind ---- */

enum { HWD_COMPRESSION = 1, HWD_DECOMPRESSION = 2, HWD_TRANSFER = 3 };

typedef struct hwd_session_info {
    size_t size;
    uint32_t kind;                  /* HWD_COMPRESSION … */
    uint32_t width, height;         /* luma samples; of a decompression session by its format description, or 0 */
    uint32_t pixel_format;          /* of its frames or pictures; of a transfer the source's */
    uint32_t using_hardware;        /* of a transfer: using a GPU */
    uint32_t max_frames_in_flight;  /* credits: of a decompression session pictures not released */
    uint32_t max_packets_in_flight; /* 0 in transfer sessions */
    uint32_t restart_count;         /* how often it continued in another process, whose members these are */
    const char *session;         /* its id, for GetSessionResult; these texts are valid as long as the session */
    const char *codec_id;        /* the encoder's or decoder's id; of a transfer the device */
    const char *fallback_reason; /* why it is not hardware; NULL if it is, or if hardware is not allowed */
    const char *device_reason;   /* of a transfer: why it is that device; otherwise NULL */
} hwd_session_info;
HWD_API int hwd_get_info(hwd_session *session, hwd_session_info *info);

/* Sets the properties of a JSON object, all or none: {"AverageBitRate": 4000000}. null restores the default. */
HWD_API int hwd_set_properties(hwd_session *session, const char *properties, int timeout_ms);
HWD_API int hwd_set_int(hwd_session *session, const char *name, int64_t value);
HWD_API int hwd_set_number(hwd_session *session, const char *name, double value);
HWD_API int hwd_set_string(hwd_session *session, const char *name, const char *value);
/* `values` becomes a JSON object, to free with hwd_free. `names` is a JSON array; NULL: all that have a value. */
HWD_API int hwd_copy_properties(hwd_session *session, const char *names, int timeout_ms, char **values);

/* A descriptor for event loops: readable when hwd_next_event has something to do. Call it with timeout 0 until it returns
 * 0. The descriptor stays the session's; wait for it only to become readable. */
HWD_API int hwd_get_fd(hwd_session *session);

enum {
    HWD_EVENT_FORMAT = 1,         /* compression: data is the hvcC record of the packets that follow */
    HWD_EVENT_FRAME_RELEASED = 2, /* memory of your own pool is yours again: a frame's, or a packet's to decode */
    HWD_EVENT_PACKET = 3,         /* compression: a coded picture; data is its NAL units with 4-byte lengths */
    HWD_EVENT_PICTURE = 4,        /* decompression: a picture, in presentation order */
    HWD_EVENT_REPORT = 5,         /* decompression: a packet that is damaged or gives no picture */
    HWD_EVENT_TRANSFERRED = 6,    /* transfer: a frame is converted, or status and reason say why not */
    HWD_EVENT_COMPLETED = 7       /* everything that hwd_complete requested has come; one for each call */
};

/* Bits of hwd_event.flags. */
enum {
    HWD_SYNC = 1,                /* packet, picture: decoding can start here */
    HWD_DISPOSABLE = 2,          /* packet: no other picture refers to it */
    HWD_DAMAGED = 4,             /* picture: some samples are concealed */
    HWD_HARDWARE = 8,            /* picture: decoded in hardware */
    HWD_SIDE_DATA_LEFT_OUT = 16, /* picture: more than a message holds */
    HWD_ALPHA = 32,              /* picture: its alpha is the stream's */
    HWD_PREMULTIPLIED = 64,      /* picture: its colors are multiplied by its alpha */
    HWD_ALPHA_MISSING = 128,     /* picture: the stream has alpha, which was not usable here */
    HWD_DROPPED = 256,           /* report: no picture comes */
    HWD_ALPHA_ONLY = 512,        /* report: it concerns alpha alone */
    HWD_ABOVE_LEVEL = 1024,      /* report: because of MaxTemporalLevel */
    HWD_HAS_ERRORS = 2048,       /* packet: mean_squared_errors are set */
    HWD_RPU_APPLIED = 4096, HWD_RPU_NOT_APPLIED = 8192 /* picture: mapped by its RPU; report: the RPU cannot be applied */
};

/* A result. Give each one back with hwd_release; until then its memory stays valid and the worker cannot reuse it. */
typedef struct hwd_event {
    size_t size;
    uint32_t type, flags; /* HWD_EVENT_…; HWD_SYNC … */
    uint64_t id;     /* for hwd_release; 0 where there is nothing to release */
    uint64_t number; /* that hwd_encode, hwd_decode or hwd_transfer gave the frame or packet */
    int64_t pts, dts, duration;
    const uint8_t *data; /* format, packet */
    size_t data_size;
    int32_t status, reserved; /* status: report, transferred: 0 or VideoToolbox's status */
    const char *reason; /* report, transferred: UTF-8; else NULL */
    uint8_t nal_unit_type; /* packet: of its first slice */
    uint8_t temporal_id;   /* packet: 0 to 6 */
    uint8_t coded_bit_depth, reserved_bytes[5]; /* picture: bits of a coded luma sample */
    double mean_squared_errors[3]; /* packet with HWD_HAS_ERRORS: Y', Cb, Cr */
    /* Pictures. */
    uint32_t pixel_format, width, height;
    uint32_t clean_x, clean_y, clean_width, clean_height; /* clean aperture, in luma samples */
    hwd_color color;
    hwd_rational aspect; /* width : height of a sample; 0/1: unspecified */
    uint32_t plane_count;
    hwd_plane planes[HWD_MAX_PLANES]; /* samples to read, never to write */
    uint32_t side_data_count;
    hwd_side_data side_data[HWD_MAX_SIDE_DATA];
    hwd_pool *pool; /* the memory, for hwd_add_pool of another session; hwd_pool_ref to keep it */
} hwd_event;

/* 1: `event` is the next one; 0: none came in time; negative: the session has ended, and why. */
HWD_API int hwd_next_event(hwd_session *session, hwd_event *event, int timeout_ms);
/* Gives memory back. -EINVAL: given back before; -ETIMEDOUT: the worker did not read the message in time; the event is still yours. */
HWD_API int hwd_release(hwd_session *session, const hwd_event *event);

/* Requests the results of everything sent so far; HWD_EVENT_COMPLETED follows the last one. Of a compression session those
 * of frames up to `until_pts` (HWD_ALL_FRAMES), of others all. A decompression session then expects a key frame. */
HWD_API int hwd_complete(hwd_session *session, int64_t until_pts, int timeout_ms);
/* Ends the session, without waiting for its worker; later calls fail. Results that were not fetched are lost. */
HWD_API void hwd_invalidate(hwd_session *session);
/* Ends the session and frees it. Memory of events is gone with it; pools of one's own are not. NULL is allowed. */
HWD_API void hwd_destroy(hwd_session *session);

/* ---- Compression ---- */

typedef struct hwd_compression_config {
    size_t size;
    const char *codec; /* "hevc" (NULL), "hevc-with-alpha" */
    uint32_t width, height, pixel_format;
    hwd_rational time_base;    /* seconds of one unit of pts and duration */
    int32_t timeout_ms;        /* the session's timeout; 0: 30 s to create it, then 60 s */
    const char *specification, *properties; /* JSON object or NULL: {"RequireHardwareAcceleratedVideoEncoder": true} */
    int32_t max_wait_ms;       /* for a slot, where the daemon has none; 0: refused at once */
} hwd_compression_config;
HWD_API int hwd_compression_create(hwd_daemon *daemon, const hwd_compression_config *config, hwd_session **session);
/* Opens the encoder now; HWD_EVENT_FORMAT follows. */
HWD_API int hwd_prepare(hwd_session *session, int timeout_ms);

/* Bits of hwd_frame.flags; those of alpha are this frame's SourceAlphaMode. */
enum {
    HWD_FORCE_KEY_FRAME = 1, HWD_ALPHA_PREMULTIPLIED = 2, HWD_ALPHA_STRAIGHT = 4, HWD_HAS_BASE_FRAME_QP = 8, HWD_HAS_COLOR = 16,
    HWD_HAS_PTS = 32 /* of hwd_transfer */
};

typedef struct hwd_frame {
    size_t size;
    uint64_t number;        /* hwd_encode sets it */
    int64_t pts, duration;  /* pts rise from frame to frame of a pass */
    uint32_t flags;
    int32_t base_frame_qp;  /* 0 to 51, with HWD_HAS_BASE_FRAME_QP */
    hwd_color color;        /* with HWD_HAS_COLOR */
    uint32_t pool;          /* the number that hwd_add_pool returned; hwd_acquire_frame sets it */
    uint32_t plane_count;
    hwd_plane planes[HWD_MAX_PLANES]; /* offset and stride count */
    const hwd_side_data *side_data;   /* each kind at most once, 49152 bytes together */
    uint32_t side_data_count;
    uint32_t slot; /* hwd_acquire_frame sets it: leave it */
} hwd_frame;

/* Room in the session's own memory: write samples to planes[i].data, leave planes[i]. -EAGAIN: none was free in time. */
HWD_API int hwd_acquire_frame(hwd_session *session, hwd_frame *frame, int timeout_ms);
/* Returns a frame of hwd_acquire_frame that is not encoded. */
HWD_API int hwd_discard_frame(hwd_session *session, hwd_frame *frame);
/* Sends a frame, and waits first while max_frames_in_flight are with the worker. Samples in a pool of your own must stay
 * until HWD_EVENT_FRAME_RELEASED; a frame of hwd_acquire_frame is the session's again.
 * HWD_PARAMETER: its times, planes, QP, alpha, color or side data are wrong; it is not sent, and the session continues.
 * -EAGAIN: no credit came in time; the frame is not sent. Fetch and release packets. */
HWD_API int hwd_encode(hwd_session *session, hwd_frame *frame, int timeout_ms);

/* ---- Decompression ---- */

typedef struct hwd_decompression_config {
    size_t size;
    const char *codec; /* "hevc" (NULL) */
    const void *format; /* an hvcC record or Annex B parameter sets; packets have the same framing */
    size_t format_size;
    hwd_rational time_base;
    uint32_t pixel_format; /* 0: the stream's own */
    int32_t timeout_ms;    /* the session's timeout; 0: 30 s to create it, then 60 s */
    const char *specification, *properties; /* JSON object or NULL: {"RequireHardwareAcceleratedVideoDecoder": true} */
    int32_t max_wait_ms;   /* for a slot, as of a compression session */
} hwd_decompression_config;
HWD_API int hwd_decompression_create(hwd_daemon *daemon, const hwd_decompression_config *config, hwd_session **session);

/* Return once the decoder has taken the packet; decode it only as a reference of others. */
enum { HWD_SYNCHRONOUS = 1, HWD_DO_NOT_OUTPUT = 2 };

typedef struct hwd_packet {
    size_t size;
    uint64_t number;       /* hwd_decode sets it */
    int64_t pts, duration; /* pts: HWD_NO_PTS if it is unknown */
    uint32_t flags;
    uint32_t pool;    /* 0: the library copies data; else the packet is at `offset` of this pool */
    const void *data; /* with pool 0 */
    uint64_t offset;
    uint32_t data_size; /* bytes, 1 to 67108864 */
    uint32_t reserved;
} hwd_packet;

/* Sends a packet, and waits first while max_packets_in_flight are with the worker. HWD_PARAMETER, -EAGAIN: as hwd_encode. */
HWD_API int hwd_decode(hwd_session *session, hwd_packet *packet, int timeout_ms);
/* 0 if packets of another format can follow; otherwise why not. */
HWD_API int hwd_can_accept_format(hwd_session *session, const void *format, size_t size, int timeout_ms);
/* The packets that follow have this format. */
HWD_API int hwd_change_format(hwd_session *session, const void *format, size_t size, int timeout_ms);

/* ---- Pixel transfer ---- */

/* Texts as in org.hwdaemon.varlink (TransferImage); NULL: the default. */
typedef struct hwd_image {
    uint32_t pixel_format;
    uint32_t reserved;
    const char *primaries, *transfer, *matrix, *range, *siting, *alpha;
} hwd_image;

/* A table of effects: the contents of a .cube file, 1 to 67108864 bytes. */
typedef struct hwd_table { const char *text; size_t size; } hwd_table;

typedef struct hwd_transfer_config {
    size_t size;
    uint32_t width, height;
    hwd_image source, target;
    const char *options; /* JSON object (TransferOptions) or NULL: {"reference_white": 203, "effects": ["exposure:ev=1"]} */
    const char *device;  /* "auto" (NULL), "vulkan", "cpu", or a PCI address */
    int32_t timeout_ms;  /* the session's timeout; 0: 30 s to create it, then 60 s */
    int32_t max_wait_ms; /* for a slot, as of a compression session */
    uint32_t target_width, target_height; /* of the converted frames; 0: width, height */
    const hwd_table *tables; /* that effects name by their numbers, after the tables in `options`; the feature effects.tables */
    uint32_t table_count, reserved;
} hwd_transfer_config;
HWD_API int hwd_transfer_create(hwd_daemon *daemon, const hwd_transfer_config *config, hwd_session **session);
typedef struct hwd_transfer {
    size_t size;
    uint64_t number; /* hwd_transfer_submit sets it */
    uint32_t flags;  /* HWD_HAS_COLOR, HWD_HAS_PTS */
    uint32_t reserved;
    hwd_color color; /* of this frame's source, with HWD_HAS_COLOR */
    uint32_t source_pool, target_pool, source_plane_count, target_plane_count;
    hwd_plane source[HWD_MAX_PLANES], target[HWD_MAX_PLANES]; /* offset and stride count */
    int64_t pts; /* with HWD_HAS_PTS, for hwd_change_effects; the feature effects.changes */
} hwd_transfer;

/* Sends a frame; its memory is the session's until HWD_EVENT_TRANSFERRED. Waits first while no credit is left. */
HWD_API int hwd_transfer_submit(hwd_session *session, hwd_transfer *frame, int timeout_ms);

/* The time of the next frame, whatever its own is, and of frames without HWD_HAS_PTS. */
#define HWD_NEXT_FRAME INT64_MIN
/* Changes the parameters of the session's effects for frames whose pts is not less than `pts`. `effects`: a JSON array of the effects
 * in `options`, in the same order. A change replaces one of the same time; 64 may wait for their frames. HWD_PARAMETER: other effects, or
 * parameters out of range; the session continues. */
HWD_API int hwd_change_effects(hwd_session *session, const char *effects, int64_t pts, int timeout_ms);

/* ---- Framing of HEVC ---- */

/* Turns a packet's 4-byte lengths into start codes of 4 bytes: `out` has `size` bytes. -EINVAL: a length is outside the packet. */
HWD_API int hwd_annex_b(const void *packet, size_t size, void *out);
/* The parameter sets of an hvcC record with start codes; `*written` becomes their size, with `out` NULL nothing else happens.
 * -ENOSPC: `capacity` is too small, and `*written` is set. -EINVAL: the record cannot be read. */
HWD_API int hwd_parameter_sets(const void *record, size_t size, void *out, size_t capacity, size_t *written);
/* A packet, or the parameter sets of HWD_EVENT_FORMAT, with start codes, for hwd_free; NULL for other events. -EINVAL: damaged data. */
HWD_API int hwd_byte_stream(const hwd_event *event, uint8_t **bytes, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
