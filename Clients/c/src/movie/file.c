// SPDX-License-Identifier: MIT
#include "movie/movie.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

// The folder of a file, which a symbolic link may lead to; -1 where it may not be read.
static int open_folder(const char *path) {
    char *resolved = realpath(path, NULL);
    char *slash = resolved ? strrchr(resolved, '/') : NULL;
    int folder = -1;
    if (slash) {
        slash[slash == resolved] = 0;
        folder = open(resolved, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    free(resolved);
    return folder;
}

int hwdi_movie_open(hwd_movie *movie, bool replaces) {
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = open(movie->path, replaces ? flags : flags | O_EXCL, 0666);
    if (fd < 0) return -errno;
    struct stat status;
    int failure = 0;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        failure = -EINVAL;
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        failure = errno == EWOULDBLOCK ? -EBUSY : -errno;
    else if (ftruncate(fd, 0) != 0)
        failure = -errno;
    if (failure < 0) {
        close(fd);
        return failure;
    }
    movie->fd = fd;
    movie->folder = open_folder(movie->path);
    return 0;
}

void hwdi_movie_remove(const hwd_movie *movie) {
    struct stat file, named;
    if (fstat(movie->fd, &file) == 0 && lstat(movie->path, &named) == 0 && file.st_dev == named.st_dev &&
        file.st_ino == named.st_ino)
        unlink(movie->path);
}

// Keeps blocks of the disk for bytes behind the file's end. File systems that cannot are asked what is free.
static int hold(int fd, uint64_t at, uint64_t count) {
    int result;
    do
        result = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)count);
    while (result != 0 && errno == EINTR);
    if (result == 0) return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) return -errno;
    struct statvfs space;
    if (fstatvfs(fd, &space) != 0 || space.f_blocks == 0 || space.f_frsize == 0) return 0;
    return space.f_bavail >= count / space.f_frsize + 1 ? 0 : -ENOSPC;
}

int hwdi_movie_replace(hwd_movie *movie, const void *bytes, size_t size, uint64_t at) {
    const char *from = bytes;
    for (size_t done = 0; done < size;) {
        ssize_t count = pwrite(movie->fd, from + done, size - done, (off_t)(at + done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? -errno : -EIO;
        done += (size_t)count;
    }
    return 0;
}

int hwdi_movie_write(hwd_movie *movie, const text *bytes, uint64_t reserve) {
    if (bytes->failed) return -ENOMEM;
    struct rlimit limit;
    // Writing would raise SIGXFSZ too, which ends an app that does not ignore it.
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        movie->position + bytes->size + reserve > limit.rlim_cur)
        return -EFBIG;
    int failure = hold(movie->fd, movie->position, bytes->size + reserve);
    // What an earlier call held is kept, for the end.
    if (failure < 0) return failure;
    failure = hwdi_movie_replace(movie, bytes->bytes, bytes->size, movie->position);
    if (failure == 0) {
        movie->position += bytes->size;
        return 0;
    }
    // What was written of them would be a box that is cut off; blocks kept behind the end go with it.
    if (ftruncate(movie->fd, (off_t)movie->position) == 0) (void)hold(movie->fd, movie->position, reserve);
    return failure;
}

int hwdi_movie_sync(hwd_movie *movie) {
    // EINVAL: a kind of file without a disk.
    if (fsync(movie->fd) != 0 && errno != EINVAL) return -errno;
    if (movie->folder < 0 || atomic_load(&movie->is_named)) return 0;
    // File systems that do not flush folders have errors of their own.
    if (fsync(movie->folder) != 0 && errno == EIO) return -EIO;
    atomic_store(&movie->is_named, true);
    return 0;
}
