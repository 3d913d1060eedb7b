#version 450
// SPDX-License-Identifier: GPL-2.0-or-later
// Filters rows of a plane across: an invocation writes one sample in fp32.
#extension GL_GOOGLE_include_directive : require
#include "scale.glsl"

layout(std430, binding = 0) readonly buffer Source { uint source[]; };
layout(std430, binding = 3) writeonly buffer Target { float target[]; };

layout(push_constant) uniform Place {
    uint sourceBase;     // bytes from the binding's start to the first row
    uint sourceStride;
    int rows;
    int columns;         // samples that are written of a row
    int type;
    int shift;
    int sourceChannels;
    int components;      // components that are written
    int order;           // the source's channel of each, in four bits
    int targetChannels;
    int channel;         // the target's channel of the first
    int taps;
    int first;           // where the axis begins
    int weights;
    int targetStride;    // samples from row to row
} at;

float sampleAt(int row, int index) {
    uint address = at.sourceBase + uint(row) * at.sourceStride + uint(index) * (at.type == BYTES ? 1u : 2u);
    uint word = source[address >> 2] >> ((address & 3u) * 8u);
    if (at.type == BYTES) return float(word & 0xffu);
    return at.type == HALVES ? halfOf(word & 0xffffu) : float((word >> at.shift) & 0x3ffu);
}

void main() {
    int column = int(gl_GlobalInvocationID.x), row = int(gl_GlobalInvocationID.y);
    if (column >= at.columns || row >= at.rows) return;
    int pixel = column / at.components, component = column - pixel * at.components;
    int channel = (at.order >> (4 * component)) & 15;
    int first = int(axes[at.first + pixel]) * at.sourceChannels + channel;
    int weights = at.weights + pixel * at.taps;
    float sum = 0.0;
    for (int tap = 0; tap < at.taps; tap++)
        sum += axes[weights + tap] * sampleAt(row, first + tap * at.sourceChannels);
    target[row * at.targetStride + pixel * at.targetChannels + at.channel + component] = sum;
}
