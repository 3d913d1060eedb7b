// SPDX-License-Identifier: GPL-2.0-or-later
#include "faults/spoil.h"

void spoil_bytes(struct bytes *bytes) {
    for (size_t i = 0; i + 8 < bytes->count; i++)
        if (!bytes->data[i] && !bytes->data[i + 1] && bytes->data[i + 2] == 1) i += 8;
        else bytes->data[i] = (uint8_t)(bytes->data[i] * 37 + 0x55) | 4;
}

void invert_picture(const struct hwsim_picture *picture) {
    int width = picture->width * (picture->depth > 8 ? 2 : 1);
    for (int y = 0; y < picture->height; y++)
        for (int x = 0; x < width; x++)
            // The lowest six bits of P010's words stay zero.
            picture->planes[0][(ptrdiff_t)y * picture->strides[0] + x] ^= picture->depth > 8 && x % 2 == 0 ? 0xc0 : 0xff;
}
