// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "memory_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 64, MAX_NAME = 64 };

struct memory_file {
    /// Empty in an unused entry.
    char name[MAX_NAME];
    int fd;
};

static struct memory_file files[MAX_FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_memory_file(const char *name) {
    return name && strncmp(name, HWD_MEMORY_FILE_PREFIX, sizeof HWD_MEMORY_FILE_PREFIX - 1) == 0;
}

/// The entry of a name, or NULL; the lock is held.
static struct memory_file *find(const char *name) {
    for (int i = 0; i < MAX_FILES; i++)
        if (files[i].name[0] && strcmp(files[i].name, name) == 0) return &files[i];
    return NULL;
}

static void forget(struct memory_file *file) {
    close(file->fd);
    file->name[0] = 0;
}

/// A new empty file; NULL with errno set. The lock is held.
static struct memory_file *create(const char *name) {
    if (strlen(name) >= MAX_NAME) return errno = ENAMETOOLONG, NULL;
    for (int i = 0; i < MAX_FILES; i++) {
        if (files[i].name[0]) continue;
        const int fd = memfd_create("hwdaemon-statistics", MFD_CLOEXEC);
        if (fd < 0) return NULL;
        strcpy(files[i].name, name);
        files[i].fd = fd;
        return &files[i];
    }
    return errno = ENFILE, NULL;
}

static FILE *open_memory_file(const char *name, const char *mode) {
    FILE *stream = NULL;
    pthread_mutex_lock(&lock);
    struct memory_file *file = find(name);
    if (mode[0] == 'r') {
        if (!file) errno = ENOENT;
    } else {
        // A new memfd, so that a stream which still reads the old one is not disturbed.
        if (file) forget(file);
        file = create(name);
    }
    if (file) {
        const int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
        if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0) stream = fdopen(fd, mode);
        if (!stream && fd >= 0) close(fd);
    }
    pthread_mutex_unlock(&lock);
    return stream;
}

bool hwd_memory_file_exists(const char *name) {
    pthread_mutex_lock(&lock);
    const bool exists = find(name) != NULL;
    pthread_mutex_unlock(&lock);
    return exists;
}

uint64_t hwd_memory_file_bytes(const char *start) {
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_FILES; i++) {
        struct stat status;
        if (!files[i].name[0] || strncmp(files[i].name, start, strlen(start)) != 0) continue;
        if (fstat(files[i].fd, &status) == 0) bytes += (uint64_t)status.st_size;
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

void hwd_memory_files_remove(const char *start) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_FILES; i++)
        if (files[i].name[0] && strncmp(files[i].name, start, strlen(start)) == 0) forget(&files[i]);
    pthread_mutex_unlock(&lock);
}

// The C library's functions under their own names: the dynamic linker finds the program's before the C library's.

typedef FILE *open_function(const char *, const char *);

static FILE *open_elsewhere(const char *function, const char *path, const char *mode) {
    open_function *next = (open_function *)dlsym(RTLD_NEXT, function);
    if (!next) return errno = ENOSYS, NULL;
    return next(path, mode);
}

__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode) {
    return is_memory_file(path) ? open_memory_file(path, mode) : open_elsewhere("fopen", path, mode);
}

__attribute__((visibility("default"))) FILE *fopen64(const char *path, const char *mode) {
    return is_memory_file(path) ? open_memory_file(path, mode) : open_elsewhere("fopen64", path, mode);
}

__attribute__((visibility("default"))) int unlink(const char *path) {
    if (!is_memory_file(path)) return unlinkat(AT_FDCWD, path, 0);
    pthread_mutex_lock(&lock);
    struct memory_file *file = find(path);
    if (file) forget(file);
    pthread_mutex_unlock(&lock);
    return file ? 0 : (errno = ENOENT, -1);
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to) {
    if (!is_memory_file(from)) return renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (!is_memory_file(to)) return errno = EXDEV, -1;
    if (strlen(to) >= MAX_NAME) return errno = ENAMETOOLONG, -1;
    pthread_mutex_lock(&lock);
    struct memory_file *file = find(from);
    if (file && strcmp(from, to) != 0) {
        struct memory_file *replaced = find(to);
        if (replaced) forget(replaced);
        strcpy(file->name, to);
    }
    pthread_mutex_unlock(&lock);
    return file ? 0 : (errno = ENOENT, -1);
}
