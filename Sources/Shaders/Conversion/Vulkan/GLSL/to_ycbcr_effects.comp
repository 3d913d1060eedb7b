#version 450
// SPDX-License-Identifier: GPL-2.0-or-later
// Buffers of any source format to Y'CbCr 4:2:0, with effects.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define EFFECTS
#include "core.glsl"
#include "buffers.glsl"
#include "load.glsl"
#include "to_ycbcr.glsl"
