#version 450
// SPDX-License-Identifier: GPL-2.0-or-later
// Anything to R, G, B, A: four pixels of two rows an invocation.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "core.glsl"
#include "load.glsl"

layout(std430, binding = 3) writeonly buffer Target { uint target[]; };
layout(std430, binding = 3) writeonly buffer TargetPairs { uvec2 targetPairs[]; };

void store(int x, int y, vec4 c) {
    uint address = at.targetBase[0] + uint(y - at.targetLuma) * at.targetStride[0];
    if (TARGET == RGBA16F) {
        c = clamp(c, -65504.0, 65504.0);
        targetPairs[(address >> 3) + uint(x)] = uvec2(packHalf2x16(c.rg), packHalf2x16(c.ba));
    } else {
        float add = addend(x, y);
        uint r = code(c.r, 255.0, add), g = code(c.g, 255.0, add), b = code(c.b, 255.0, add);
        uint a = code(c.a * 255.0, 255.0, 0.5);
        target[(address >> 2) + uint(x)] =
            (TARGET == BGRA8 ? (b | (g << 8) | (r << 16)) : (r | (g << 8) | (b << 16))) | (a << 24);
    }
}

// Luma of four pixels from a multiple of four.
vec4 lumaOfFour(int x, int y) {
    uint word = (rowAt(0, y) + uint(x) * (SOURCE_DEEP ? 2u : 1u)) >> 2;
    uint a = source0[word];
    if (!SOURCE_DEEP) return vec4(a & 0xffu, (a >> 8) & 0xffu, (a >> 16) & 0xffu, a >> 24);
    // The second word may lie behind the row's last sample; rows are padded to sixteen bytes.
    uint b = source0[word + 1u];
    return vec4(deep(a), deep(a >> 16), deep(b), deep(b >> 16));
}

struct Row { vec2 c0; vec2 c1; vec2 c2; vec2 c3; };

// Chroma of a chroma row for four pixels from x = 2i.
Row rowOfFour(int i, int j) {
    vec2 b = chromaAt(i, j), c = chromaAt(i + 1, j), d = chromaAt(i + 2, j);
    vec2 a = SITING_X == 0 ? b : chromaAt(i - 1, j);
    return Row(mix(b, a, EVEN_X), mix(b, c, ODD_X), mix(c, b, EVEN_X), mix(c, d, ODD_X));
}

Row blend(Row a, Row b, float t) {
    return Row(mix(a.c0, b.c0, t), mix(a.c1, b.c1, t), mix(a.c2, b.c2, t), mix(a.c3, b.c3, t));
}

void main() {
    int x = int(gl_GlobalInvocationID.x) * 4;
    int y = at.firstRow + int(gl_GlobalInvocationID.y) * 2;
    if (x >= at.width || y >= at.endRow) return;
    if (!SOURCE_YCBCR) {
        for (int row = y; row < min(y + 2, at.endRow); row++)
            for (int column = x; column < min(x + 4, at.width); column++)
                store(column, row, convert(sourceAt(column, row)));
        return;
    }
    int i = x >> 1, j = y >> 1;
    Row here = rowOfFour(i, j);
    Row even = here, odd = here;
    if (SITING_Y != 0) even = blend(here, rowOfFour(i, j - 1), EVEN_Y);
    if (SITING_Y != 2) odd = blend(here, rowOfFour(i, j + 1), ODD_Y);
    vec4 above = lumaOfFour(x, y), below = lumaOfFour(x, min(y + 1, at.height - 1));
    vec3 codes[8] = vec3[](
        vec3(above.x, even.c0), vec3(above.y, even.c1), vec3(above.z, even.c2), vec3(above.w, even.c3),
        vec3(below.x, odd.c0), vec3(below.y, odd.c1), vec3(below.z, odd.c2), vec3(below.w, odd.c3));
    int columns = min(at.width - x, 4), rows = min(at.endRow - y, 2);
    // A loop, because eight copies of the core take drivers long to compile.
    [[dont_unroll]] for (int pixel = 0; pixel < 8; pixel++) {
        int column = pixel & 3, row = pixel >> 2;
        if (column < columns && row < rows) store(x + column, y + row, convert(vec4(codes[pixel], 1.0)));
    }
}
