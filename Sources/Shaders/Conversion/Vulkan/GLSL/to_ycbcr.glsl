// SPDX-License-Identifier: GPL-2.0-or-later
// Any source to Y'CbCr 4:2:0: an invocation writes eight pixels of two rows, so that every store is a whole word.

layout(std430, binding = 3) writeonly buffer Target0 { uint target0[]; };
layout(std430, binding = 4) writeonly buffer Target1 { uint target1[]; };
layout(std430, binding = 5) writeonly buffer Target2 { uint target2[]; };

const bool DEEP = TARGET == P010 || TARGET == I010;
const bool PAIRS = TARGET == NV12 || TARGET == P010;
#define TOP (DEEP ? 1023.0 : 255.0)
#define SHIFT (TARGET == P010 ? 6u : 0u)

uint wordOf(int plane, int row) {
    int first = plane == 0 ? at.targetLuma : at.targetChroma;
    return (at.targetBase[plane] + uint(row - first) * at.targetStride[plane]) >> 2;
}

uint sampleCode(float value, int x, int y) { return code(value, TOP, addend(x, y)) << SHIFT; }

// The result for a column of pixels: luma of rows 2j and 2j+1, and vertically filtered chroma.
struct Column { vec2 luma; vec2 chroma; };

Column columnAt(int x, int j) {
    x = clamp(x, 0, at.width - 1);
    int y = 2 * j, below = min(y + 1, at.height - 1);
    if (RESCALES) {
        vec2 luma = vec2(lumaAt(x, y), lumaAt(x, below));
        return Column(luma * P.factor.x + P.offset.x, vec2(0.0));
    }
    vec3 a = convert(sourceAt(x, y)).rgb, b = convert(sourceAt(x, below)).rgb;
    vec2 chroma = 0.5 * (a.yz + b.yz);
    if (TENT_Y == 0) chroma = 0.25 * (convert(sourceAt(x, max(y - 1, 0))).yz + b.yz) + 0.5 * a.yz;
    if (TENT_Y == 1) chroma = 0.25 * (a.yz + convert(sourceAt(x, min(y + 2, at.height - 1))).yz) + 0.5 * b.yz;
    return Column(vec2(a.x, b.x), chroma);
}

void main() {
    int x0 = int(gl_GlobalInvocationID.x) * 8;
    int y = at.firstRow + int(gl_GlobalInvocationID.y) * 2, j = y >> 1;
    if (x0 >= at.width || y >= at.endRow) return;
    bool hasBelow = y + 1 < at.endRow;
    uint row0 = wordOf(0, y), row1 = wordOf(0, y + 1), rowCb = wordOf(1, j), rowCr = PAIRS ? 0u : wordOf(2, j);
    uint luma0 = 0u, luma1 = 0u, wordCb = 0u, wordCr = 0u;
    vec2 left = vec2(0.0);
    if (TENT_X == 0 && !RESCALES) left = columnAt(x0 - 1, j).chroma;
    [[dont_unroll]] for (int k = 0; k < 4; k++) {
        int x = x0 + 2 * k, i = x >> 1;
        if (x >= at.width) break;
        Column a = columnAt(x, j), b = columnAt(x + 1, j);
        vec2 chroma = TENT_X == 0 ? 0.25 * (left + b.chroma) + 0.5 * a.chroma : 0.5 * (a.chroma + b.chroma);
        left = b.chroma;
        if (RESCALES) chroma = chromaAt(i, j) * P.factor.yz + P.offset.yz;
        uint cb = sampleCode(chroma.x, i, j), cr = sampleCode(chroma.y, i, j);
        uint a0 = sampleCode(a.luma.x, x, y), b0 = sampleCode(b.luma.x, x + 1, y);
        uint a1 = sampleCode(a.luma.y, x, y + 1), b1 = sampleCode(b.luma.y, x + 1, y + 1);
        bool isLast = x + 2 >= at.width, isOdd = (k & 1) != 0;
        uint half16 = isOdd ? 16u : 0u, quarter = uint(x0 >> 2) + uint(k >> 1);
        if (DEEP) {
            target0[row0 + uint(i)] = a0 | (b0 << 16);
            if (hasBelow) target0[row1 + uint(i)] = a1 | (b1 << 16);
        } else {
            luma0 |= (a0 | (b0 << 8)) << half16;
            luma1 |= (a1 | (b1 << 8)) << half16;
            if (isOdd || isLast) {
                target0[row0 + quarter] = luma0;
                if (hasBelow) target0[row1 + quarter] = luma1;
                luma0 = luma1 = 0u;
            }
        }
        if (PAIRS && DEEP) {
            target1[rowCb + uint(i)] = cb | (cr << 16);
        } else if (PAIRS) {
            wordCb |= (cb | (cr << 8)) << half16;
            if (isOdd || isLast) {
                target1[rowCb + quarter] = wordCb;
                wordCb = 0u;
            }
        } else {
            uint shift = DEEP ? half16 : uint(k) * 8u;
            wordCb |= cb << shift;
            wordCr |= cr << shift;
            if (isLast || (DEEP ? isOdd : k == 3)) {
                uint word = DEEP ? quarter : uint(x0 >> 3);
                target1[rowCb + word] = wordCb;
                target2[rowCr + word] = wordCr;
                wordCb = wordCr = 0u;
            }
        }
    }
}
