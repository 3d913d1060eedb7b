// SPDX-License-Identifier: MIT
#include "base/internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

hwd_pool *hwdi_make_pool(int fd, size_t size, void *bytes, bool writable) {
    struct stat status = {0};
    hwd_pool *pool = malloc(sizeof *pool);
    if (pool && fstat(fd, &status) == 0) {
        *pool = (hwd_pool){1, fd, size, bytes, writable, status.st_dev, status.st_ino, NULL};
        return pool;
    }
    free(pool);
    return NULL;
}

int hwd_pool_create(size_t size, hwd_pool **pool) {
    if (!pool || size == 0 || size > PTRDIFF_MAX) return hwdi_fail(-EINVAL, "a pool of %zu bytes is not possible", size);
    *pool = NULL;
    struct rlimit limit;
    // ftruncate would raise SIGXFSZ too, which ends an app that does not ignore it.
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur)
        return hwdi_fail(-EFBIG, "a pool of %zu bytes exceeds RLIMIT_FSIZE (ulimit -f), which is %ju", size, (uintmax_t)limit.rlim_cur);
    int fd = memfd_create("hwdaemon-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return hwdi_fail_errno(errno, "memfd_create");
    void *bytes = MAP_FAILED;
    if (ftruncate(fd, (off_t)size) == 0) bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes != MAP_FAILED && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        *pool = hwdi_make_pool(fd, size, bytes, true);
    if (*pool) return 0;
    int number = errno;
    if (bytes != MAP_FAILED) munmap(bytes, size);
    hwdi_close(fd);
    return hwdi_fail_errno(number, "a pool's memory");
}

// The size of a memfd that cannot shrink, or 0 and the reason.
static size_t checked_size(int fd, uint64_t min_size, uint64_t max_size, const char **reason) {
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    *reason = "is not a memfd";
    if (seals < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) return 0;
    *reason = "is not sealed against shrinking";
    if (!(seals & F_SEAL_SHRINK)) return 0;
    // The size counts only once the seal was seen: before, the owner could shrink the file and then seal it.
    *reason = "has a size that is not allowed";
    if (fstat(fd, &status) < 0 || status.st_size <= 0) return 0;
    uint64_t size = (uint64_t)status.st_size;
    return size < min_size || size > max_size || size > PTRDIFF_MAX ? 0 : (size_t)size;
}

int hwd_pool_import(int fd, hwd_pool **pool) {
    if (!pool) return hwdi_fail(-EINVAL, "hwd_pool_import has no pointer for the pool");
    *pool = NULL;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0) return hwdi_fail_errno(errno, "the memory of a pool");
    int seals = fcntl(own, F_GET_SEALS);
    if (seals >= 0 && !(seals & F_SEAL_SHRINK)) fcntl(own, F_ADD_SEALS, F_SEAL_SHRINK);
    const char *reason;
    size_t size = checked_size(own, 1, PTRDIFF_MAX, &reason);
    if (size == 0) {
        hwdi_close(own);
        return hwdi_fail(-EINVAL, "the memory of a pool %s", reason);
    }
    bool writable = (fcntl(own, F_GETFL) & O_ACCMODE) == O_RDWR && !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
    void *bytes = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, own, 0);
    if (bytes != MAP_FAILED && (*pool = hwdi_make_pool(own, size, bytes, writable))) return 0;
    int number = errno;
    if (bytes != MAP_FAILED) munmap(bytes, size);
    hwdi_close(own);
    return hwdi_fail_errno(number, "the memory of a pool");
}

hwd_pool *hwdi_receive_memory(int fd, uint64_t min_size, uint64_t max_size, const char **reason) {
    size_t size = checked_size(fd, min_size ? min_size : 1, max_size, reason);
    if (size > 0) {
        *reason = "cannot be mapped";
        void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        if (bytes != MAP_FAILED) {
            hwd_pool *pool = hwdi_make_pool(fd, size, bytes, false);
            if (pool) return pool;
            munmap(bytes, size);
        }
    }
    hwdi_close(fd);
    return NULL;
}

void *hwd_pool_data(hwd_pool *pool) { return pool && pool->writable ? pool->bytes : NULL; }
const void *hwd_pool_bytes(const hwd_pool *pool) { return pool ? pool->bytes : NULL; }
size_t hwd_pool_size(const hwd_pool *pool) { return pool ? pool->size : 0; }
int hwd_pool_fd(const hwd_pool *pool) { return pool ? pool->fd : -1; }

hwd_pool *hwd_pool_ref(hwd_pool *pool) {
    if (pool) __atomic_add_fetch(&pool->references, 1, __ATOMIC_RELAXED);
    return pool;
}

void hwd_pool_unref(hwd_pool *pool) {
    if (!pool || __atomic_sub_fetch(&pool->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    munmap(pool->bytes, pool->size);
    hwdi_close(pool->fd);
    free(pool->picture);
    free(pool);
}
