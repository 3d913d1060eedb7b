// SPDX-License-Identifier: GPL-2.0-or-later
// Source planes in buffers of words; rows begin at multiples of sixteen bytes.
#include "source.glsl"

layout(std430, binding = 0) readonly buffer Source0 { uint source0[]; };
layout(std430, binding = 0) readonly buffer Source0Pairs { uvec2 source0Pairs[]; };
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

// Luma of four pixels, or of two; x is a multiple of PIXELS, which is 2 or 4.
vec4 lumaFrom(int x, int y) {
    uint word = (rowAt(0, y) + uint(x) * (SOURCE_DEEP ? 2u : 1u)) >> 2;
    if (!SOURCE_DEEP) {
        uint a = source0[word];
        if (PIXELS == 2) a >>= (uint(x) & 2u) * 8u;
        return vec4(a & 0xffu, (a >> 8) & 0xffu, (a >> 16) & 0xffu, a >> 24);
    }
    // The second word may be beyond the row's last sample; rows are padded to sixteen bytes.
    uvec2 pair = PIXELS == 2 ? uvec2(source0[word]) : source0Pairs[word >> 1];
    return vec4(deep(pair.x), deep(pair.x >> 16), deep(pair.y), deep(pair.y >> 16));
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

// The bits of a pixel's half floats.
uvec4 halvesAt(int x, int y) {
    uvec2 pair = source0Pairs[(rowAt(0, y) >> 3) + uint(x)];
    return uvec4(pair.x & 0xffffu, pair.x >> 16, pair.y & 0xffffu, pair.y >> 16);
}

// The word of a pixel of PACKED.
uint wordAt(int x, int y) { return source0[(rowAt(0, y) >> 2) + uint(x)]; }
