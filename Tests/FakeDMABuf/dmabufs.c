// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded, it makes memfds that may shrink look like dma-bufs, and pipes like sync files that are signaled by a byte: machines
// without a graphics driver, /dev/udmabuf and /dev/dma_heap cannot have real ones. Memfds that cannot shrink stay memfds. A
// dma-buf that cannot grow is one that a device never releases. A pipe with O_NONBLOCK is waited for without a limit, so that a
// test may be slow. Sockets are files that know a request of the number of SYNC_IOC_FILE_INFO. It says nothing about coherence,
// tiling or how long devices take.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/vfs.h>

// The seals of a file that looks like a dma-buf, or -1.
static int buffer_seals(int file) {
    int before = errno, seals = fcntl(file, F_GET_SEALS);
    errno = before;
    return seals >= 0 && !(seals & F_SEAL_SHRINK) ? seals : -1;
}

static mode_t type_of(int file) {
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

int fstatfs(int file, struct statfs *status) {
    int (*real)(int, struct statfs *) = (int (*)(int, struct statfs *))dlsym(RTLD_NEXT, "fstatfs");
    int result = real(file, status);
    if (result == 0 && buffer_seals(file) >= 0) status->f_type = DMA_BUF_MAGIC;
    if (result == 0 && type_of(file) == S_IFIFO) status->f_type = ANON_INODE_FS_MAGIC;
    return result;
}

int ioctl(int file, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (request == DMA_BUF_IOCTL_SYNC && buffer_seals(file) >= 0) return 0;
    if (request == SYNC_IOC_FILE_INFO && (type_of(file) == S_IFIFO || type_of(file) == S_IFSOCK)) return 0;
    int (*real)(int, unsigned long, void *) = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
    return real(file, request, argument);
}

int poll(struct pollfd *files, nfds_t count, int timeout) {
    int (*real)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    int seals = count == 1 ? buffer_seals(files->fd) : -1;
    if (count == 1 && timeout > 0 && type_of(files->fd) == S_IFIFO && fcntl(files->fd, F_GETFL) & O_NONBLOCK) timeout = -1;
    if (seals < 0 || !(seals & F_SEAL_GROW)) return real(files, count, timeout);
    files->revents = 0;
    return real(NULL, 0, timeout);
}
