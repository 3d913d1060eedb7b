// SPDX-License-Identifier: GPL-2.0-or-later
// Vulkan for Swift: types and function pointer types. Nothing is linked, because VulkanLibrary opens libvulkan.so.1.
#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

/// `VK_API_VERSION_1_2`, which drivers since 2020 support, lavapipe included.
static inline uint32_t hwd_vk_api_version_1_2(void) { return VK_API_VERSION_1_2; }

/// The parts of a version number.
static inline uint32_t hwd_vk_major(uint32_t version) { return VK_API_VERSION_MAJOR(version); }
static inline uint32_t hwd_vk_minor(uint32_t version) { return VK_API_VERSION_MINOR(version); }
static inline uint32_t hwd_vk_patch(uint32_t version) { return VK_API_VERSION_PATCH(version); }

/// `VK_WHOLE_SIZE`, a macro that Swift cannot import.
static inline uint64_t hwd_vk_whole_size(void) { return VK_WHOLE_SIZE; }
