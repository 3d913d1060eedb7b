// SPDX-License-Identifier: GPL-2.0-or-later
// Pixels of the source, whose planes buffers.glsl or images.glsl reads.

#include "halves.glsl"

// Cb and Cr at a chroma position, clamped to the plane.
vec2 chromaAt(int i, int j) {
    return chromaOf(clamp(i, 0, ((at.width + 1) >> 1) - 1), clamp(j, 0, ((at.height + 1) >> 1) - 1));
}

// Bilinear weights of the farther chroma sample for even and odd luma samples.
#define EVEN_X (float(SITING_X) * 0.25)
#define ODD_X (float(2 - SITING_X) * 0.25)
#define EVEN_Y (float(SITING_Y) * 0.25)
#define ODD_Y (float(2 - SITING_Y) * 0.25)

vec2 chromaRow(int x, int j) {
    int i = x >> 1;
    bool isOdd = (x & 1) != 0;
    vec2 here = chromaAt(i, j), beside = chromaAt(isOdd ? i + 1 : i - 1, j);
    return mix(here, beside, isOdd ? ODD_X : EVEN_X);
}

// A pixel's codes with interpolated chroma, alpha in w.
vec4 sourceAt(int x, int y) {
    if (SOURCE == RGBA16F) {
        uvec4 p = halvesAt(x, y);
        return vec4(halfOf(p.r), halfOf(p.g), halfOf(p.b), clamp(halfOf(p.a), 0.0, 1.0));
    }
    if (SOURCE == PACKED) {
        uint word = wordAt(x, y), top = alphaTop(SOURCE_PACKING);
        uvec3 color = (uvec3(word) >> colorShifts(SOURCE_PACKING)) & colorTop(SOURCE_PACKING);
        float alpha = float((word >> alphaShift(SOURCE_PACKING)) & top) / float(top);
        return vec4(color, isOpaque(SOURCE_PACKING) ? 1.0 : alpha);
    }
    int j = y >> 1;
    bool isOdd = (y & 1) != 0;
    vec2 here = chromaRow(x, j), beside = chromaRow(x, isOdd ? j + 1 : j - 1);
    return vec4(lumaAt(x, y), mix(here, beside, isOdd ? ODD_Y : EVEN_Y), 1.0);
}
