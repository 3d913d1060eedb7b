// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

extension VulkanDevice {
    /// The extensions for importing dma-bufs.
    static let dmaBufExtensions = [
        VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
    ]
    /// The further extensions for reading them as images.
    static let modifierExtensions = [
        VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME,
    ]

    /// The DRM modifiers of images of a format.
    func modifiers(of format: VkFormat) -> [VkDrmFormatModifierPropertiesEXT] {
        var list = VkDrmFormatModifierPropertiesListEXT()
        list.sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT
        func query() {
            withUnsafeMutablePointer(to: &list) { list in
                var properties = VkFormatProperties2()
                properties.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2
                properties.pNext = UnsafeMutableRawPointer(list)
                instance.functions.getFormatProperties2(physical, format, &properties)
            }
        }
        query()
        var found = [VkDrmFormatModifierPropertiesEXT](
            repeating: VkDrmFormatModifierPropertiesEXT(), count: Int(list.drmFormatModifierCount))
        guard !found.isEmpty else { return [] }
        found.withUnsafeMutableBufferPointer { found in
            list.pDrmFormatModifierProperties = found.baseAddress
            query()
        }
        return Array(found.prefix(Int(list.drmFormatModifierCount)))
    }

    /// The largest image of a format and modifier that can be imported from a dma-buf and sampled; nil for none.
    func importLimits(_ format: VkFormat, _ modifier: UInt64) -> (width: Int, height: Int)? {
        var tiling = VkPhysicalDeviceImageDrmFormatModifierInfoEXT()
        tiling.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT
        tiling.drmFormatModifier = modifier
        tiling.sharingMode = VK_SHARING_MODE_EXCLUSIVE
        var external = VkExternalImageFormatProperties()
        external.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES
        var properties = VkImageFormatProperties2()
        properties.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2
        let result = withUnsafePointer(to: tiling) { tiling in
            var wanted = VkPhysicalDeviceExternalImageFormatInfo()
            wanted.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO
            wanted.pNext = UnsafeRawPointer(tiling)
            wanted.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
            return withUnsafePointer(to: wanted) { wanted in
                withUnsafeMutablePointer(to: &external) { external in
                    var info = VkPhysicalDeviceImageFormatInfo2()
                    info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2
                    info.pNext = UnsafeRawPointer(wanted)
                    info.format = format
                    info.type = VK_IMAGE_TYPE_2D
                    info.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
                    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT.rawValue
                    properties.pNext = UnsafeMutableRawPointer(external)
                    return instance.functions.getImageFormatProperties2(physical, &info, &properties)
                }
            }
        }
        let features = external.externalMemoryProperties.externalMemoryFeatures
        guard result == VK_SUCCESS, features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT.rawValue != 0 else {
            return nil
        }
        let largest = properties.imageFormatProperties.maxExtent
        return (Int(largest.width), Int(largest.height))
    }
}
