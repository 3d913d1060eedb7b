// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// One plane of a picture as an image that shaders read; freed with its owner.
final class DeviceImage {
    let handle: VkImage
    let view: VkImageView
    private let allocation: VkDeviceMemory
    private let device: VulkanDevice

    /// The image format that holds a plane's samples as unsigned integers.
    static func format(_ format: PixelFormat, plane: Int) -> VkFormat? {
        switch (format, plane) {
        case (.nv12, 0): VK_FORMAT_R8_UINT
        case (.nv12, 1): VK_FORMAT_R8G8_UINT
        case (.p010, 0): VK_FORMAT_R16_UINT
        case (.p010, 1): VK_FORMAT_R16G16_UINT
        case (.rgba16f, 0): VK_FORMAT_R16G16B16A16_UINT
        case (.rgba8, 0), (.bgra8, 0): VK_FORMAT_R8G8B8A8_UINT
        default: nil
        }
    }

    /// Takes ownership of an image and its memory.
    ///
    /// - Parameters:
    ///   - make: creates the image.
    ///   - allocate: allocates memory that meets the requirements.
    /// - Throws: the errors of either and of the driver, after freeing both.
    init(
        _ device: VulkanDevice, _ format: VkFormat, make: () throws(SessionError) -> VkImage,
        allocate: (VkImage, VkMemoryRequirements) throws(SessionError) -> VkDeviceMemory
    ) throws(SessionError) {
        let functions = try device.imageFunctions()
        let image = try make()
        var allocation: VkDeviceMemory?
        var view: VkImageView?
        do throws(SessionError) {
            var requirements = VkMemoryRequirements()
            functions.getImageRequirements(device.handle, image, &requirements)
            allocation = try allocate(image, requirements)
            try device.verify(functions.bindImageMemory(device.handle, image, allocation, 0), "vkBindImageMemory")
            var info = VkImageViewCreateInfo()
            info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO
            info.image = image
            info.viewType = VK_IMAGE_VIEW_TYPE_2D
            info.format = format
            info.subresourceRange = Self.whole
            try device.verify(functions.createImageView(device.handle, &info, nil, &view), "vkCreateImageView")
        } catch {
            functions.destroyImage(device.handle, image, nil)
            if let allocation { device.functions.freeMemory(device.handle, allocation, nil) }
            throw error
        }
        guard let allocation, let view else {
            throw SessionError(.allocationFailed, "Vulkan returned no image view")
        }
        self.device = device
        self.allocation = allocation
        self.view = view
        handle = image
    }

    deinit {
        // After a failure the device may still read the image.
        guard device.failure == nil, let functions = try? device.imageFunctions() else { return }
        functions.destroyImageView(device.handle, view, nil)
        functions.destroyImage(device.handle, handle, nil)
        device.functions.freeMemory(device.handle, allocation, nil)
    }

    /// The color aspect of mip level 0.
    static var whole: VkImageSubresourceRange {
        VkImageSubresourceRange(
            aspectMask: VK_IMAGE_ASPECT_COLOR_BIT.rawValue, baseMipLevel: 0, levelCount: 1, baseArrayLayer: 0,
            layerCount: 1)
    }

    /// A two-dimensional sampled image; the caller sets tiling and extensions.
    static func info(_ format: VkFormat, width: Int, height: Int) -> VkImageCreateInfo {
        var info = VkImageCreateInfo()
        info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO
        info.imageType = VK_IMAGE_TYPE_2D
        info.format = format
        info.extent = VkExtent3D(width: UInt32(width), height: UInt32(height), depth: 1)
        info.mipLevels = 1
        info.arrayLayers = 1
        info.samples = VK_SAMPLE_COUNT_1_BIT
        info.usage = VK_IMAGE_USAGE_SAMPLED_BIT.rawValue
        info.sharingMode = VK_SHARING_MODE_EXCLUSIVE
        info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED
        return info
    }
}

/// A picture whose planes are images.
public final class ImagePicture {
    let description: (format: PixelFormat, width: Int, height: Int)
    let planes: [DeviceImage]
    /// Whether another device or driver wrote it, so that ownership must be transferred.
    let isForeign: Bool

    init(_ format: PixelFormat, width: Int, height: Int, planes: [DeviceImage], isForeign: Bool) {
        description = (format, width, height)
        self.planes = planes
        self.isForeign = isForeign
    }
}
