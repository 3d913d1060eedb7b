// SPDX-License-Identifier: GPL-2.0-or-later
// Surfaces to the encoder's planes and back.
#include "frame.h"

#include <stdlib.h>
#include <string.h>

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

void frame_load(struct frame *frame, const struct hwsim_picture *picture) {
    for (int y = 0; y < frame->height; y++) {
        uint16_t *out = frame->planes[0] + (size_t)y * (size_t)frame->strides[0];
        const uint8_t *row = picture->planes[0] + (size_t)y * (size_t)picture->strides[0];
        const uint16_t *wide = (const void *)row;
        if (picture->depth == 8)
            for (int x = 0; x < frame->width; x++) out[x] = row[x];
        else
            for (int x = 0; x < frame->width; x++) out[x] = wide[x] >> 6;
    }
    for (int y = 0; y < frame->height / 2; y++) {
        uint16_t *cb = frame->planes[1] + (size_t)y * (size_t)frame->strides[1];
        uint16_t *cr = frame->planes[2] + (size_t)y * (size_t)frame->strides[2];
        const uint8_t *row = picture->planes[1] + (size_t)y * (size_t)picture->strides[1];
        const uint16_t *wide = (const void *)row;
        if (picture->depth == 8)
            for (int x = 0; x < frame->width / 2; x++) cb[x] = row[2 * x], cr[x] = row[2 * x + 1];
        else
            for (int x = 0; x < frame->width / 2; x++) cb[x] = wide[2 * x] >> 6, cr[x] = wide[2 * x + 1] >> 6;
    }
}

void frame_store(const struct frame *frame, struct hwsim_picture *picture) {
    for (int y = 0; y < frame->height; y++) {
        const uint16_t *in = frame->planes[0] + (size_t)y * (size_t)frame->strides[0];
        uint8_t *row = picture->planes[0] + (size_t)y * (size_t)picture->strides[0];
        uint16_t *wide = (void *)row;
        if (picture->depth == 8)
            for (int x = 0; x < frame->width; x++) row[x] = (uint8_t)in[x];
        else
            for (int x = 0; x < frame->width; x++) wide[x] = (uint16_t)(in[x] << 6);
    }
    for (int y = 0; y < frame->height / 2; y++) {
        const uint16_t *cb = frame->planes[1] + (size_t)y * (size_t)frame->strides[1];
        const uint16_t *cr = frame->planes[2] + (size_t)y * (size_t)frame->strides[2];
        uint8_t *row = picture->planes[1] + (size_t)y * (size_t)picture->strides[1];
        uint16_t *wide = (void *)row;
        if (picture->depth == 8)
            for (int x = 0; x < frame->width / 2; x++) row[2 * x] = (uint8_t)cb[x], row[2 * x + 1] = (uint8_t)cr[x];
        else
            for (int x = 0; x < frame->width / 2; x++)
                wide[2 * x] = (uint16_t)(cb[x] << 6), wide[2 * x + 1] = (uint16_t)(cr[x] << 6);
    }
}
