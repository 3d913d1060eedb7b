// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDVulkan
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// Copies pictures from a buffer to ordinary images, in the formats of dma-bufs.
final class ImageUploader {
    private let device: VulkanDevice
    private let createBuffer: PFN_vkCreateBuffer
    private let copy: PFN_vkCmdCopyBufferToImage
    private let waitIdle: PFN_vkDeviceWaitIdle

    init(_ device: VulkanDevice) throws {
        self.device = device
        createBuffer = device.functions.createBuffer
        copy = try device.function("vkCmdCopyBufferToImage")
        waitIdle = try device.function("vkDeviceWaitIdle")
    }

    /// A picture's planes as images.
    func picture(_ picture: Picture, _ tiling: VkImageTiling) throws -> ImagePicture {
        var planes: [DeviceImage] = []
        for (index, bytes) in picture.planes.enumerated() {
            let format = try #require(DeviceImage.format(picture.format, plane: index))
            let width = index == 0 ? picture.width : picture.chromaWidth
            let height = index == 0 ? picture.height : picture.chromaHeight
            let image = try DeviceImage(
                device, format,
                make: { () throws(SessionError) in
                    var info = DeviceImage.info(format, width: width, height: height)
                    info.tiling = tiling
                    info.usage |= VK_IMAGE_USAGE_TRANSFER_DST_BIT.rawValue
                    var image: VkImage?
                    try device.verify(
                        try device.imageFunctions().createImage(device.handle, &info, nil, &image), "vkCreateImage")
                    guard let image else { throw SessionError(.allocationFailed, "no image") }
                    return image
                },
                allocate: { (_, needs) throws(SessionError) in
                    try self.allocate(needs, device.memoryType(needs.memoryTypeBits) ?? 0)
                })
            try fill(image, bytes, width, height)
            planes.append(image)
        }
        return ImagePicture(
            picture.format, width: picture.width, height: picture.height, planes: planes, isForeign: false)
    }

    private func allocate(
        _ needs: VkMemoryRequirements, _ type: UInt32
    ) throws(SessionError) -> VkDeviceMemory {
        var info = VkMemoryAllocateInfo()
        info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO
        info.allocationSize = needs.size
        info.memoryTypeIndex = type
        var memory: VkDeviceMemory?
        try device.verify(device.functions.allocateMemory(device.handle, &info, nil, &memory), "vkAllocateMemory")
        guard let memory else { throw SessionError(.allocationFailed, "no memory") }
        return memory
    }

    private func fill(_ image: DeviceImage, _ bytes: [UInt8], _ width: Int, _ height: Int) throws {
        let functions = device.functions
        var info = VkBufferCreateInfo()
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO
        info.size = UInt64(bytes.count)
        info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT.rawValue
        var made: VkBuffer?
        try device.verify(createBuffer(device.handle, &info, nil, &made), "vkCreateBuffer")
        let buffer = try #require(made)
        var needs = VkMemoryRequirements()
        functions.getBufferRequirements(device.handle, buffer, &needs)
        let type = device.memoryType(needs.memoryTypeBits, required: VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
        let memory = try allocate(needs, try #require(type))
        defer {
            functions.destroyBuffer(device.handle, buffer, nil)
            functions.freeMemory(device.handle, memory, nil)
        }
        try device.verify(functions.bindBufferMemory(device.handle, buffer, memory, 0), "vkBindBufferMemory")
        var mapped: UnsafeMutableRawPointer?
        try device.verify(functions.mapMemory(device.handle, memory, 0, needs.size, 0, &mapped), "vkMapMemory")
        let start: UnsafeMutableRawPointer = try #require(mapped)
        UnsafeMutableRawBufferPointer(start: start, count: bytes.count).copyBytes(from: bytes)
        try record { commands in
            move(commands, image.handle, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL)
            var region = VkBufferImageCopy()
            region.imageSubresource = VkImageSubresourceLayers(
                aspectMask: VK_IMAGE_ASPECT_COLOR_BIT.rawValue, mipLevel: 0, baseArrayLayer: 0, layerCount: 1)
            region.imageExtent = VkExtent3D(width: UInt32(width), height: UInt32(height), depth: 1)
            copy(commands, buffer, image.handle, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region)
            move(commands, image.handle, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL)
        }
    }

    private func move(_ commands: VkCommandBuffer, _ image: VkImage, _ from: VkImageLayout, _ to: VkImageLayout) {
        let isFirst = from == VK_IMAGE_LAYOUT_UNDEFINED
        var barrier = VkImageMemoryBarrier()
        barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER
        barrier.srcAccessMask = isFirst ? 0 : VK_ACCESS_TRANSFER_WRITE_BIT.rawValue
        barrier.dstAccessMask =
            (isFirst ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_SHADER_READ_BIT).rawValue
        barrier.oldLayout = from
        barrier.newLayout = to
        barrier.srcQueueFamilyIndex = ~0
        barrier.dstQueueFamilyIndex = ~0
        barrier.image = image
        barrier.subresourceRange = DeviceImage.whole
        let transfer = VK_PIPELINE_STAGE_TRANSFER_BIT.rawValue
        device.functions.pipelineBarrier(
            commands, isFirst ? VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT.rawValue : transfer,
            isFirst ? transfer : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT.rawValue, 0, 0, nil, 0, nil, 1, &barrier)
    }

    /// Runs commands and waits for them.
    private func record(_ body: (VkCommandBuffer) -> Void) throws {
        let functions = device.functions
        var poolInfo = VkCommandPoolCreateInfo()
        poolInfo.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO
        poolInfo.queueFamilyIndex = device.queueFamily
        var pool: VkCommandPool?
        try device.verify(functions.createCommandPool(device.handle, &poolInfo, nil, &pool), "vkCreateCommandPool")
        defer { functions.destroyCommandPool(device.handle, pool, nil) }
        var info = VkCommandBufferAllocateInfo()
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO
        info.commandPool = pool
        info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY
        info.commandBufferCount = 1
        var made: VkCommandBuffer?
        try device.verify(functions.allocateCommandBuffers(device.handle, &info, &made), "vkAllocateCommandBuffers")
        let commands = try #require(made)
        var begin = VkCommandBufferBeginInfo()
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO
        try device.verify(functions.beginCommandBuffer(commands, &begin), "vkBeginCommandBuffer")
        body(commands)
        try device.verify(functions.endCommandBuffer(commands), "vkEndCommandBuffer")
        var buffers: VkCommandBuffer? = commands
        let result = withUnsafePointer(to: &buffers) { buffers in
            var info = VkSubmitInfo()
            info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO
            info.commandBufferCount = 1
            info.pCommandBuffers = buffers
            return functions.queueSubmit(device.queue, 1, &info, nil)
        }
        try device.verify(result, "vkQueueSubmit")
        try device.verify(waitIdle(device.handle), "vkDeviceWaitIdle")
    }
}
