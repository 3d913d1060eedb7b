// SPDX-License-Identifier: GPL-2.0-or-later
// Surfaces to the encoder's planes and back.
#include "coder/frame.h"

#include <stdlib.h>
#include <string.h>

#include "coder/clones.h"

bool frame_allocate(struct frame *frame, int width, int height) {
    if (frame->width == width && frame->height == height && frame->planes[0]) return true;
    frame_free(frame);
    size_t luma = (size_t)width * (size_t)height;
    uint16_t *memory = calloc(luma + luma / 2, sizeof *memory);
    if (!memory) return false;
    *frame = (struct frame){
        .width = width,
        .height = height,
        .planes = {memory, memory + luma, memory + luma + luma / 4},
        .strides = {width, width / 2, width / 2},
    };
    return true;
}

void frame_free(struct frame *frame) {
    free(frame->planes[0]);
    *frame = (struct frame){0};
}

// One line each. `restrict`, because bytes may otherwise be a part of anything.
INLINE void load8(uint16_t *restrict out, const uint8_t *restrict in, int count) {
    for (int x = 0; x < count; x++) out[x] = in[x];
}

INLINE void load10(uint16_t *restrict out, const uint16_t *restrict in, int count) {
    for (int x = 0; x < count; x++) out[x] = in[x] >> 6;
}

INLINE void part8(uint16_t *restrict cb, uint16_t *restrict cr, const uint8_t *restrict in, int count) {
    for (int x = 0; x < count; x++) cb[x] = in[2 * x], cr[x] = in[2 * x + 1];
}

INLINE void part10(uint16_t *restrict cb, uint16_t *restrict cr, const uint16_t *restrict in, int count) {
    for (int x = 0; x < count; x++) cb[x] = in[2 * x] >> 6, cr[x] = in[2 * x + 1] >> 6;
}

INLINE void store8(uint8_t *restrict out, const uint16_t *restrict in, int count) {
    for (int x = 0; x < count; x++) out[x] = (uint8_t)in[x];
}

INLINE void store10(uint16_t *restrict out, const uint16_t *restrict in, int count) {
    for (int x = 0; x < count; x++) out[x] = (uint16_t)(in[x] << 6);
}

INLINE void join8(uint8_t *restrict out, const uint16_t *restrict cb, const uint16_t *restrict cr, int count) {
    for (int x = 0; x < count; x++) out[2 * x] = (uint8_t)cb[x], out[2 * x + 1] = (uint8_t)cr[x];
}

INLINE void join10(uint16_t *restrict out, const uint16_t *restrict cb, const uint16_t *restrict cr, int count) {
    for (int x = 0; x < count; x++) out[2 * x] = (uint16_t)(cb[x] << 6), out[2 * x + 1] = (uint16_t)(cr[x] << 6);
}

static uint8_t *line_of(const struct hwsim_picture *picture, int plane, int y) {
    return picture->planes[plane] + (size_t)y * (size_t)picture->strides[plane];
}

static uint16_t *row_of(const struct frame *frame, int component, int y) {
    return frame->planes[component] + (size_t)y * (size_t)frame->strides[component];
}

CLONES void frame_load(struct frame *frame, const struct hwsim_picture *picture) {
    bool ten = picture->depth == 10;
    for (int y = 0; y < frame->height; y++) {
        uint8_t *line = line_of(picture, 0, y);
        if (ten) load10(row_of(frame, 0, y), (const void *)line, frame->width);
        else load8(row_of(frame, 0, y), line, frame->width);
    }
    for (int y = 0; y < frame->height / 2; y++) {
        uint8_t *line = line_of(picture, 1, y);
        if (ten) part10(row_of(frame, 1, y), row_of(frame, 2, y), (const void *)line, frame->width / 2);
        else part8(row_of(frame, 1, y), row_of(frame, 2, y), line, frame->width / 2);
    }
}

CLONES void frame_store(const struct frame *frame, struct hwsim_picture *picture) {
    bool ten = picture->depth == 10;
    for (int y = 0; y < frame->height; y++) {
        uint8_t *line = line_of(picture, 0, y);
        if (ten) store10((void *)line, row_of(frame, 0, y), frame->width);
        else store8(line, row_of(frame, 0, y), frame->width);
    }
    for (int y = 0; y < frame->height / 2; y++) {
        uint8_t *line = line_of(picture, 1, y);
        if (ten) join10((void *)line, row_of(frame, 1, y), row_of(frame, 2, y), frame->width / 2);
        else join8(line, row_of(frame, 1, y), row_of(frame, 2, y), frame->width / 2);
    }
}
