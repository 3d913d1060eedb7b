// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// The functions of an instance and of its physical devices.
struct InstanceFunctions {
    let destroyInstance: PFN_vkDestroyInstance
    let enumeratePhysicalDevices: PFN_vkEnumeratePhysicalDevices
    let getProperties2: PFN_vkGetPhysicalDeviceProperties2
    let getFormatProperties2: PFN_vkGetPhysicalDeviceFormatProperties2
    let getImageFormatProperties2: PFN_vkGetPhysicalDeviceImageFormatProperties2
    let getMemoryProperties: PFN_vkGetPhysicalDeviceMemoryProperties
    let getQueueFamilyProperties: PFN_vkGetPhysicalDeviceQueueFamilyProperties
    let enumerateExtensions: PFN_vkEnumerateDeviceExtensionProperties
    let createDevice: PFN_vkCreateDevice
    let getDeviceProcAddr: PFN_vkGetDeviceProcAddr

    init(_ library: VulkanLibrary, _ instance: VkInstance) throws(SessionError) {
        destroyInstance = try library.load("vkDestroyInstance", instance)
        enumeratePhysicalDevices = try library.load("vkEnumeratePhysicalDevices", instance)
        getFormatProperties2 = try library.load("vkGetPhysicalDeviceFormatProperties2", instance)
        getImageFormatProperties2 = try library.load("vkGetPhysicalDeviceImageFormatProperties2", instance)
        getProperties2 = try library.load("vkGetPhysicalDeviceProperties2", instance)
        getMemoryProperties = try library.load("vkGetPhysicalDeviceMemoryProperties", instance)
        getQueueFamilyProperties = try library.load("vkGetPhysicalDeviceQueueFamilyProperties", instance)
        enumerateExtensions = try library.load("vkEnumerateDeviceExtensionProperties", instance)
        createDevice = try library.load("vkCreateDevice", instance)
        getDeviceProcAddr = try library.load("vkGetDeviceProcAddr", instance)
    }
}
