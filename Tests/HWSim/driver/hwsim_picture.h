// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_PICTURE_H
#define HWSIM_PICTURE_H

#include <stdint.h>

// One picture's samples, 4:2:0 in two planes as in NV12: luma, then Cb and Cr by turns. A depth of 8 has a byte a
// sample; a depth of 10 is P010, a little-endian 16-bit word a sample that holds the value << 6.
struct hwsim_picture {
    int width, height;  // of luma, in samples
    int depth;
    uint8_t *planes[2];
    int strides[2];  // in bytes
};

#endif
