// SPDX-License-Identifier: GPL-2.0-or-later
// Half floats by integers.

// A half float's value: NaN is 0, infinities are ±65504; with integers, because devices may flush subnormals.
float halfOf(uint bits) {
    uint size = bits & 0x7fffu;
    float value = size < 0x400u ? float(size) * (1.0 / 16777216.0) : uintBitsToFloat((size << 13) + 0x38000000u);
    if (size >= 0x7c00u) value = size > 0x7c00u ? 0.0 : 65504.0;
    return (bits & 0x8000u) != 0u ? -value : value;
}

// The bits of a half float for a value within ±65504: rounded to nearest even, with subnormals.
uint halfBits(float value) {
    uint bits = floatBitsToUint(value), size = bits & 0x7fffffffu;
    uint rounded = size < 0x38800000u
        ? uint(roundEven(abs(value) * 16777216.0)) : ((size + 0xfffu + ((size >> 13) & 1u)) >> 13) - 0x1c000u;
    return ((bits >> 16) & 0x8000u) | rounded;
}
