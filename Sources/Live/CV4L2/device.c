// SPDX-License-Identifier: GPL-2.0-or-later
#include "CHWDV4L2.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

static int request(int device, unsigned long number, void *argument) {
    int result;
    do result = ioctl(device, number, argument);
    while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : 0;
}

static void copy_text(char *target, const uint8_t *source, size_t size) {
    memcpy(target, source, size);
    target[size] = 0;
}

int hwd_v4l2_open(const char *path) {
    int device = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return device < 0 ? -errno : device;
}

int hwd_v4l2_query(int device, hwd_v4l2_camera *camera) {
    struct v4l2_capability answer = {0};
    int result = request(device, VIDIOC_QUERYCAP, &answer);
    if (result < 0) return result;
    copy_text(camera->driver, answer.driver, sizeof answer.driver);
    copy_text(camera->card, answer.card, sizeof answer.card);
    copy_text(camera->bus, answer.bus_info, sizeof answer.bus_info);
    // The device's own, where a driver has several nodes: one of a camera is for its metadata.
    const uint32_t all = answer.capabilities & V4L2_CAP_DEVICE_CAPS ? answer.device_caps : answer.capabilities;
    const bool streams = all & V4L2_CAP_STREAMING;
    camera->captures = streams && all & V4L2_CAP_VIDEO_CAPTURE && !(all & (V4L2_CAP_VIDEO_M2M | V4L2_CAP_VIDEO_OUTPUT));
    camera->is_multiplanar = streams && all & V4L2_CAP_VIDEO_CAPTURE_MPLANE && !(all & V4L2_CAP_VIDEO_CAPTURE);
    return 0;
}

int hwd_v4l2_format(int device, uint32_t index, uint32_t *fourcc) {
    struct v4l2_fmtdesc answer = {.index = index, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    int result = request(device, VIDIOC_ENUM_FMT, &answer);
    *fourcc = answer.pixelformat;
    return result;
}

int hwd_v4l2_size(int device, uint32_t fourcc, uint32_t index, hwd_v4l2_range *size) {
    struct v4l2_frmsizeenum answer = {.index = index, .pixel_format = fourcc};
    int result = request(device, VIDIOC_ENUM_FRAMESIZES, &answer);
    if (result < 0) return result;
    const struct v4l2_frmsize_stepwise *steps = &answer.stepwise;
    *size = answer.type == V4L2_FRMSIZE_TYPE_DISCRETE
        ? (hwd_v4l2_range){true, {answer.discrete.width, answer.discrete.height}, {0}, {0}}
        : (hwd_v4l2_range){
              false,
              {steps->min_width, steps->min_height},
              {steps->max_width, steps->max_height},
              {steps->step_width, steps->step_height}};
    return 0;
}

int hwd_v4l2_interval(
    int device, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index, hwd_v4l2_range *interval) {
    struct v4l2_frmivalenum answer = {.index = index, .pixel_format = fourcc, .width = width, .height = height};
    int result = request(device, VIDIOC_ENUM_FRAMEINTERVALS, &answer);
    if (result < 0) return result;
    const struct v4l2_frmival_stepwise *steps = &answer.stepwise;
    *interval = answer.type == V4L2_FRMIVAL_TYPE_DISCRETE
        ? (hwd_v4l2_range){true, {answer.discrete.numerator, answer.discrete.denominator}, {0}, {0}}
        : (hwd_v4l2_range){
              false,
              {steps->min.numerator, steps->min.denominator},
              {steps->max.numerator, steps->max.denominator},
              {steps->step.numerator, steps->step.denominator}};
    return 0;
}

int hwd_v4l2_set(int device, hwd_v4l2_setting *setting) {
    struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    struct v4l2_pix_format *pixels = &format.fmt.pix;
    pixels->width = setting->width;
    pixels->height = setting->height;
    pixels->pixelformat = setting->fourcc;
    pixels->priv = V4L2_PIX_FMT_PRIV_MAGIC;
    pixels->field = V4L2_FIELD_NONE;
    int result = request(device, VIDIOC_S_FMT, &format);
    if (result < 0) return result;
    setting->width = pixels->width;
    setting->height = pixels->height;
    setting->fourcc = pixels->pixelformat;
    setting->stride = pixels->bytesperline;
    setting->size = pixels->sizeimage;
    setting->colorspace = pixels->colorspace;
    setting->is_field = pixels->field == V4L2_FIELD_ALTERNATE || pixels->field == V4L2_FIELD_TOP
        || pixels->field == V4L2_FIELD_BOTTOM;
    // Without the mark, what follows in the structure means nothing.
    const bool is_extended = pixels->priv == V4L2_PIX_FMT_PRIV_MAGIC;
    setting->transfer = is_extended ? pixels->xfer_func : 0;
    setting->encoding = is_extended ? pixels->ycbcr_enc : 0;
    setting->quantization = is_extended ? pixels->quantization : 0;

    struct v4l2_streamparm rate = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    rate.parm.capture.timeperframe = (struct v4l2_fract){setting->numerator, setting->denominator};
    // A driver without rates is no fault.
    const bool is_known = request(device, VIDIOC_S_PARM, &rate) == 0;
    setting->numerator = is_known ? rate.parm.capture.timeperframe.numerator : 0;
    setting->denominator = is_known ? rate.parm.capture.timeperframe.denominator : 0;
    return 0;
}

int hwd_v4l2_allocate(int device, uint32_t count) {
    struct v4l2_requestbuffers answer = {
        .count = count, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    int result = request(device, VIDIOC_REQBUFS, &answer);
    return result < 0 ? result : answer.count > INT32_MAX ? -EOVERFLOW : (int)answer.count;
}

int hwd_v4l2_buffer(int device, uint32_t index, uint32_t *offset, uint32_t *length) {
    struct v4l2_buffer answer = {
        .index = index, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    int result = request(device, VIDIOC_QUERYBUF, &answer);
    *offset = answer.m.offset;
    *length = answer.length;
    return result;
}

int hwd_v4l2_queue(int device, uint32_t index) {
    struct v4l2_buffer buffer = {
        .index = index, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    return request(device, VIDIOC_QBUF, &buffer);
}

int hwd_v4l2_start(int device) {
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    return request(device, VIDIOC_STREAMON, &type);
}

int hwd_v4l2_stop(int device) {
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    return request(device, VIDIOC_STREAMOFF, &type);
}

int hwd_v4l2_dequeue(int device, hwd_v4l2_frame *frame) {
    struct v4l2_buffer buffer = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    int result = request(device, VIDIOC_DQBUF, &buffer);
    if (result < 0) return result;
    const int64_t seconds = buffer.timestamp.tv_sec, micros = buffer.timestamp.tv_usec;
    frame->index = buffer.index;
    frame->bytes = buffer.bytesused;
    frame->sequence = buffer.sequence;
    frame->is_damaged = buffer.flags & V4L2_BUF_FLAG_ERROR;
    frame->is_timed = (buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC && seconds >= 0
        && seconds < INT64_MAX / 1000000000 - 1 && micros >= 0 && micros < 1000000;
    frame->time = frame->is_timed ? seconds * 1000000000 + micros * 1000 : 0;
    return 0;
}
