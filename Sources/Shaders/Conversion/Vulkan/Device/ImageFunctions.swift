// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// The functions for pictures in images, loaded on first use.
struct ImageFunctions {
    let createImage: PFN_vkCreateImage
    let destroyImage: PFN_vkDestroyImage
    let getImageRequirements: PFN_vkGetImageMemoryRequirements
    let bindImageMemory: PFN_vkBindImageMemory
    let createImageView: PFN_vkCreateImageView
    let destroyImageView: PFN_vkDestroyImageView
    /// Nil where the device cannot import dma-bufs.
    let getFileProperties: PFN_vkGetMemoryFdPropertiesKHR?

    init(_ device: VulkanDevice) throws(SessionError) {
        createImage = try device.function("vkCreateImage")
        destroyImage = try device.function("vkDestroyImage")
        getImageRequirements = try device.function("vkGetImageMemoryRequirements")
        bindImageMemory = try device.function("vkBindImageMemory")
        createImageView = try device.function("vkCreateImageView")
        destroyImageView = try device.function("vkDestroyImageView")
        getFileProperties =
            device.description.importsDMABufImages ? try device.function("vkGetMemoryFdPropertiesKHR") : nil
    }
}
