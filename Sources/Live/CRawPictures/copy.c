// SPDX-License-Identifier: GPL-2.0-or-later
#include "CHWDRawPictures.h"

#include <stddef.h>
#include <string.h>

static uint32_t up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

static bool is_size(uint32_t width, uint32_t height) {
    return width > 0 && height > 0 && width <= HWD_RAW_MAX_SIDE && height <= HWD_RAW_MAX_SIDE;
}

int hwd_raw_plane_count(hwd_raw_layout layout) {
    switch (layout) {
    case HWD_RAW_NV12:
    case HWD_RAW_P010: return 2;
    case HWD_RAW_YU12: return 3;
    default: return 1;
    }
}

static uint32_t row_bytes(hwd_raw_layout layout, int plane, uint32_t width) {
    const uint32_t pairs = (width + 1) / 2;
    switch (layout) {
    case HWD_RAW_NV12: return plane == 0 ? width : pairs * 2;
    case HWD_RAW_YU12: return plane == 0 ? width : pairs;
    case HWD_RAW_P010: return plane == 0 ? width * 2 : pairs * 4;
    case HWD_RAW_YUYV:
    case HWD_RAW_UYVY: return pairs * 4;
    case HWD_RAW_RGBX:
    case HWD_RAW_RGBA: return width * 4;
    case HWD_RAW_RGBA16F: return width * 8;
    }
    return 0;
}

static uint32_t row_count(int plane, uint32_t height) { return plane == 0 ? height : (height + 1) / 2; }

bool hwd_raw_fits(hwd_raw_layout layout, uint32_t width, uint32_t height, const hwd_raw_source *source) {
    if (!is_size(width, height)) return false;
    for (int plane = 0; plane < hwd_raw_plane_count(layout); plane++) {
        const uint64_t row = row_bytes(layout, plane, width);
        if (row == 0 || !source->base[plane] || source->stride[plane] < row) return false;
        // Below 2^14 rows of less than 2^32 bytes: no overflow.
        if ((row_count(plane, height) - 1) * (uint64_t)source->stride[plane] + row > source->size[plane]) return false;
    }
    return true;
}

bool hwd_raw_can_have(hwd_raw_layout layout, uint32_t width, uint32_t stride) {
    return width <= HWD_RAW_MAX_SIDE && stride >= row_bytes(layout, 0, width) && stride <= 1 << 20;
}

bool hwd_raw_split(
    hwd_raw_layout layout, uint32_t width, uint32_t height, const void *data, uint64_t size, uint32_t stride,
    hwd_raw_source *source) {
    if (!is_size(width, height) || !data) return false;
    const bool is_padded = stride == 0;
    if (is_padded) stride = up(row_bytes(layout, 0, width), 4);
    uint64_t offset = 0;
    memset(source, 0, sizeof *source);
    for (int plane = 0; plane < hwd_raw_plane_count(layout); plane++) {
        if (offset > size) return false;
        // Planes of Cb and Cr have rows of half of luma's length, interleaved ones of the same.
        const uint32_t own = plane == 0 || layout != HWD_RAW_YU12 ? stride
            : is_padded                                           ? up((width + 1) / 2, 4)
                                                                  : stride / 2;
        source->base[plane] = (const uint8_t *)data + offset;
        source->size[plane] = size - offset;
        source->stride[plane] = own;
        offset += (uint64_t)own * row_count(plane, plane == 0 && is_padded ? up(height, 2) : height);
    }
    return hwd_raw_fits(layout, width, height, source);
}

static void copy_rows(
    const uint8_t *source, uint32_t source_stride, uint8_t *target, uint32_t target_stride, uint32_t bytes, uint32_t rows) {
    for (uint32_t row = 0; row < rows; row++)
        memcpy(target + (size_t)row * target_stride, source + (size_t)row * source_stride, bytes);
}

// Two rows of interleaved 4:2:2 to two of luma and one of chroma. `luma`: the byte of the first luma sample, 0 or 1.
static void halve_packed(
    const uint8_t *restrict above, const uint8_t *restrict below, int luma, uint32_t width, uint8_t *restrict first,
    uint8_t *restrict second, uint8_t *restrict chroma) {
    for (uint32_t x = 0; x < width; x++) first[x] = above[2 * x + luma];
    if (second)
        for (uint32_t x = 0; x < width; x++) second[x] = below[2 * x + luma];
    const uint32_t values = (width + 1) / 2 * 2;
    for (uint32_t x = 0; x < values; x++)
        chroma[x] = (uint8_t)((above[2 * x + 1 - luma] + below[2 * x + 1 - luma] + 1) >> 1);
}

static void copy_packed(
    int luma, uint32_t width, uint32_t height, const hwd_raw_source *source, const hwd_raw_target *target) {
    const size_t stride = source->stride[0], luma_stride = target->stride[0];
    for (uint32_t y = 0; y < height; y += 2) {
        const uint8_t *above = source->base[0] + y * stride;
        uint8_t *first = target->base[0] + y * luma_stride;
        const bool has_second = y + 1 < height;
        halve_packed(
            above, has_second ? above + stride : above, luma, width, first, has_second ? first + luma_stride : NULL,
            target->base[1] + (size_t)(y / 2) * target->stride[1]);
    }
}

void hwd_raw_copy_422(
    uint32_t width, uint32_t height, const hwd_raw_source *source, const hwd_raw_target *target) {
    copy_rows(source->base[0], source->stride[0], target->base[0], target->stride[0], width, height);
    const uint32_t values = (width + 1) / 2;
    for (int plane = 1; plane < 3; plane++)
        for (uint32_t y = 0; y < height; y += 2) {
            const uint8_t *above = source->base[plane] + (size_t)y * source->stride[plane];
            const uint8_t *below = y + 1 < height ? above + source->stride[plane] : above;
            uint8_t *row = target->base[plane] + (size_t)(y / 2) * target->stride[plane];
            for (uint32_t x = 0; x < values; x++) row[x] = (uint8_t)((above[x] + below[x] + 1) >> 1);
        }
}

void hwd_raw_copy(
    hwd_raw_layout layout, uint32_t width, uint32_t height, const hwd_raw_source *source, const hwd_raw_target *target) {
    switch (layout) {
    case HWD_RAW_YUYV: return copy_packed(0, width, height, source, target);
    case HWD_RAW_UYVY: return copy_packed(1, width, height, source, target);
    case HWD_RAW_RGBX:
        for (uint32_t y = 0; y < height; y++) {
            const uint8_t *from = source->base[0] + (size_t)y * source->stride[0];
            uint8_t *to = target->base[0] + (size_t)y * target->stride[0];
            for (uint32_t x = 0; x < width; x++) {
                uint32_t pixel;
                memcpy(&pixel, from + 4 * x, 4);
                pixel |= 0xff000000;
                memcpy(to + 4 * x, &pixel, 4);
            }
        }
        return;
    default:
        for (int plane = 0; plane < hwd_raw_plane_count(layout); plane++)
            copy_rows(
                source->base[plane], source->stride[plane], target->base[plane], target->stride[plane],
                row_bytes(layout, plane, width), row_count(plane, height));
    }
}
