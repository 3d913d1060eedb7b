// SPDX-License-Identifier: MIT
// Pictures in dma-bufs.
#include "replay/replay.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hwdaemon-dmabuf.h"

// As long as the daemon's sessions wait for a fence.
enum { MAX_DEVICE_WAIT_MS = 2000 };

static void describe(const hwd_dmabuf *picture, picture_message *message) {
    uint8_t *at = message->bytes;
    memset(at, 0, sizeof message->bytes);
    put_32(at + 4, picture->pixel_format);
    put_32(at + 8, picture->width);
    put_32(at + 12, picture->height);
    put_32(at + 16, picture->uses);
    put_32(at + 20, picture->plane_count);
    put_64(at + 24, picture->modifier);
    for (uint32_t i = 0; i < picture->plane_count; i++) {
        put_32(at + 36 + 16 * i, picture->planes[i].stride);
        put_64(at + 40 + 16 * i, picture->planes[i].offset);
    }
    message->size = 32 + 16 * (size_t)picture->plane_count;
}

int hwd_pool_import_dmabuf(const hwd_dmabuf *picture, hwd_pool **pool) {
    hwd_dmabuf given;
    if (!pool) return hwdi_fail(-EINVAL, "hwd_pool_import_dmabuf has no pointer for the pool");
    *pool = NULL;
    int result = hwdi_take(&given, sizeof given, picture);
    if (result < 0 || (result = hwdi_check_size(given.width, given.height)) < 0) return result;
    int own = fcntl(given.fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0) return hwdi_fail_errno(errno, "a dma-buf");
    // Nothing else says a dma-buf's size.
    off_t size = lseek(own, 0, SEEK_END);
    const char *fault = size <= 0 ? "their dma-buf is empty"
                                  : hwdi_check_planes(given.pixel_format, given.width, given.height, given.planes, given.plane_count, (uint64_t)size);
    if (fault) {
        hwdi_close(own);
        return hwdi_fail(-EINVAL, "the picture's planes: %s", fault);
    }
    // A camera's buffer may be one that can only be read.
    bool writable = (given.uses & HWD_PICTURE_TARGET) || (fcntl(own, F_GETFL) & O_ACCMODE) == O_RDWR;
    void *bytes = mmap(NULL, (size_t)size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, own, 0);
    picture_message *message = bytes == MAP_FAILED ? NULL : malloc(sizeof *message);
    if (message) {
        describe(&given, message);
        *pool = hwdi_make_pool(own, (size_t)size, bytes, writable);
        if (*pool) {
            (*pool)->picture = message;
            return 0;
        }
    }
    int number = errno;
    free(message);
    if (bytes != MAP_FAILED) munmap(bytes, (size_t)size);
    hwdi_close(own);
    return hwdi_fail_errno(number, "a dma-buf");
}

bool hwdi_access_pool(const hwd_pool *pool, bool begins) {
    struct dma_buf_sync sync = {(begins ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END) | DMA_BUF_SYNC_READ};
    if (!pool->picture) return true;
    // The request would wait without a limit for a device that writes the buffer.
    if (begins && hwdi_poll(pool->fd, POLLIN, hwdi_deadline(MAX_DEVICE_WAIT_MS, 0)) <= 0) return false;
    int result;
    do result = ioctl(pool->fd, DMA_BUF_IOCTL_SYNC, &sync);
    while (result < 0 && (errno == EINTR || errno == EAGAIN));
    return result == 0;
}

int hwdi_fence_in_turn(hwd_session *session, const registered_pool *pool, int64_t deadline) {
    uint8_t payload[8] = {0};
    put_32(payload, pool->number);
    return hwdi_request_in_turn(session, ADD_FENCE, payload, sizeof payload, pool->fence, deadline, NULL);
}

int hwd_add_fence(hwd_session *session, int pool, int fence, int timeout_ms) {
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    const int64_t deadline = hwdi_until(session, timeout_ms);
    registered_pool *found = session->pools;
    while (found && (found->number != (uint32_t)pool || found->removing)) found = found->next;
    uint8_t payload[8] = {0};
    put_32(payload, (uint32_t)pool);
    int own = fcntl(fence, F_DUPFD_CLOEXEC, 3);
    if (own < 0) result = hwdi_fail_errno(errno, "a fence");
    else if (!found || !found->pool->picture) result = hwdi_fail(HWD_PARAMETER, "there is no picture %d", pool);
    else result = hwdi_request(session, ADD_FENCE, payload, sizeof payload, own, deadline, NULL);
    // Another thread may have removed the pool meanwhile.
    for (found = session->pools; result == 0 && found; found = found->next)
        if (found->number == (uint32_t)pool) {
            hwdi_close(found->fence);
            found->fence = own;
            own = -1;
            break;
        }
    hwdi_close(own);
    hwdi_leave(session);
    return result;
}
