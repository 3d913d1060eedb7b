// SPDX-License-Identifier: GPL-2.0-or-later
// Reading source planes: words of buffers whose rows begin at multiples of four bytes (of eight for half floats).

layout(std430, binding = 0) readonly buffer Source0 { uint source0[]; };
layout(std430, binding = 1) readonly buffer Source1 { uint source1[]; };
layout(std430, binding = 2) readonly buffer Source2 { uint source2[]; };

const bool SOURCE_DEEP = SOURCE == P010 || SOURCE == I010;
const bool SOURCE_PAIRS = SOURCE == NV12 || SOURCE == P010;
const bool SOURCE_YCBCR = SOURCE <= I010;

// One 10-bit sample of a word's lower half.
uint deep(uint word) { return SOURCE == P010 ? (word & 0xffffu) >> 6 : word & 0x3ffu; }

// The word that holds a plane's byte `x` of row `row`.
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

// Cb and Cr at a chroma place, which is clamped to the plane.
vec2 chromaAt(int i, int j) {
    i = clamp(i, 0, ((at.width + 1) >> 1) - 1);
    j = clamp(j, 0, ((at.height + 1) >> 1) - 1);
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

// Weights of the nearer chroma samples' neighbours for even and odd luma samples: bilinear.
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

// One half float: NaN is 0, infinities are the largest values; by integers, so that subnormals stay on every device.
float halfOf(uint bits) {
    uint size = bits & 0x7fffu;
    float value = size < 0x400u ? float(size) * (1.0 / 16777216.0) : uintBitsToFloat((size << 13) + 0x38000000u);
    if (size >= 0x7c00u) value = size > 0x7c00u ? 0.0 : 65504.0;
    return (bits & 0x8000u) != 0u ? -value : value;
}

// A pixel's codes with chroma brought to it, alpha in w.
vec4 sourceAt(int x, int y) {
    if (SOURCE == RGBA16F) {
        uint word = (rowAt(0, y) >> 2) + uint(x) * 2u;
        uint low = source0[word], high = source0[word + 1u];
        return vec4(halfOf(low), halfOf(low >> 16), halfOf(high), clamp(halfOf(high >> 16), 0.0, 1.0));
    }
    if (SOURCE == RGBA8 || SOURCE == BGRA8) {
        uint word = source0[(rowAt(0, y) >> 2) + uint(x)];
        vec4 bytes = vec4(word & 0xffu, (word >> 8) & 0xffu, (word >> 16) & 0xffu, word >> 24);
        return vec4(SOURCE == BGRA8 ? bytes.bgr : bytes.rgb, bytes.a / 255.0);
    }
    int j = y >> 1;
    bool isOdd = (y & 1) != 0;
    vec2 here = chromaRow(x, j), beside = chromaRow(x, isOdd ? j + 1 : j - 1);
    return vec4(lumaAt(x, y), mix(here, beside, isOdd ? ODD_Y : EVEN_Y), 1.0);
}
