// SPDX-License-Identifier: GPL-2.0-or-later
// Any source to RGBA: an invocation writes four pixels of two rows.

layout(std430, binding = 3) writeonly buffer Target { uint target[]; };
layout(std430, binding = 3) writeonly buffer TargetPairs { uvec2 targetPairs[]; };

uint halves(vec2 pair) {
    return PACKS_BY_HAND ? halfBits(pair.x) | (halfBits(pair.y) << 16) : packHalf2x16(pair);
}

void store(int x, int y, vec4 c) {
    uint address = at.targetBase[0] + uint(y - at.targetLuma) * at.targetStride[0];
    if (TARGET == RGBA16F) {
        c = clamp(c, -65504.0, 65504.0);
        targetPairs[(address >> 3) + uint(x)] = uvec2(halves(c.rg), halves(c.ba));
    } else {
        float add = addend(x, y);
        uint r = code(c.r, 255.0, add), g = code(c.g, 255.0, add), b = code(c.b, 255.0, add);
        uint a = code(c.a * 255.0, 255.0, 0.5);
        target[(address >> 2) + uint(x)] =
            (TARGET == BGRA8 ? (b | (g << 8) | (r << 16)) : (r | (g << 8) | (b << 16))) | (a << 24);
    }
}

struct Row { vec2 c0; vec2 c1; vec2 c2; vec2 c3; };

// Chroma of one chroma row for four pixels from x = 2i on.
Row rowOfFour(int i, int j) {
    vec2 b = chromaAt(i, j), c = chromaAt(i + 1, j), d = chromaAt(i + 2, j);
    vec2 a = SITING_X == 0 ? b : chromaAt(i - 1, j);
    return Row(mix(b, a, EVEN_X), mix(b, c, ODD_X), mix(c, b, EVEN_X), mix(c, d, ODD_X));
}

Row blend(Row a, Row b, float t) {
    return Row(mix(a.c0, b.c0, t), mix(a.c1, b.c1, t), mix(a.c2, b.c2, t), mix(a.c3, b.c3, t));
}

void storeRow(int x, int y, vec4 luma, Row chroma) {
    store(x, y, convert(vec4(luma.x, chroma.c0, 1.0)));
    if (x + 1 < at.width) store(x + 1, y, convert(vec4(luma.y, chroma.c1, 1.0)));
    if (x + 2 < at.width) store(x + 2, y, convert(vec4(luma.z, chroma.c2, 1.0)));
    if (x + 3 < at.width) store(x + 3, y, convert(vec4(luma.w, chroma.c3, 1.0)));
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
    // A loop of two iterations, because drivers take long to compile eight copies of the conversion; four copies run
    // faster than one.
    [[dont_unroll]] for (int row = 0; row < 2; row++) {
        if (y + row >= at.endRow) break;
        bool isOdd = row != 0;
        Row chroma = here;
        if (isOdd ? SITING_Y != 2 : SITING_Y != 0)
            chroma = blend(here, rowOfFour(i, isOdd ? j + 1 : j - 1), isOdd ? ODD_Y : EVEN_Y);
        storeRow(x, y + row, lumaOfFour(x, y + row), chroma);
    }
}
