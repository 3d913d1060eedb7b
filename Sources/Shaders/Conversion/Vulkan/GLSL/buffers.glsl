// SPDX-License-Identifier: GPL-2.0-or-later
// Source planes in buffers of words; rows begin at multiples of four bytes (eight for half floats).
#include "source.glsl"

layout(std430, binding = 0) readonly buffer Source0 { uint source0[]; };
layout(std430, binding = 1) readonly buffer Source1 { uint source1[]; };
layout(std430, binding = 2) readonly buffer Source2 { uint source2[]; };

// The byte offset of a plane's row.
uint rowAt(int plane, int row) {
    int first = plane == 0 ? at.sourceLuma : at.sourceChroma;
    return at.sourceBase[plane] + uint(row - first) * at.sourceStride[plane];
}

float lumaAt(int x, int y) {
    if (SOURCE_DEEP) {
        uint address = rowAt(0, y) + uint(x) * 2u;
        return float(deep(source0[address >> 2] >> ((address & 2u) * 8u)));
    }
    uint address = rowAt(0, y) + uint(x);
    return float((source0[address >> 2] >> ((address & 3u) * 8u)) & 0xffu);
}

// Luma of four pixels; x is a multiple of four.
vec4 lumaOfFour(int x, int y) {
    uint word = (rowAt(0, y) + uint(x) * (SOURCE_DEEP ? 2u : 1u)) >> 2;
    uint a = source0[word];
    if (!SOURCE_DEEP) return vec4(a & 0xffu, (a >> 8) & 0xffu, (a >> 16) & 0xffu, a >> 24);
    // The second word may be beyond the row's last sample; rows are padded to sixteen bytes.
    uint b = source0[word + 1u];
    return vec4(deep(a), deep(a >> 16), deep(b), deep(b >> 16));
}

// Cb and Cr at a position of the chroma planes.
vec2 chromaOf(int i, int j) {
    if (SOURCE_PAIRS && SOURCE_DEEP) {
        uint word = source1[(rowAt(1, j) >> 2) + uint(i)];
        return vec2(deep(word), deep(word >> 16));
    }
    if (SOURCE_PAIRS) {
        uint address = rowAt(1, j) + uint(i) * 2u;
        uint word = source1[address >> 2] >> ((address & 2u) * 8u);
        return vec2(word & 0xffu, (word >> 8) & 0xffu);
    }
    uint x = uint(i) * (SOURCE_DEEP ? 2u : 1u);
    uint a = rowAt(1, j) + x, b = rowAt(2, j) + x;
    uint cb = source1[a >> 2] >> ((a & 3u) * 8u), cr = source2[b >> 2] >> ((b & 3u) * 8u);
    return SOURCE_DEEP ? vec2(deep(cb), deep(cr)) : vec2(cb & 0xffu, cr & 0xffu);
}

// The four components of an RGB pixel in memory order: bytes, or bits of half floats.
uvec4 pixelOf(int x, int y) {
    uint row = rowAt(0, y) >> 2;
    if (SOURCE == RGBA16F) {
        uint low = source0[row + uint(x) * 2u], high = source0[row + uint(x) * 2u + 1u];
        return uvec4(low & 0xffffu, low >> 16, high & 0xffffu, high >> 16);
    }
    uint word = source0[row + uint(x)];
    return uvec4(word & 0xffu, (word >> 8) & 0xffu, (word >> 16) & 0xffu, word >> 24);
}
