// SPDX-License-Identifier: MIT
// Memory and fences of graphics drivers, by descriptors that another process sent. Functions return 0 or −errno.
#ifndef CDMABUF_H
#define CDMABUF_H

#include <stdint.h>

// Whether a descriptor is a dma-buf: its file system is the kernel's own one for them (DMA_BUF_MAGIC, Linux 5.3), which no
// other file can be on. What DMA_BUF_IOCTL_SYNC says is no proof, because other files may know a request of that number.
int chwd_is_dma_buf(int fd);
// DMA_BUF_IOCTL_SYNC: makes the CPU's view of a dma-buf coherent before (`begins`) and after it is read or written. Before, it
// waits without a limit for the devices whose fences the dma-buf has, for which a caller waits with poll(2) first.
int chwd_dma_buf_sync(int fd, int begins, int writes);
// Whether a descriptor is a sync file: a file without a file system of its own (ANON_INODE_FS_MAGIC) that answers
// SYNC_IOC_FILE_INFO, whose number files elsewhere may know.
int chwd_is_sync_file(int fd);

#endif
