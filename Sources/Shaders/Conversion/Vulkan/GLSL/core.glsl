// SPDX-License-Identifier: GPL-2.0-or-later
// The color conversion: ConversionPlan+Pixel.swift in fp32, with tables for curves. Specialization constants select the
// steps of a pipeline; `P` has its numbers.

layout(local_size_x_id = 19, local_size_y_id = 20) in;

// Pixel formats as ShaderParameters.swift numbers them.
const uint NV12 = 0, P010 = 1, YU12 = 2, I010 = 3, RGBA16F = 4, PACKED = 5;

layout(constant_id = 0) const uint SOURCE = P010;
layout(constant_id = 1) const uint TARGET = RGBA16F;
layout(constant_id = 2) const bool KEEPS_VALUES = false;
layout(constant_id = 3) const bool CLIPS_SOURCE = true;
layout(constant_id = 4) const bool CLIPS_TARGET = false;
layout(constant_id = 5) const bool SOURCE_LINEAR = false;
layout(constant_id = 6) const bool TARGET_LINEAR = true;
layout(constant_id = 7) const bool SOURCE_HLG = false;
layout(constant_id = 8) const bool TARGET_HLG = false;
layout(constant_id = 9) const bool TARGET_PQ = false;
layout(constant_id = 10) const bool TONE_MAPS = false;
layout(constant_id = 11) const bool UNPREMULTIPLIES = false;
layout(constant_id = 12) const bool PREMULTIPLIES = false;
layout(constant_id = 13) const bool DITHERS = false;
layout(constant_id = 14) const bool RESCALES = false;
// The siting of the source's chroma in half luma samples: x 0…1, y 0…2.
layout(constant_id = 15) const int SITING_X = 0;
layout(constant_id = 16) const int SITING_Y = 1;
// The filter of the target's chroma: −1 is the mean of two, else a tent [1 2 1]/4 centered on this sample.
layout(constant_id = 17) const int TENT_X = -1;
layout(constant_id = 18) const int TENT_Y = -1;

// Whether half floats are packed with integers: drivers may round packHalf2x16 either way and flush subnormals.
layout(constant_id = 21) const bool PACKS_BY_HAND = true;

// Whether codes are mapped before `decode` (mapping.glsl).
layout(constant_id = 22) const bool MAPS = false;

// Pixels of a row that an invocation writes; it always writes two rows.
layout(constant_id = 23) const int PIXELS = 4;

// Of PACKED, words of 32 bits: the lowest bits of R, G, B and alpha, the bits of a color and of alpha, each in five bits, and
// whether the bits of alpha are unused.
layout(constant_id = 24) const uint SOURCE_PACKING = 0u;
layout(constant_id = 25) const uint TARGET_PACKING = 0u;

#ifdef EFFECTS
// An effect of effects.glsl: its kind; its coding, and 0x100 for its flag; its size; its first entry. The numbers of its kind are
// a, b and c.xy, or the rows of a matrix; those of its coding: PQ's factor c.z, HLG's peak c.w, weights and exponent d.
struct Effect { uvec4 form; vec4 a; vec4 b; vec4 c; vec4 d; };
#endif

layout(std140, binding = 6) uniform Parameters {
    vec4 decode[3];
    vec4 light[3];
    vec4 encode[3];
    vec4 sourceLuma;  // w: entries of the forward table per unit of E'
    vec4 targetLuma;
    vec4 factor;      // where RESCALES
    vec4 offset;
    vec4 mapping[174];  // where MAPS: mapping.glsl
#ifdef EFFECTS
    uvec4 effectCount;
    Effect effects[16];
#endif
} P;

// forward (4096), log tables of 2946: inverse, display gain, scene gain, tone gain; forward of the lowest sixteenth (4096).
// Texels, because the indices differ from pixel to pixel.
layout(binding = 7) uniform samplerBuffer table;
const uint FORWARD = 4096, LOG = 2946;
const uint INVERSE = FORWARD, DISPLAY = FORWARD + LOG, SCENE = FORWARD + 2 * LOG, TONE = FORWARD + 3 * LOG;
const uint NEAR_ZERO = FORWARD + 4 * LOG;

layout(push_constant) uniform Place {
    uint sourceBase[3];    // bytes from a binding's start to its first row
    uint sourceStride[3];
    uint targetBase[3];
    uint targetStride[3];
    int width;
    int height;
    int firstRow;          // the picture rows that this dispatch writes; even
    int endRow;
    int sourceLuma;        // the planes' rows that the bindings begin with
    int sourceChroma;
    int targetLuma;
    int targetChroma;
} at;

// The parts of a packing.
uvec3 colorShifts(uint packing) { return uvec3(packing, packing >> 5, packing >> 10) & 31u; }
uint alphaShift(uint packing) { return packing >> 15 & 31u; }
uint colorTop(uint packing) { return (1u << (packing >> 20 & 31u)) - 1u; }
uint alphaTop(uint packing) { return (1u << (packing >> 25 & 31u)) - 1u; }
bool isOpaque(uint packing) { return packing >> 30 != 0u; }

vec3 affine(vec4 rows[3], vec3 v) {
    return vec3(dot(rows[0].xyz, v) + rows[0].w, dot(rows[1].xyz, v) + rows[1].w, dot(rows[2].xyz, v) + rows[2].w);
}

float entry(uint index) { return texelFetch(table, int(index)).r; }

float forwardOf(float value) {
    float position = min(abs(value) * P.sourceLuma.w, float(FORWARD - 1));
    bool isLow = position < float(FORWARD - 1) / 16.0;
    if (isLow) position *= 16.0;
    uint index = min(uint(position), FORWARD - 2);
    float fraction = position - float(index);
    if (isLow) index += NEAR_ZERO;
    float low = entry(index);
    float light = low + fraction * (entry(index + 1) - low);
    return CLIPS_SOURCE ? light : value < 0.0 ? -light : light;
}

// A log table (Tables.swift) at v ≥ 0.
float logTable(uint base, float v) {
    const uint low = 0x30800000u;  // 2^-30
    uint bits = min(floatBitsToUint(v), 0x477fffffu);
    bool isTiny = bits < low;
    uint relative = bits - low;
    uint index = base + (isTiny ? 0u : 1u + (relative >> 17));
    float fraction = isTiny ? v * 1073741824.0 : float(relative & 0x1ffffu) * (1.0 / 131072.0);
    float a = entry(index);
    return a + fraction * (entry(index + 1) - a);
}

float inverseOf(float light) {
    float value = logTable(INVERSE, abs(light));
    return light < 0.0 ? -value : value;
}

#include "mapping.glsl"
#ifdef EFFECTS
#include "effects.glsl"
#endif

vec3 toTarget(vec3 c, inout float alpha, ivec2 pixel) {
    if (CLIPS_SOURCE) c = clamp(c, 0.0, 1.0);
    if (!SOURCE_LINEAR) c = vec3(forwardOf(c.r), forwardOf(c.g), forwardOf(c.b));
    if (MAPS) c = mappedLight(c);
    if (SOURCE_HLG) {
        float luminance = dot(P.sourceLuma.xyz, c);
        c = luminance > 0.0 ? c * logTable(DISPLAY, luminance) : vec3(0.0);
    }
    if (TONE_MAPS) {
        float largest = max(c.r, max(c.g, c.b));
        if (largest > 0.0) c *= logTable(TONE, largest);
    }
    c = affine(P.light, c);
#ifdef EFFECTS
    applyEffects(c, alpha, pixel);
#endif
    if (TARGET_HLG) {
        float luminance = dot(P.targetLuma.xyz, c);
        c = luminance > 0.0 ? c * logTable(SCENE, luminance) : vec3(0.0);
    }
    if (!TARGET_LINEAR) c = vec3(inverseOf(c.r), inverseOf(c.g), inverseOf(c.b));
    if (CLIPS_TARGET) c = clamp(c, 0.0, 1.0);
    else if (TARGET_PQ) c = clamp(c, -1.0, 1.0);
    return c;
}

// Codes of the source, alpha 0…1 in w, at a pixel's column and row to codes of the target at full resolution, not rounded.
vec4 convert(vec4 codes, ivec2 pixel) {
    vec3 c = affine(P.decode, MAPS ? mapped(codes.rgb) : codes.rgb);
    float alpha = codes.a;
    if (UNPREMULTIPLIES) c = codes.a > 0.0 ? c / codes.a : vec3(0.0);
    if (!KEEPS_VALUES) c = toTarget(c, alpha, pixel);
    if (PREMULTIPLIES) c *= alpha;
    return vec4(affine(P.encode, c), alpha);
}

// The 8x8 Bayer pattern (ConversionPlan.dither): what is added before floor.
float addend(int x, int y) {
    if (!DITHERS) return 0.5;
    uint d = uint(x ^ y), b = uint(y);
    uint value = ((d & 1u) << 5) | ((b & 1u) << 4) | ((d & 2u) << 2) | ((b & 2u) << 1) | ((d & 4u) >> 1) | ((b & 4u) >> 2);
    return (float(value) + 0.5) / 64.0;
}

uint code(float value, float top, float add) { return uint(clamp(floor(value + add), 0.0, top)); }
