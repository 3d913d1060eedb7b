// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded, it makes memfds without a seal of their size look like dma-bufs, and pipes like sync files that are signaled by a byte:
// machines without a graphics driver, /dev/udmabuf and /dev/dma_heap cannot have real ones. Sealed memfds stay memfds. It says
// nothing about coherence, tiling or how long devices take.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <linux/sync_file.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static int is_buffer(int file) {
    int before = errno, seals = fcntl(file, F_GET_SEALS);
    errno = before;
    return seals >= 0 && !(seals & F_SEAL_SHRINK);
}

int fstatfs(int file, struct statfs *status) {
    int (*real)(int, struct statfs *) = (int (*)(int, struct statfs *))dlsym(RTLD_NEXT, "fstatfs");
    int result = real(file, status);
    if (result == 0 && is_buffer(file)) status->f_type = DMA_BUF_MAGIC;
    return result;
}

int ioctl(int file, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct stat status;
    if (request == DMA_BUF_IOCTL_SYNC && is_buffer(file)) return 0;
    if (request == SYNC_IOC_FILE_INFO && fstat(file, &status) == 0 && S_ISFIFO(status.st_mode)) return 0;
    int (*real)(int, unsigned long, void *) = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
    return real(file, request, argument);
}
