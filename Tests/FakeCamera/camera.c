// SPDX-License-Identifier: GPL-2.0-or-later
// A camera of Video4Linux2 without a driver, for machines that have neither one nor the right to mount a file system. Linked into a
// program or preloaded, it answers open, ioctl and poll of the path that FAKE_CAMERA names; mmap is the kernel's, of a memfd.
// It does not say how long a device takes, nor what exporting buffers or several planes need.
//
// FAKE_CAMERA is a list of KEY=VALUE with commas between: path; formats=NV12:YUYV; sizes=640x480:1280x720; rate; frames (then it is
// silent, or with end=unplug gone); file (one picture after the other, for JPEG split by its markers, for H264 and HEVC by access
// unit delimiters; those that are lost are passed over; header=1: the first parameter sets in a buffer of their own); away (milliseconds
// for which it does not open after it was unplugged); paced=1 (by the clock, losing frames for want of a buffer, else as fast as they are taken); drop, error and
// short: every how many frames one is lost, flagged or cut off; evil: a way to lie, see below.
#define _GNU_SOURCE
#include "CHWDFakeCamera.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BUFFERS = 8, TEXT = 256 };

static struct {
    int fd;
    uint32_t format, width, height, stride, size, slot;
    uint8_t *memory;
    int count, queue[BUFFERS], queued, done[BUFFERS], filled;
    struct v4l2_buffer buffers[BUFFERS];
    bool streams;
    uint32_t number; // of the next frame
    int64_t start;
    int64_t unplugged; // when it was
    uint8_t *file;
    size_t file_size, file_at;
} camera = {.fd = -1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hwd_fake_camera(void) {}

// The value of a key, in `text`; null without one.
static const char *option(const char *key, char text[TEXT]) {
    const char *at = getenv("FAKE_CAMERA");
    const size_t length = strlen(key);
    while (at && *at) {
        const size_t size = strcspn(at, ",");
        if (size > length && strncmp(at, key, length) == 0 && at[length] == '=') {
            snprintf(text, TEXT, "%.*s", (int)(size - length - 1), at + length + 1);
            return text;
        }
        at += size + (at[size] == ',');
    }
    return NULL;
}

static uint32_t number_option(const char *key, uint32_t other) {
    char text[TEXT];
    return option(key, text) ? (uint32_t)strtoul(text, NULL, 10) : other;
}

static bool is_evil(const char *way) {
    char text[TEXT];
    return option("evil", text) && strcmp(text, way) == 0;
}

// One of a list with colons between, in `text`.
static const char *item(const char *key, const char *other, uint32_t index, char text[TEXT]) {
    char list[TEXT], *rest = list, *next = NULL;
    if (!option(key, list)) snprintf(list, TEXT, "%s", other);
    for (uint32_t i = 0; i <= index; i++)
        if (!(next = strsep(&rest, ":"))) return NULL;
    snprintf(text, TEXT, "%s", next);
    return text;
}

static uint32_t fourcc(const char *text) {
    return (uint32_t)text[0] | (uint32_t)text[1] << 8 | (uint32_t)text[2] << 16 | (uint32_t)text[3] << 24;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static bool is_coded(uint32_t format) {
    return format == V4L2_PIX_FMT_MJPEG || format == V4L2_PIX_FMT_H264 || format == V4L2_PIX_FMT_HEVC;
}

static void choose(uint32_t format, uint32_t width, uint32_t height) {
    camera.format = format;
    camera.width = width;
    camera.height = height;
    const bool is_packed = format == V4L2_PIX_FMT_YUYV || format == V4L2_PIX_FMT_UYVY;
    const uint32_t bytes = format == V4L2_PIX_FMT_XBGR32 ? 4 : is_packed ? 2 : 1;
    camera.stride = is_coded(format) ? 0 : width * bytes;
    camera.size = is_coded(format) ? 4 << 20 : bytes == 1 ? width * height * 3 / 2 : width * height * bytes;
    camera.slot = (camera.size + 4095) & ~4095u;
}

// The frame's number as 16 blocks of 16x16 samples at the upper left, above gray.
static uint32_t draw(uint8_t *target, uint32_t number) {
    const uint32_t bytes = camera.stride / camera.width, luma = camera.format == V4L2_PIX_FMT_UYVY;
    if (bytes == 2)
        for (uint32_t i = 0; i < camera.size; i++) target[i] = i % 2 == luma ? 0x60 + number % 64 : (i / camera.stride) * 3;
    else
        memset(target, 0x60 + (int)(number % 64), camera.size);
    for (uint32_t y = 0; y < 16; y++)
        for (uint32_t x = 0; x < 256; x++) {
            uint8_t *pixel = target + y * camera.stride + x * bytes + (bytes == 2 ? luma : 0);
            memset(pixel, number >> (x / 16) & 1 ? 0xeb : 0x10, bytes == 4 ? 4 : 1);
        }
    return camera.size;
}

// Whether a picture begins at `at` of the file.
static bool begins(size_t at) {
    const uint8_t *p = camera.file + at;
    if (at + 5 > camera.file_size) return false;
    if (camera.format == V4L2_PIX_FMT_MJPEG) return p[0] == 0xff && p[1] == 0xd8 && p[2] == 0xff;
    if (p[0] || p[1] || p[2] || p[3] != 1) return false;
    return camera.format == V4L2_PIX_FMT_H264 ? (p[4] & 31) == 9 : (p[4] >> 1 & 63) == 35;
}

// The end of the parameter sets with which a picture of H.264 begins, behind `at` of the file.
static size_t end_of_header(size_t at, size_t end) {
    for (size_t i = at + 4; i + 4 < end; i++) {
        const uint8_t *p = camera.file + i;
        if (!p[0] && !p[1] && p[2] == 1 && (p[3] & 31) != 7 && (p[3] & 31) != 8) return i - (p[-1] == 0);
    }
    return end;
}

// Copies the next picture of the file, or passes over it.
static uint32_t copy_of_file(uint8_t *target) {
    char text[TEXT];
    if (!camera.file) {
        FILE *file = fopen(option("file", text) ? text : "", "rb");
        if (!file) abort();
        fseek(file, 0, SEEK_END);
        camera.file_size = (size_t)ftell(file);
        rewind(file);
        camera.file = malloc(camera.file_size);
        if (fread(camera.file, 1, camera.file_size, file) != camera.file_size) abort();
        fclose(file);
    }
    if (camera.file_at >= camera.file_size) camera.file_at = 0;
    size_t end = camera.file_at + 1;
    while (end < camera.file_size && !begins(end)) end++;
    if (target && camera.number == 0 && number_option("header", 0)) end = end_of_header(camera.file_at, end);
    const size_t size = end - camera.file_at;
    if (target) memcpy(target, camera.file + camera.file_at, size);
    camera.file_at = end;
    return (uint32_t)size;
}

static bool is_every(const char *key) {
    const uint32_t every = number_option(key, 0);
    return every && camera.number % every == every - 1;
}

static bool has_ended(void) { return camera.number >= number_option("frames", UINT32_MAX); }

static bool is_unplugged(void) {
    char text[TEXT];
    return has_ended() && !camera.filled && option("end", text) && strcmp(text, "unplug") == 0;
}

// Sends the next frame, if there is a buffer for it.
static void send_frame(int64_t time) {
    if (is_every("drop")) {
        if (is_coded(camera.format)) copy_of_file(NULL);
        camera.number++;
        if (has_ended()) return;
    }
    if (!camera.queued) {
        camera.number++;
        return;
    }
    const int index = camera.queue[0];
    memmove(camera.queue, camera.queue + 1, (size_t)--camera.queued * sizeof *camera.queue);
    struct v4l2_buffer *buffer = &camera.buffers[index];
    uint8_t *target = camera.memory + (size_t)index * camera.slot;
    buffer->bytesused = is_coded(camera.format) ? copy_of_file(target) : draw(target, camera.number);
    buffer->sequence = camera.number;
    buffer->flags = V4L2_BUF_FLAG_MAPPED | V4L2_BUF_FLAG_DONE | V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    if (is_every("error")) buffer->flags |= V4L2_BUF_FLAG_ERROR;
    if (is_every("short")) buffer->bytesused /= 2;
    if (is_evil("bytes")) buffer->bytesused = UINT32_MAX;
    if (is_evil("numbers")) buffer->sequence = camera.number * 2654435761u;
    if (is_evil("times")) time = camera.number % 3 ? time - 3600 * 1000000000LL : INT64_MAX / 2;
    if (is_evil("unnumbered")) buffer->sequence = 0;
    buffer->timestamp = (struct timeval){time / 1000000000, time % 1000000000 / 1000};
    camera.number++;
    camera.done[camera.filled++] = index;
}

static void advance(void) {
    if (!camera.streams) return;
    if (!number_option("paced", 0)) {
        if (!camera.filled && camera.queued && !has_ended()) send_frame(now());
        return;
    }
    const int64_t period = 1000000000 / number_option("rate", 30), time = now();
    while (!has_ended() && camera.start + camera.number * period <= time) send_frame(camera.start + camera.number * period);
}

static int set_error(int number) {
    errno = number;
    return -1;
}

// What it is and has.
static int describe(unsigned long request, void *argument) {
    char text[TEXT];
    switch (request) {
    case VIDIOC_QUERYCAP: {
        struct v4l2_capability *a = argument;
        memset(a, 0, sizeof *a);
        strcpy((char *)a->driver, "fake");
        strcpy((char *)a->card, "Fake camera");
        if (is_evil("text")) memset(a->card, 0xff, sizeof a->card);
        a->device_caps = is_evil("output") ? V4L2_CAP_VIDEO_OUTPUT : V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
        a->capabilities = a->device_caps | V4L2_CAP_DEVICE_CAPS;
        return 0;
    }
    case VIDIOC_ENUM_FMT: {
        struct v4l2_fmtdesc *a = argument;
        if (is_evil("endless")) a->pixelformat = V4L2_PIX_FMT_NV12;
        else if (!item("formats", "NV12", a->index, text)) return set_error(EINVAL);
        else a->pixelformat = fourcc(text);
        return 0;
    }
    case VIDIOC_ENUM_FRAMESIZES: {
        struct v4l2_frmsizeenum *a = argument;
        if (number_option("range", 0)) {
            if (a->index) return set_error(EINVAL);
            a->type = V4L2_FRMSIZE_TYPE_STEPWISE;
            a->stepwise = (struct v4l2_frmsize_stepwise){64, 4096, 16, 64, 2160, 8};
            return 0;
        }
        a->type = V4L2_FRMSIZE_TYPE_DISCRETE;
        const bool has = is_evil("endless") ? snprintf(text, TEXT, "%ux480", 640 + 2 * a->index) > 0
                                            : item("sizes", "640x480", a->index, text) != NULL;
        if (!has || sscanf(text, "%ux%u", &a->discrete.width, &a->discrete.height) != 2) return set_error(EINVAL);
        return 0;
    }
    case VIDIOC_ENUM_FRAMEINTERVALS: {
        struct v4l2_frmivalenum *a = argument;
        if (a->index && !is_evil("endless")) return set_error(EINVAL);
        a->type = V4L2_FRMIVAL_TYPE_DISCRETE;
        a->discrete = (struct v4l2_fract){is_evil("rates") ? 0 : 1, number_option("rate", 30)};
        return 0;
    }
    default: return set_error(ENOTTY);
    }
}

// What it is set to.
static int set(unsigned long request, void *argument) {
    switch (request) {
    case VIDIOC_S_FMT: {
        struct v4l2_format *a = argument;
        if (is_evil("busy")) return set_error(EBUSY);
        choose(a->fmt.pix.pixelformat, a->fmt.pix.width, a->fmt.pix.height);
        a->fmt.pix.bytesperline = is_evil("stride") ? camera.stride / 2 : camera.stride;
        if (is_evil("long-rows")) a->fmt.pix.bytesperline = UINT32_MAX;
        if (is_evil("format")) a->fmt.pix.pixelformat = V4L2_PIX_FMT_BGR24;
        if (is_evil("size")) a->fmt.pix.width = a->fmt.pix.height = UINT32_MAX;
        a->fmt.pix.sizeimage = camera.size;
        a->fmt.pix.colorspace = V4L2_COLORSPACE_REC709;
        a->fmt.pix.priv = V4L2_PIX_FMT_PRIV_MAGIC;
        return 0;
    }
    case VIDIOC_S_PARM: {
        struct v4l2_streamparm *a = argument;
        a->parm.capture.timeperframe = (struct v4l2_fract){1, number_option("rate", 30)};
        return is_evil("rates") ? set_error(ENOTTY) : 0;
    }
    default: return describe(request, argument);
    }
}

static int answer(unsigned long request, void *argument) {
    advance();
    if (is_unplugged()) return camera.unplugged = now(), set_error(ENODEV);
    switch (request) {
    case VIDIOC_REQBUFS: {
        struct v4l2_requestbuffers *a = argument;
        camera.count = a->count > BUFFERS ? BUFFERS : (int)a->count;
        if (ftruncate(camera.fd, (off_t)BUFFERS * camera.slot) != 0) return -1;
        camera.memory = mmap(NULL, (size_t)BUFFERS * camera.slot, PROT_READ | PROT_WRITE, MAP_SHARED, camera.fd, 0);
        if (camera.memory == MAP_FAILED) abort();
        a->count = is_evil("buffers") ? UINT32_MAX : (uint32_t)camera.count;
        return 0;
    }
    case VIDIOC_QUERYBUF: {
        struct v4l2_buffer *a = argument;
        a->length = is_evil("length") ? UINT32_MAX : camera.size;
        a->m.offset = a->index * camera.slot;
        return 0;
    }
    case VIDIOC_QBUF: {
        struct v4l2_buffer *a = argument;
        if ((int)a->index >= camera.count || camera.queued >= BUFFERS) return set_error(EINVAL);
        camera.queue[camera.queued++] = (int)a->index;
        return 0;
    }
    case VIDIOC_DQBUF: {
        struct v4l2_buffer *a = argument;
        if (!camera.filled) return set_error(EAGAIN);
        const int index = camera.done[0];
        memmove(camera.done, camera.done + 1, (size_t)--camera.filled * sizeof *camera.done);
        *a = camera.buffers[index];
        a->index = is_evil("index") ? 1000 : (uint32_t)index;
        return 0;
    }
    case VIDIOC_STREAMON:
        camera.streams = true;
        camera.number = 0;
        camera.start = now();
        return 0;
    case VIDIOC_STREAMOFF:
        camera.streams = false;
        camera.queued = camera.filled = 0;
        return 0;
    default: return set(request, argument);
    }
}

int ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (fd < 0 || fd != camera.fd) {
        int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
        return real(fd, request, argument);
    }
    pthread_mutex_lock(&lock);
    const int result = answer(request, argument);
    pthread_mutex_unlock(&lock);
    return result;
}

static int open_path(const char *name, const char *path, int flags, mode_t mode) {
    char text[TEXT];
    if (path && option("path", text) && strcmp(path, text) == 0) {
        if (is_evil("forbidden")) return set_error(EACCES);
        const int64_t away = number_option("away", UINT32_MAX) * 1000000LL;
        if (camera.unplugged && now() < camera.unplugged + away) return set_error(ENOENT);
        camera.unplugged = camera.number = camera.queued = camera.filled = camera.streams = 0;
        return camera.fd = memfd_create("fake-camera", MFD_CLOEXEC);
    }
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_path("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_path("open64", path, flags, mode);
}

int poll(struct pollfd *entries, nfds_t count, int timeout) {
    int (*real)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    nfds_t at = 0;
    while (at < count && (camera.fd < 0 || entries[at].fd != camera.fd)) at++;
    if (at == count) return real(entries, count, timeout);
    const int64_t end = timeout < 0 ? INT64_MAX : now() + timeout * 1000000LL;
    for (;;) {
        pthread_mutex_lock(&lock);
        advance();
        const short events = is_unplugged() ? POLLERR | POLLHUP : camera.filled ? POLLIN : 0;
        pthread_mutex_unlock(&lock);
        entries[at].fd = -1;
        const int ready = real(entries, count, events ? 0 : 1);
        entries[at].fd = camera.fd;
        entries[at].revents = events;
        if (ready != 0 || events || now() >= end) return ready + (events != 0);
    }
}
