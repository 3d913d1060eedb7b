// SPDX-License-Identifier: GPL-2.0-or-later
// Source planes in images, one for each plane: tiled dma-bufs. Unsigned integer formats avoid rounding, and P010 words read
// as R16_UNORM would be wrong by 65535/65472.
#include "source.glsl"

layout(binding = 0) uniform utexture2D plane0;
layout(binding = 1) uniform utexture2D plane1;

uint sampleOf(uint word) { return SOURCE_DEEP ? deep(word) : word; }

float lumaAt(int x, int y) { return float(sampleOf(texelFetch(plane0, ivec2(x, y), 0).r)); }

// Luma of four pixels, or of the first two where PIXELS is 2. Pixels beyond the row's end repeat the last and are not used.
vec4 lumaFrom(int x, int y) {
    int last = at.width - 1;
    return vec4(lumaAt(x, y), lumaAt(min(x + 1, last), y), lumaAt(min(x + 2, last), y), lumaAt(min(x + 3, last), y));
}

vec2 chromaOf(int i, int j) {
    uvec2 pair = texelFetch(plane1, ivec2(i, j), 0).rg;
    return vec2(sampleOf(pair.r), sampleOf(pair.g));
}

// The bits of a pixel's half floats.
uvec4 halvesAt(int x, int y) { return texelFetch(plane0, ivec2(x, y), 0); }

// The word of a pixel of PACKED, from an image of bytes.
uint wordAt(int x, int y) {
    uvec4 p = texelFetch(plane0, ivec2(x, y), 0);
    return p.r | (p.g << 8) | (p.b << 16) | (p.a << 24);
}
