// SPDX-License-Identifier: MIT
// Pixel formats and the framing of HEVC.
#include "base/internal.h"

enum { ROW_ALIGNMENT = 64 };

typedef struct format {
    uint32_t fourcc;
    uint8_t planes;
    uint8_t sample;    // bytes
    uint8_t per_pixel; // bytes of a pixel of RGB; 0: 4:2:0
} format;

static const format formats[] = {
    {HWD_NV12, 2, 1, 0}, {HWD_P010, 2, 2, 0}, {HWD_YU12, 3, 1, 0}, {HWD_I010, 3, 2, 0}, {HWD_YUVA, 4, 1, 0},
    {HWD_AR24, 1, 1, 4}, {HWD_AB24, 1, 1, 4}, {HWD_AB4H, 1, 2, 8},
    {HWD_AR30, 1, 4, 4}, {HWD_AB30, 1, 4, 4}, {HWD_XR30, 1, 4, 4}, {HWD_XB30, 1, 4, 4},
};

static const format *find(uint32_t fourcc) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].fourcc == fourcc) return &formats[i];
    return NULL;
}

uint32_t hwdi_side_data_size(uint32_t kind) {
    static const uint32_t sizes[] = {[HWD_MASTERING_DISPLAY] = 24, [HWD_CONTENT_LIGHT] = 4, [HWD_AMBIENT_VIEWING] = 8};
    return kind < sizeof sizes / sizeof *sizes ? sizes[kind] : 0;
}

int hwdi_planes(uint32_t fourcc) {
    const format *found = find(fourcc);
    return found ? found->planes : 0;
}

static void measure(const format *of, uint32_t width, uint32_t height, uint32_t plane, hwd_plane *out) {
    if (of->per_pixel || plane == 0 || plane == 3) {
        out->row_bytes = width * (of->per_pixel ? of->per_pixel : of->sample);
        out->rows = height;
    } else {
        // 4:2:0 rounds odd sizes up; Cb and Cr share a plane where there are two planes.
        out->row_bytes = (width + 1) / 2 * of->sample * (of->planes == 2 ? 2 : 1);
        out->rows = (height + 1) / 2;
    }
}

int hwdi_check_size(uint32_t width, uint32_t height) {
    if (width >= 1 && height >= 1 && width <= MAX_DIMENSION && height <= MAX_DIMENSION) return 0;
    return hwdi_fail(HWD_PARAMETER, "a frame of %ux%u is not between 1x1 and %dx%d", width, height, MAX_DIMENSION, MAX_DIMENSION);
}

int hwd_layout(uint32_t pixel_format, uint32_t width, uint32_t height, uint64_t offset, hwd_plane planes[HWD_MAX_PLANES],
               uint64_t *size) {
    const format *of = find(pixel_format);
    if (!of) return hwdi_fail(HWD_PARAMETER, "the pixel format is unknown");
    int result = hwdi_check_size(width, height);
    if (result < 0) return result;
    uint64_t start = offset;
    memset(planes, 0, HWD_MAX_PLANES * sizeof *planes);
    for (uint32_t i = 0; i < of->planes; i++) {
        measure(of, width, height, i, &planes[i]);
        planes[i].offset = offset;
        planes[i].stride = (planes[i].row_bytes + ROW_ALIGNMENT - 1) & ~(uint32_t)(ROW_ALIGNMENT - 1);
        offset += (uint64_t)planes[i].stride * planes[i].rows;
    }
    if (size) *size = offset - start;
    return of->planes;
}

const char *hwdi_check_planes(
    uint32_t fourcc, uint32_t width, uint32_t height, hwd_plane *planes, uint32_t count, uint64_t pool_size) {
    const format *of = find(fourcc);
    if (!of) return "the pixel format is unknown";
    if (count != of->planes) return "the number of planes is not the pixel format's";
    if (width < 1 || height < 1 || width > 1 << 16 || height > 1 << 16) return "the size is not possible";
    for (uint32_t i = 0; i < count; i++) {
        hwd_plane *plane = &planes[i];
        measure(of, width, height, i, plane);
        if (plane->stride < plane->row_bytes) return "a stride is shorter than a row";
        if (plane->stride > INT32_MAX) return "a stride is too large";
        if (plane->stride % of->sample || plane->offset % of->sample) return "an offset or stride is not aligned to its samples";
        // At most 2^16 rows of less than 2^31 bytes: no overflow. The last row needs only its samples.
        uint64_t extent = (uint64_t)plane->stride * (plane->rows - 1) + plane->row_bytes;
        if (plane->offset > pool_size || extent > pool_size - plane->offset) return "a plane ends past its pool";
    }
    return NULL;
}

static uint32_t big_endian_32(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

int hwd_annex_b(const void *packet, size_t size, void *out) {
    const uint8_t *in = packet;
    uint8_t *to = out;
    size_t at = 0;
    while (at < size) {
        if (size - at < 4) return hwdi_fail(-EINVAL, "a packet ends within a length");
        uint32_t length = big_endian_32(in + at);
        if (length > size - at - 4) return hwdi_fail(-EINVAL, "a NAL unit ends past its packet");
        memcpy(to + at, "\0\0\0\1", 4);
        memmove(to + at + 4, in + at + 4, length);
        at += 4 + (size_t)length;
    }
    return 0;
}

int hwd_parameter_sets(const void *record, size_t size, void *out, size_t capacity, size_t *written) {
    const uint8_t *in = record;
    uint8_t *to = out;
    size_t at = 23, total = 0;
    if (!in || !written) return hwdi_fail(-EINVAL, "hwd_parameter_sets needs a record and a pointer for the size");
    *written = 0;
    // ISO/IEC 14496-15, 8.3.3.1.2: 22 bytes, numOfArrays, then arrays of NAL units with 2-byte lengths.
    if (size < 23 || in[0] != 1) return hwdi_fail(-EINVAL, "the record is no hvcC record");
    for (uint32_t arrays = in[22]; arrays > 0; arrays--) {
        if (size - at < 3) return hwdi_fail(-EINVAL, "the hvcC record ends within an array");
        uint32_t units = (uint32_t)in[at + 1] << 8 | in[at + 2];
        at += 3;
        for (; units > 0; units--) {
            if (size - at < 2) return hwdi_fail(-EINVAL, "the hvcC record ends within a length");
            size_t length = (size_t)in[at] << 8 | in[at + 1];
            at += 2;
            if (length > size - at) return hwdi_fail(-EINVAL, "a parameter set ends past the hvcC record");
            if (to && total + 4 + length <= capacity) {
                memcpy(to + total, "\0\0\0\1", 4);
                memcpy(to + total + 4, in + at, length);
            }
            total += 4 + length;
            at += length;
        }
    }
    *written = total;
    return !to || total <= capacity ? 0 : hwdi_fail(-ENOSPC, "the parameter sets have %zu bytes", total);
}

int hwd_byte_stream(const hwd_event *event, uint8_t **bytes, size_t *size) {
    if (!event || !bytes || !size) return hwdi_fail(-EINVAL, "hwd_byte_stream needs an event, and pointers to the bytes and their size");
    *bytes = NULL;
    *size = 0;
    const bool is_format = event->type == HWD_EVENT_FORMAT;
    if (!is_format && event->type != HWD_EVENT_PACKET) return 0;
    size_t length = event->data_size;
    int result = is_format ? hwd_parameter_sets(event->data, event->data_size, NULL, 0, &length) : 0;
    if (result < 0 || length == 0) return result;
    uint8_t *out = malloc(length);
    if (!out) return hwdi_fail_errno(ENOMEM, "a byte stream");
    result = is_format ? hwd_parameter_sets(event->data, event->data_size, out, length, &length)
                       : hwd_annex_b(event->data, length, out);
    if (result < 0) {
        free(out);
        return result;
    }
    *bytes = out;
    *size = length;
    return 0;
}
