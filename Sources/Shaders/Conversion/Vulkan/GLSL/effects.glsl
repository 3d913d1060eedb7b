// SPDX-License-Identifier: GPL-2.0-or-later
// Effects on light: CPixels/effects.h and powers.h in GLSL; EffectNumbers.swift writes what they read. Kinds are branches of
// one loop, because drivers inline every call.

// Kinds and codings as CPixels.h numbers them.
const uint KIND_MATRIX = 0, KIND_CODED = 1, KIND_CDL = 2, KIND_VIGNETTE = 3, KIND_CURVE = 4, KIND_KEY = 5, KIND_DESPILL = 6;
const uint KIND_LINE_LUT = 7, KIND_CUBE_LUT = 8, KIND_BACKGROUND = 9;
const uint CODING_SRGB = 1, CODING_GAMMA24 = 2, CODING_PQ = 3, CODING_HLG = 4, CODING_ACESCCT = 5;

// A bit for each kind and each coding of the list; branches of others are not in the pipeline.
layout(constant_id = 26) const uint KINDS = 0x3ffu;
layout(constant_id = 27) const uint CODINGS = 0x3fu;

bool isKind(uint own, uint kind) { return (KINDS >> kind & 1u) != 0u && own == kind; }
bool isCoding(uint own, uint coding) { return (CODINGS >> coding & 1u) != 0u && own == coding; }

// Rows of tables and pieces of curves.
layout(std430, binding = 8) readonly buffer Entries { float entries[]; };

const float TINY = 1.17549435e-38;

// Powers by polynomials, because log2 and exp2 of devices are too coarse for PQ's exponents.

// The logarithm to base 2 of normal positive numbers, to about 1e-7 of the result or of 1.
vec3 log2Of(vec3 x) {
    ivec3 bits = floatBitsToInt(x), e = (bits - 0x3f3504f3) >> 23;
    vec3 m = intBitsToFloat(bits - (e << 23));
    vec3 s = (m - 1.0) / (m + 1.0), q = s * s;
    vec3 sum = q * 0.32059889 + 0.41219858;
    sum = sum * q + 0.57707802;
    sum = sum * q + 0.96179670;
    sum = sum * q + 2.88539008;
    return vec3(e) + sum * s;
}

// 2 to a power, which is limited to −126 … 127.
vec3 exp2Of(vec3 x) {
    x = clamp(x, -126.0, 127.0);
    ivec3 whole = ivec3(x + 128.5) - 128;
    vec3 t = x - vec3(whole);
    vec3 sum = t * 1.5403530e-4 + 1.3333558e-3;
    sum = sum * t + 9.6181291e-3;
    sum = sum * t + 5.5504109e-2;
    sum = sum * t + 0.24022651;
    sum = sum * t + 0.69314718;
    sum = sum * t + 1.0;
    return intBitsToFloat(floatBitsToInt(sum) + (whole << 23));
}

// Powers of positive numbers; of any other that of the smallest normal number.
vec3 powerOf(vec3 x, vec3 exponent) { return exp2Of(log2Of(max(x, vec3(TINY))) * exponent); }

vec3 withSign(vec3 x, vec3 sign) { return mix(x, -x, lessThan(sign, vec3(0.0))); }

vec3 encodeSRGB(vec3 c) {
    vec3 a = abs(c), high = powerOf(a, vec3(1.0 / 2.4)) * 1.055 - 0.055;
    return withSign(mix(high, a * 12.92, lessThanEqual(a, vec3(0.0031308))), c);
}

// BT.2100 tables 4 and 5; codes of HLG above the limit are read like it.
const float PQ_M1 = 2610.0 / 16384.0, PQ_M2 = 78.84375, PQ_C1 = 0.8359375, PQ_C2 = 18.8515625, PQ_C3 = 18.6875;
const float HLG_A = 0.17883277, HLG_B = 0.28466892, HLG_C = 0.55991073, HLG_LIMIT = 2.0;

// A gain of luminance ^ exponent; 0 where there is no luminance.
float gainOf(vec3 weights, vec3 c, float exponent) {
    float luminance = dot(weights, c);
    return luminance > 0.0 ? powerOf(vec3(luminance), vec3(exponent)).x : 0.0;
}

// Codes of light for an effect.
vec3 encodeLight(uint i, uint coding, vec3 c) {
    vec3 a = abs(c);
    if (isCoding(coding, CODING_SRGB)) {
        c = encodeSRGB(c);
    } else if (isCoding(coding, CODING_GAMMA24)) {
        c = withSign(powerOf(a, vec3(1.0 / 2.4)), c);
    } else if (isCoding(coding, CODING_PQ)) {
        vec3 p = powerOf(a * P.effects[i].c.z, vec3(PQ_M1));
        c = withSign(powerOf((PQ_C1 + PQ_C2 * p) / (1.0 + PQ_C3 * p), vec3(PQ_M2)), c);
    } else if (isCoding(coding, CODING_HLG)) {
        // (light / peak) of luminance^((1 − γ) / γ): the inverse OOTF.
        float gamma = P.effects[i].d.w;
        c *= 1.0 / P.effects[i].c.w;
        c *= gainOf(P.effects[i].d.xyz, c, (1.0 - gamma) / gamma);
        a = abs(c);
        vec3 low = powerOf(a * 3.0, vec3(0.5));
        vec3 high = log2Of(max(a * 12.0 - HLG_B, vec3(TINY))) * (HLG_A * 0.69314718) + HLG_C;
        c = withSign(mix(high, low, lessThanEqual(a, vec3(1.0 / 12.0))), c);
    } else if (isCoding(coding, CODING_ACESCCT)) {
        vec3 high = (log2Of(max(c, vec3(TINY))) + 9.72) * (1.0 / 17.52);
        c = mix(high, c * 10.5402377 + 0.0729055342, lessThanEqual(c, vec3(0.0078125)));
    }
    return c;
}

// Light of an effect's codes.
vec3 decodeLight(uint i, uint coding, vec3 c) {
    vec3 a = abs(c);
    if (isCoding(coding, CODING_SRGB)) {
        vec3 high = powerOf((a + 0.055) * (1.0 / 1.055), vec3(2.4));
        c = withSign(mix(high, a * (1.0 / 12.92), lessThanEqual(a, vec3(0.04045))), c);
    } else if (isCoding(coding, CODING_GAMMA24)) {
        c = withSign(powerOf(a, vec3(2.4)), c);
    } else if (isCoding(coding, CODING_PQ)) {
        vec3 p = powerOf(min(a, vec3(1.0)), vec3(1.0 / PQ_M2));
        vec3 light = powerOf(max(p - PQ_C1, vec3(0.0)) / (PQ_C2 - PQ_C3 * p), vec3(1.0 / PQ_M1));
        c = withSign(light * (1.0 / P.effects[i].c.z), c);
    } else if (isCoding(coding, CODING_HLG)) {
        a = min(a, vec3(HLG_LIMIT));
        vec3 high = (exp2Of((a - HLG_C) * (1.44269504 / HLG_A)) + HLG_B) * (1.0 / 12.0);
        c = withSign(mix(high, a * a * (1.0 / 3.0), lessThanEqual(a, vec3(0.5))), c);
        c *= P.effects[i].c.w * gainOf(P.effects[i].d.xyz, c, P.effects[i].d.w - 1.0);
    } else if (isCoding(coding, CODING_ACESCCT)) {
        vec3 high = min(exp2Of(c * 17.52 - 9.72), vec3(65504.0));
        c = mix(high, (c - 0.0729055342) * (1.0 / 10.5402377), lessThanEqual(c, vec3(0.155251142)));
    }
    return c;
}

vec3 curveOf(uint first, uint count, vec3 x) {
    vec3 value = x;
    uint row = max(16u, count);
    [[dont_unroll]] for (uint k = 0u; k < count; k++) {
        uint at = first + k;
        float start = entries[at];
        vec3 t = x - start;
        vec3 own = entries[at + row]
            + t * (entries[at + 2u * row] + t * (entries[at + 3u * row] + t * entries[at + 4u * row]));
        // The piece after the first one begins at the same point.
        value = k == 0u ? own : mix(value, own, greaterThan(x, vec3(start)));
    }
    return value;
}

// The part of a key's color that stays.
float keyOf(uint i, bool isHard, vec3 c) {
    c = encodeSRGB(clamp(c, 0.0, 1.0));
    float y = 0.2126 * c.r + (0.7152 * c.g + 0.0722 * c.b);
    vec4 numbers = P.effects[i].a;
    float cb = (c.b - y) * (1.0 / 1.8556) - numbers.x, cr = (c.r - y) * (1.0 / 1.5748) - numbers.y;
    float distance = sqrt((cb * cb + cr * cr) * 0.5);
    return isHard ? float(distance > numbers.z) : clamp((distance - numbers.z) * numbers.w, 0.0, 1.0);
}

vec3 despilled(uint channel, float amount, vec3 c) {
    float own = channel == 0u ? c.r : channel == 1u ? c.g : c.b;
    float mean = (channel == 0u ? c.g + c.b : channel == 1u ? c.r + c.b : c.r + c.g) * 0.5;
    // Not by a difference, in which a bright channel would lose what the others have.
    if (own > mean) own = own * (1.0 - amount) + mean * amount;
    return vec3(channel == 0u ? own : c.r, channel == 1u ? own : c.g, channel == 2u ? own : c.b);
}

vec3 tableRow(uint at) { return vec3(entries[at], entries[at + 1u], entries[at + 2u]); }

// A table's value: linear for each channel, or tetrahedral, from a corner of a cell along the axes, the largest part first.
vec3 tableOf(uint i, bool isCube, vec3 c) {
    uvec4 form = P.effects[i].form;
    int size = int(form.z);
    vec3 low = P.effects[i].a.xyz, scale = vec3(P.effects[i].a.w, P.effects[i].b.xy);
    vec3 steps = clamp((c - low) * scale, 0.0, float(size - 1));
    ivec3 index = min(ivec3(steps), size - 2);
    vec3 part = steps - vec3(index);
    if (isKind(form.x, KIND_LINE_LUT)) {
        uvec3 at = form.w + uvec3(index) * 3u + uvec3(0u, 1u, 2u);
        vec3 from = vec3(entries[at.x], entries[at.y], entries[at.z]);
        return from + part * (vec3(entries[at.x + 3u], entries[at.y + 3u], entries[at.z + 3u]) - from);
    }
    uint across = 3u, down = 3u * uint(size), deep = down * uint(size);
    uint first = form.w + uint(index.x) * across + uint(index.y) * down + uint(index.z) * deep;
    uint last = first + across + down + deep;
    float largest = max(max(part.x, part.y), part.z), smallest = min(min(part.x, part.y), part.z);
    float middle = max(min(max(part.x, part.y), part.z), min(part.x, part.y));
    uint top = part.x == largest ? across : part.y == largest ? down : deep;
    // The axis of the smallest part, another one than `top`.
    uint bottom = part.z == smallest && top != deep ? deep : part.y == smallest && top != down ? down : across;
    return (1.0 - largest) * tableRow(first)
        + ((largest - middle) * tableRow(first + top) + ((middle - smallest) * tableRow(last - bottom) + smallest * tableRow(last)));
}

vec3 decided(uint i, bool clips, vec3 c) {
    vec4 a = P.effects[i].a, b = P.effects[i].b;
    vec3 power = vec3(b.zw, P.effects[i].c.x);
    c = c * a.xyz + vec3(a.w, b.xy);
    if (clips) c = clamp(c, 0.0, 1.0);
    // Saturated values must not be infinite.
    vec3 raised = min(powerOf(c, power), vec3(1e30));
    c = mix(c, raised, lessThan(vec3(0.0), mix(c, vec3(0.0), equal(power, vec3(1.0)))));
    float y = 0.2126 * c.r + (0.7152 * c.g + 0.0722 * c.b), saturation = P.effects[i].c.y;
    // Not by a difference, in which a bright channel would lose what the others have.
    c = c * saturation + y * (1.0 - saturation);
    return clips ? clamp(c, 0.0, 1.0) : c;
}

// Applies the list to a pixel's light and alpha.
void applyEffects(inout vec3 c, inout float alpha, ivec2 pixel) {
    [[dont_unroll]] for (uint i = 0u; i < P.effectCount.x; i++) {
        uvec4 form = P.effects[i].form;
        uint kind = form.x, coding = form.y & 0xffu;
        bool flag = (form.y & 0x100u) != 0u;
        vec4 a = P.effects[i].a, b = P.effects[i].b;
        bool isTable = isKind(kind, KIND_LINE_LUT) || isKind(kind, KIND_CUBE_LUT);
        float headroom = isTable && flag ? max(max(max(c.r, c.g), c.b), 1.0) : 1.0;
        if (isTable) c /= headroom;
        c = encodeLight(i, coding, c);
        if (isKind(kind, KIND_MATRIX) || isKind(kind, KIND_CODED)) {
            c = affine(vec4[](a, b, P.effects[i].c), c);
        } else if (isKind(kind, KIND_CDL)) {
            c = decided(i, flag, c);
        } else if (isKind(kind, KIND_VIGNETTE)) {
            vec2 distance = vec2(pixel) + 0.5 - a.yz;
            float cosine = 1.0 / (1.0 + dot(distance, distance) * a.w);
            c *= 1.0 - a.x * (1.0 - cosine * cosine);
        } else if (isKind(kind, KIND_CURVE)) {
            c = curveOf(form.w, form.z, c);
        } else if (isKind(kind, KIND_KEY)) {
            alpha *= keyOf(i, flag, c);
        } else if (isKind(kind, KIND_DESPILL)) {
            c = despilled(form.z, a.x, c);
        } else if (isTable) {
            c = tableOf(i, kind == KIND_CUBE_LUT, c);
            // PQ and HLG have no codes below 0.
            if (coding == CODING_PQ || coding == CODING_HLG) c = max(c, vec3(0.0));
        } else if (isKind(kind, KIND_BACKGROUND)) {
            c = c * alpha + a.xyz * (1.0 - alpha);
            alpha = 1.0;
        }
        c = decodeLight(i, coding, c);
        if (isTable) c *= headroom;
        // Infinities would become NaN.
        c = clamp(c, -1e30, 1e30);
    }
}
