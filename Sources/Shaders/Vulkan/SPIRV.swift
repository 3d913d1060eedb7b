// SPDX-License-Identifier: GPL-2.0-or-later

/// The compute shaders of `Vulkan/GLSL`, compiled when the package is built: one array of words a `.comp` file.
enum SPIRV {}
