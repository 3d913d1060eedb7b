// SPDX-License-Identifier: GPL-2.0-or-later
// Any source to RGBA: an invocation writes PIXELS pixels of two rows. Where those are sixteen bytes a row,
// neighboring invocations store adjacent vectors, which cross a bus many times as fast as stores with gaps between
// them.

layout(std430, binding = 3) writeonly buffer Target { uint target[]; };
layout(std430, binding = 3) writeonly buffer TargetPairs { uvec2 targetPairs[]; };
layout(std430, binding = 3) writeonly buffer TargetQuads { uvec4 targetQuads[]; };

uvec2 halves(vec4 c) {
    c = clamp(c, -65504.0, 65504.0);
    if (!PACKS_BY_HAND) return uvec2(packHalf2x16(c.rg), packHalf2x16(c.ba));
    return uvec2(halfBits(c.r) | (halfBits(c.g) << 16), halfBits(c.b) | (halfBits(c.a) << 16));
}

uint wordOf(int x, int y, vec4 c) {
    float add = addend(x, y), top = float(colorTop(TARGET_PACKING)), most = float(alphaTop(TARGET_PACKING));
    uvec3 color = uvec3(code(c.r, top, add), code(c.g, top, add), code(c.b, top, add)) << colorShifts(TARGET_PACKING);
    uint alpha = isOpaque(TARGET_PACKING) ? alphaTop(TARGET_PACKING) : code(c.a * most, most, 0.5);
    return color.r | color.g | color.b | (alpha << alphaShift(TARGET_PACKING));
}

// Stores words from `word` on; only the first `count` are inside the row.
void store(uint word, uvec4 words, int count) {
    if (count >= 4) {
        targetQuads[word >> 2] = words;
        return;
    }
    target[word] = words.x;
    if (count > 1) target[word + 1u] = words.y;
    if (count > 2) target[word + 2u] = words.z;
}

// Codes of the source for neighboring pixels; the last two where PIXELS is 4.
struct Pixels { vec4 p0; vec4 p1; vec4 p2; vec4 p3; };

void storeRow(int x, int y, Pixels codes) {
    uint row = (at.targetBase[0] + uint(y - at.targetLuma) * at.targetStride[0]) >> 2;
    int count = at.width - x;
#ifdef EFFECTS
    // One copy of the conversion, which is long here.
    uvec4 words = uvec4(0u);
    [[dont_unroll]] for (int k = 0; k < PIXELS; k++) {
        vec4 own = k == 0 ? codes.p0 : k == 1 ? codes.p1 : k == 2 ? codes.p2 : codes.p3;
        vec4 c = convert(own, ivec2(x + k, y));
        if (TARGET != RGBA16F) words = uvec4(words.yzw, wordOf(x + k, y, c));
        else if (PIXELS == 2) words = uvec4(words.zw, halves(c));
        else if (k < count) targetPairs[(row >> 1) + uint(x + k)] = halves(c);
    }
    if (TARGET != RGBA16F) store(row + uint(x), words, count);
    else if (PIXELS == 2) store(row + uint(x) * 2u, words, 2 * count);
#else
    if (TARGET == RGBA16F && PIXELS == 4) {
        // On a CPU (lavapipe), one pixel at a time needs fewer registers.
        uint pair = (row >> 1) + uint(x);
        targetPairs[pair] = halves(convert(codes.p0, ivec2(x, y)));
        if (count > 1) targetPairs[pair + 1u] = halves(convert(codes.p1, ivec2(x + 1, y)));
        if (count > 2) targetPairs[pair + 2u] = halves(convert(codes.p2, ivec2(x + 2, y)));
        if (count > 3) targetPairs[pair + 3u] = halves(convert(codes.p3, ivec2(x + 3, y)));
        return;
    }
    vec4 a = convert(codes.p0, ivec2(x, y)), b = convert(codes.p1, ivec2(x + 1, y));
    if (TARGET == RGBA16F) {
        store(row + uint(x) * 2u, uvec4(halves(a), halves(b)), 2 * count);
    } else {
        vec4 c = convert(codes.p2, ivec2(x + 2, y)), d = convert(codes.p3, ivec2(x + 3, y));
        uvec4 words = uvec4(wordOf(x, y, a), wordOf(x + 1, y, b), wordOf(x + 2, y, c), wordOf(x + 3, y, d));
        store(row + uint(x), words, count);
    }
#endif
}

struct Row { vec2 c0; vec2 c1; vec2 c2; vec2 c3; };

// Chroma of one chroma row for pixels from x = 2i on.
Row chromaFrom(int i, int j) {
    vec2 b = chromaAt(i, j), c = chromaAt(i + 1, j), d = PIXELS == 4 ? chromaAt(i + 2, j) : c;
    vec2 a = SITING_X == 0 ? b : chromaAt(i - 1, j);
    return Row(mix(b, a, EVEN_X), mix(b, c, ODD_X), mix(c, b, EVEN_X), mix(c, d, ODD_X));
}

Row blend(Row a, Row b, float t) {
    return Row(mix(a.c0, b.c0, t), mix(a.c1, b.c1, t), mix(a.c2, b.c2, t), mix(a.c3, b.c3, t));
}

void main() {
    int x = int(gl_GlobalInvocationID.x) * PIXELS;
    int y = at.firstRow + int(gl_GlobalInvocationID.y) * 2;
    if (x >= at.width || y >= at.endRow) return;
    int i = x >> 1, j = y >> 1, last = at.width - 1;
    Row here;
    if (SOURCE_YCBCR) here = chromaFrom(i, j);
    // A loop of two iterations, because drivers take long to compile eight copies of the conversion; four copies run
    // faster than one.
    [[dont_unroll]] for (int row = y; row < min(y + 2, at.endRow); row++) {
        Pixels codes;
        if (SOURCE_YCBCR) {
            bool isOdd = row != y;
            Row chroma = here;
            if (isOdd ? SITING_Y != 2 : SITING_Y != 0)
                chroma = blend(here, chromaFrom(i, isOdd ? j + 1 : j - 1), isOdd ? ODD_Y : EVEN_Y);
            vec4 luma = lumaFrom(x, row);
            codes = Pixels(
                vec4(luma.x, chroma.c0, 1.0), vec4(luma.y, chroma.c1, 1.0), vec4(luma.z, chroma.c2, 1.0),
                vec4(luma.w, chroma.c3, 1.0));
        } else {
            codes.p0 = sourceAt(x, row);
            codes.p1 = sourceAt(min(x + 1, last), row);
            if (PIXELS == 4) {
                codes.p2 = sourceAt(min(x + 2, last), row);
                codes.p3 = sourceAt(min(x + 3, last), row);
            }
        }
        storeRow(x, row, codes);
    }
}
