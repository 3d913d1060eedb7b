// SPDX-License-Identifier: GPL-2.0-or-later
// Any source to Y'CbCr 4:2:0: an invocation converts PIXELS pixels of two rows and collects whole words of every plane, so
// that neighboring invocations store neighboring words.

#define PLANE(index, Words, words, Pairs, pairs, Quads, quads, store) \
    layout(std430, binding = index) writeonly buffer Words { uint words[]; }; \
    layout(std430, binding = index) writeonly buffer Pairs { uvec2 pairs[]; }; \
    layout(std430, binding = index) writeonly buffer Quads { uvec4 quads[]; }; \
    /* Stores the last words of `all` from `word` on, as many as PIXELS pixels fill of which two have `bits`; \
       the row ends after `count` words. */ \
    void store(uint word, uvec4 all, uint bits, uint count) { \
        uint whole = uint(PIXELS) * bits / 64u; \
        if (whole == 1u) words[word] = all.w; \
        else if (whole == 2u && count >= 2u) pairs[word >> 1] = all.zw; \
        else if (whole == 2u) words[word] = all.z; \
        else if (count >= 4u) quads[word >> 2] = all; \
        else { \
            words[word] = all.x; \
            if (count > 1u) words[word + 1u] = all.y; \
            if (count > 2u) words[word + 2u] = all.z; \
        } \
    }
PLANE(3, Words0, words0, Pairs0, pairs0, Quads0, quads0, store0)
PLANE(4, Words1, words1, Pairs1, pairs1, Quads1, quads1, store1)
PLANE(5, Words2, words2, Pairs2, pairs2, Quads2, quads2, store2)

const bool DEEP = TARGET == P010 || TARGET == I010;
const bool PAIRS = TARGET == NV12 || TARGET == P010;
#define TOP (DEEP ? 1023.0 : 255.0)
#define SHIFT (TARGET == P010 ? 6u : 0u)
// Bits of a sample, and of each plane for two pixels.
#define SAMPLE (DEEP ? 16u : 8u)
#define LUMA (2u * SAMPLE)
#define CHROMA (PAIRS ? LUMA : SAMPLE)

// Whether two neighboring invocations share a word of chroma. With twice the pixels each would fill one, but
// neighbors would then load half floats with wide gaps between them.
const bool SHARES = TARGET == YU12 && PIXELS == 4;
shared uint halfWords[128];

uint rowOf(int plane, int row) {
    int first = plane == 0 ? at.targetLuma : at.targetChroma;
    return (at.targetBase[plane] + uint(row - first) * at.targetStride[plane]) >> 2;
}

// Drops the first `count` of 128 bits and adds `bits` at the end.
uvec4 append(uvec4 all, uint bits, uint count) {
    uvec4 next = uvec4(all.yzw, bits);
    return count == 32u ? next : (all >> count) | (next << (32u - count));
}

uint sampleCode(float value, int x, int y) { return code(value, TOP, addend(x, y)) << SHIFT; }

// The result for a column of pixels: luma of rows 2j and 2j+1, and vertically filtered chroma.
struct Column { vec2 luma; vec2 chroma; };

vec3 convertedAt(int x, int y) { return convert(sourceAt(x, y), ivec2(x, y)).rgb; }

Column columnAt(int x, int j) {
    x = clamp(x, 0, at.width - 1);
    int y = 2 * j, below = min(y + 1, at.height - 1);
    if (RESCALES) {
        vec2 luma = vec2(lumaAt(x, y), lumaAt(x, below));
        return Column(luma * P.factor.x + P.offset.x, vec2(0.0));
    }
#ifdef EFFECTS
    // One copy of the conversion, which is long here.
    vec3 a, b, other;
    [[dont_unroll]] for (int k = TENT_Y == 0 ? -1 : 0; k < (TENT_Y == 1 ? 3 : 2); k++) {
        vec3 own = convertedAt(x, clamp(y + k, 0, at.height - 1));
        if (k == 0) a = own;
        else if (k == 1) b = own;
        else other = own;
    }
#else
    vec3 a = convertedAt(x, y), b = convertedAt(x, below), other;
    if (TENT_Y == 0) other = convertedAt(x, max(y - 1, 0));
    if (TENT_Y == 1) other = convertedAt(x, min(y + 2, at.height - 1));
#endif
    vec2 chroma = 0.5 * (a.yz + b.yz);
    if (TENT_Y == 0) chroma = 0.25 * (other.yz + b.yz) + 0.5 * a.yz;
    if (TENT_Y == 1) chroma = 0.25 * (a.yz + other.yz) + 0.5 * b.yz;
    return Column(vec2(a.x, b.x), chroma);
}

// The samples of an invocation, as `append` collects them.
struct Block { uvec4 luma0; uvec4 luma1; uvec4 chroma1; uvec4 chroma2; };

Block blockAt(int x0, int y) {
    int j = y >> 1;
    Block block = Block(uvec4(0u), uvec4(0u), uvec4(0u), uvec4(0u));
    vec2 left = vec2(0.0);
#ifndef EFFECTS
    if (TENT_X == 0 && !RESCALES) left = columnAt(x0 - 1, j).chroma;
#endif
    [[dont_unroll]] for (int x = x0; x < x0 + PIXELS; x += 2) {
        int i = x >> 1;
#ifdef EFFECTS
        Column a, b;
        [[dont_unroll]] for (int k = TENT_X == 0 && x == x0 ? -1 : 0; k < 2; k++) {
            Column own = columnAt(x + k, j);
            if (k < 0) left = own.chroma;
            else if (k == 0) a = own;
            else b = own;
        }
#else
        Column a = columnAt(x, j), b = columnAt(x + 1, j);
#endif
        vec2 chroma = TENT_X == 0 ? 0.25 * (left + b.chroma) + 0.5 * a.chroma : 0.5 * (a.chroma + b.chroma);
        left = b.chroma;
        if (RESCALES) chroma = chromaAt(i, j) * P.factor.yz + P.offset.yz;
        uint cb = sampleCode(chroma.x, i, j), cr = sampleCode(chroma.y, i, j);
        uint above = sampleCode(a.luma.x, x, y) | (sampleCode(b.luma.x, x + 1, y) << SAMPLE);
        uint below = sampleCode(a.luma.y, x, y + 1) | (sampleCode(b.luma.y, x + 1, y + 1) << SAMPLE);
        block.luma0 = append(block.luma0, above, LUMA);
        block.luma1 = append(block.luma1, below, LUMA);
        block.chroma1 = append(block.chroma1, PAIRS ? cb | (cr << SAMPLE) : cb, CHROMA);
        if (!PAIRS) block.chroma2 = append(block.chroma2, cr, CHROMA);
    }
    return block;
}

void storeLuma(int x0, int y, Block block) {
    uint word = uint(x0) * SAMPLE / 32u, count = (uint(at.width - x0) * SAMPLE + 31u) / 32u;
    store0(rowOf(0, y) + word, block.luma0, LUMA, count);
    if (y + 1 < at.endRow) store0(rowOf(0, y + 1) + word, block.luma1, LUMA, count);
}

void storeChroma(int x0, int j, Block block) {
    uint pairs = uint(at.width - x0 + 1) >> 1;
    uint word = uint(x0 >> 1) * CHROMA / 32u, count = (pairs * CHROMA + 31u) / 32u;
    store1(rowOf(1, j) + word, block.chroma1, CHROMA, count);
    if (!PAIRS) store2(rowOf(2, j) + word, block.chroma2, CHROMA, count);
}

// Stores the samples of two neighbors as one word: the first stores Cb, the second Cr.
void storeShared(int x0, int j, uint own) {
    uint even = halfWords[own & ~1u], odd = halfWords[own | 1u], word = uint(x0 >> 3);
    if ((own & 1u) == 0u) words1[rowOf(1, j) + word] = (even & 0xffffu) | (odd << 16);
    else words2[rowOf(2, j) + word] = (even >> 16) | (odd & 0xffff0000u);
}

void main() {
    int x0 = int(gl_GlobalInvocationID.x) * PIXELS;
    int y = at.firstRow + int(gl_GlobalInvocationID.y) * 2;
    uint own = gl_LocalInvocationIndex;
    if (x0 < at.width && y < at.endRow) {
        Block block = blockAt(x0, y);
        storeLuma(x0, y, block);
        if (SHARES) halfWords[own] = (block.chroma1.w >> 16) | (block.chroma2.w & 0xffff0000u);
        else storeChroma(x0, y >> 1, block);
    }
    if (SHARES) {
        barrier();
        if ((x0 & ~7) < at.width && y < at.endRow) storeShared(x0, y >> 1, own);
    }
}
