#version 450
// SPDX-License-Identifier: GPL-2.0-or-later
// Filters the rows that scale_across.comp wrote down: an invocation writes one word, which is four bytes or two wider samples.
#extension GL_GOOGLE_include_directive : require
#include "scale.glsl"

layout(std430, binding = 0) readonly buffer Source { float source[]; };
layout(std430, binding = 3) writeonly buffer Target { uint target[]; };

layout(push_constant) uniform Place {
    uint targetBase;    // bytes from the binding's start to the first row
    uint targetStride;
    int firstRow;       // rows of the plane that are written
    int endRow;
    int words;          // of a row
    int type;
    int shift;
    int channels;
    int left;           // the samples of a row, and the rows, that are scaled; the others are black
    int right;
    int top;
    int bottom;
    int written;        // a bit for each channel that is scaled
    int taps;
    int first;
    int weights;
    int sourceRow;      // the source's row that `source` begins with
    int sourceStride;   // samples from row to row
    int dithers;
    int divides;        // whether the first three channels are divided by the fourth
    int clips;          // whether they are at most the fourth
} at;

// The 8x8 Bayer pattern, as in core.glsl.
float addend(int x, int y) {
    if (at.dithers == 0) return 0.5;
    uint d = uint(x ^ y), b = uint(y);
    uint value = ((d & 1u) << 5) | ((b & 1u) << 4) | ((d & 2u) << 2) | ((b & 2u) << 1) | ((d & 4u) >> 1) | ((b & 4u) >> 2);
    return (float(value) + 0.5) / 64.0;
}

// The filtered value of a sample inside the scaled part.
float sumAt(int index, int row) {
    int y = row - at.top;
    int place = (int(axes[at.first + y]) - at.sourceRow) * at.sourceStride + index - at.left;
    int weights = at.weights + y * at.taps;
    float sum = 0.0;
    for (int tap = 0; tap < at.taps; tap++) sum += axes[weights + tap] * source[place + tap * at.sourceStride];
    return sum;
}

float valueAt(int index, int row, int channel) {
    bool isInside = index >= at.left && index < at.right && row >= at.top && row < at.bottom;
    if (!isInside || ((at.written >> channel) & 1) == 0) return P.black[channel];
    float sum = sumAt(index, row);
    if (at.divides != 0 && channel < 3) {
        float alpha = min(sumAt(index - channel + 3, row), 1.0);
        sum = alpha > 0.0 ? sum / alpha : 0.0;
    }
    return sum * P.factor[channel] + P.offset[channel];
}

float limitedAt(int index, int row, int channel) {
    return clamp(valueAt(index, row, channel), P.low[channel], P.high[channel]);
}

uint bitsOf(int index, int row) {
    int channel = index % at.channels;
    if (at.type == HALVES) {
        float value = limitedAt(index, row, channel);
        if (at.clips != 0 && channel < 3) value = min(value, limitedAt(index - channel + 3, row, 3));
        return halfBits(value);
    }
    float value = valueAt(index, row, channel);
    value = floor(value + addend(index / at.channels, row));
    return uint(clamp(value, P.low[channel], P.high[channel])) << at.shift;
}

void main() {
    int word = int(gl_GlobalInvocationID.x), row = at.firstRow + int(gl_GlobalInvocationID.y);
    if (word >= at.words || row >= at.endRow) return;
    uint bits;
    if (at.type == BYTES) {
        int index = 4 * word;
        uint last = bitsOf(index + 3, row);
        // The last of four channels is alpha.
        uint most = at.clips != 0 ? last : 0xffu;
        bits = min(bitsOf(index, row), most) | (min(bitsOf(index + 1, row), most) << 8)
            | (min(bitsOf(index + 2, row), most) << 16) | (last << 24);
    } else {
        bits = bitsOf(2 * word, row) | (bitsOf(2 * word + 1, row) << 16);
    }
    target[((at.targetBase + uint(row - at.firstRow) * at.targetStride) >> 2) + uint(word)] = bits;
}
