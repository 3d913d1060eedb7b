/* SPDX-License-Identifier: MIT */
/* libhwdaemon: pictures in dma-bufs as pools; the feature `dmabufs` (docs/protocol.md, Pictures in dma-bufs). */
#ifndef HWDAEMON_DMABUF_H
#define HWDAEMON_DMABUF_H

#include <hwdaemon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a session does with a picture. */
enum { HWD_PICTURE_SOURCE = 1, HWD_PICTURE_TARGET = 2 };

/* One picture in one dma-buf. */
typedef struct hwd_dmabuf {
    size_t size;
    int32_t fd;            /* the dma-buf's; it stays the caller's */
    uint32_t pixel_format; /* DRM's fourcc: NV12, P010, YU12, AR24, AB24, AR30, AB30, XR30, XB30 or AB4H */
    uint32_t width, height; /* of the session's frames, in luma samples */
    uint32_t uses;         /* HWD_PICTURE_SOURCE, HWD_PICTURE_TARGET or both */
    uint32_t plane_count;
    uint64_t modifier;     /* DRM's, of all planes; sessions import 0, linear */
    hwd_plane planes[HWD_MAX_PLANES]; /* offset and stride count */
} hwd_dmabuf;

/* A pool that is a picture, for hwd_add_pool of compression and transfer sessions; frames name it with the same planes, one at a
 * time. It duplicates and maps the dma-buf: hwd_pool_data is the mapping, around whose use the app puts DMA_BUF_IOCTL_SYNC where a
 * device uses the buffer; NULL for a source whose descriptor is read-only. -EINVAL: planes that are not in it; -errno: it cannot be
 * mapped.
 * hwd_add_pool then fails with HWD_PARAMETER for what is no dma-buf, and with HWD_PIXEL_TRANSFER_NOT_SUPPORTED for a format or modifier that
 * is not imported, with those that are in hwd_last_error; the session continues. */
HWD_API int hwd_pool_import_dmabuf(const hwd_dmabuf *picture, hwd_pool **pool);

/* Makes the next frame that names a picture wait until a sync file is signaled, 2 s at most. `pool`: what hwd_add_pool returned.
 * Another one for the same frame replaces it: merge several (SYNC_IOC_MERGE). `fence` stays the caller's. HWD_PARAMETER: it is no sync file; the session continues. */
HWD_API int hwd_add_fence(hwd_session *session, int pool, int fence, int timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
