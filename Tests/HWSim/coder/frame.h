// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_FRAME_H
#define HWSIM_FRAME_H

#include <stdbool.h>

#include "driver/hwsim_picture.h"

// A 4:2:0 picture as the encoder works on it: three planes, a 16-bit word a sample, its size whole 8x8 blocks.
struct frame {
    int width, height;
    uint16_t *planes[3];
    int strides[3];  // in samples
};

bool frame_allocate(struct frame *, int width, int height);
void frame_free(struct frame *);
// The picture may be larger than the frame, not smaller.
void frame_load(struct frame *, const struct hwsim_picture *);
void frame_store(const struct frame *, struct hwsim_picture *);

#endif
