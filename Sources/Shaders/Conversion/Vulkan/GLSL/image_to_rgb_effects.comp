#version 450
// SPDX-License-Identifier: GPL-2.0-or-later
// Images of any source format to RGBA, with effects.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#define EFFECTS
#include "core.glsl"
#include "images.glsl"
#include "load.glsl"
#include "to_rgb.glsl"
