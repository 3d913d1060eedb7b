// SPDX-License-Identifier: GPL-2.0-or-later
// What both passes of a scaling share. A plane is a row of samples, whose components alternate.

layout(local_size_x_id = 0, local_size_y_id = 1) in;

// Types of samples.
const int BYTES = 0, WORDS = 1, HALVES = 2;

// For each axis: the first source position of every target position, then `taps` weights of each.
layout(std430, binding = 1) readonly buffer Axes { float axes[]; };

layout(std140, binding = 6) uniform Components {
    vec4 factor;
    vec4 offset;
    vec4 low;
    vec4 high;
    vec4 black;
} P;

#include "halves.glsl"
