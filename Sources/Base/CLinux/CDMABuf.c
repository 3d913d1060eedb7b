// SPDX-License-Identifier: MIT
#include "CDMABuf.h"

#include <errno.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <linux/sync_file.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

int chwd_is_dma_buf(int fd) {
    struct statfs status;
    return fstatfs(fd, &status) == 0 && (uint32_t)status.f_type == DMA_BUF_MAGIC;
}

int chwd_dma_buf_sync(int fd, int begins, int writes) {
    struct dma_buf_sync sync = {
        (uint64_t)(begins ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END) | (uint64_t)(writes ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ)};
    int result;
    do result = ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
    while (result < 0 && (errno == EINTR || errno == EAGAIN));
    return result < 0 ? -errno : 0;
}

int chwd_is_sync_file(int fd) {
    struct statfs status;
    struct sync_file_info info;
    memset(&info, 0, sizeof info);
    return fstatfs(fd, &status) == 0 && (uint32_t)status.f_type == ANON_INODE_FS_MAGIC && ioctl(fd, SYNC_IOC_FILE_INFO, &info) == 0;
}
