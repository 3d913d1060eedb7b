// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// The descriptor set, command buffer and fence of one submission; freed with this object.
final class PictureSlice {
    /// A resource of a shader.
    enum Binding {
        /// A range of a buffer.
        case buffer(VkBuffer, offset: Int, range: Int)
        /// A texel buffer of floats.
        case texels(VkBufferView)
        /// An image in the general layout.
        case image(VkImageView)
    }

    /// Queue family ownership transfers of foreign images.
    struct Handover {
        /// Images to acquire before the slice.
        var acquired: [VkImage] = []
        /// Images to release after the slice.
        var released: [VkImage] = []
    }

    private let device: VulkanDevice
    private let pool: VkDescriptorPool
    private let set: VkDescriptorSet
    private let commandPool: VkCommandPool
    private let commands: VkCommandBuffer
    private let fence: VkFence

    private let layouts: PipelineStore.Layouts
    private let front: PipelineStore.Front

    init(_ device: VulkanDevice, _ front: PipelineStore.Front) throws(SessionError) {
        self.device = device
        self.front = front
        layouts = try device.store().layouts(front, device)
        pool = try Self.makePool(device, front)
        set = try Self.allocateSet(device, pool, layouts.set)
        commandPool = try Self.makeCommandPool(device)
        commands = try Self.allocateCommands(device, commandPool)
        fence = try Self.makeFence(device)
    }

    private static func makePool(
        _ device: VulkanDevice, _ front: PipelineStore.Front
    ) throws(SessionError) -> VkDescriptorPool {
        let types = (0..<PipelineStore.bindingCount).map { PipelineStore.type(of: $0, front) }
        let kinds = [
            VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
            VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
        ]
        let sizes = kinds.map { kind in
            VkDescriptorPoolSize(type: kind, descriptorCount: UInt32(types.count { $0 == kind }))
        }.filter { $0.descriptorCount > 0 }
        var pool: VkDescriptorPool?
        let result = sizes.withUnsafeBufferPointer { sizes in
            var info = VkDescriptorPoolCreateInfo()
            info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO
            info.maxSets = 1
            info.poolSizeCount = UInt32(sizes.count)
            info.pPoolSizes = sizes.baseAddress
            return device.functions.createDescriptorPool(device.handle, &info, nil, &pool)
        }
        return try made(pool, result, "vkCreateDescriptorPool", device)
    }

    private static func allocateSet(
        _ device: VulkanDevice, _ pool: VkDescriptorPool, _ layout: VkDescriptorSetLayout
    ) throws(SessionError) -> VkDescriptorSet {
        var layout: VkDescriptorSetLayout? = layout
        var set: VkDescriptorSet?
        let result = withUnsafePointer(to: &layout) { layout in
            var info = VkDescriptorSetAllocateInfo()
            info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO
            info.descriptorPool = pool
            info.descriptorSetCount = 1
            info.pSetLayouts = layout
            return device.functions.allocateDescriptorSets(device.handle, &info, &set)
        }
        return try made(set, result, "vkAllocateDescriptorSets", device)
    }

    private static func makeCommandPool(_ device: VulkanDevice) throws(SessionError) -> VkCommandPool {
        var info = VkCommandPoolCreateInfo()
        info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO
        info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT.rawValue
        info.queueFamilyIndex = device.queueFamily
        var pool: VkCommandPool?
        let result = device.functions.createCommandPool(device.handle, &info, nil, &pool)
        return try made(pool, result, "vkCreateCommandPool", device)
    }

    private static func allocateCommands(
        _ device: VulkanDevice, _ pool: VkCommandPool
    ) throws(SessionError) -> VkCommandBuffer {
        var info = VkCommandBufferAllocateInfo()
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO
        info.commandPool = pool
        info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY
        info.commandBufferCount = 1
        var commands: VkCommandBuffer?
        let result = device.functions.allocateCommandBuffers(device.handle, &info, &commands)
        return try made(commands, result, "vkAllocateCommandBuffers", device)
    }

    private static func makeFence(_ device: VulkanDevice) throws(SessionError) -> VkFence {
        var info = VkFenceCreateInfo()
        info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO
        var fence: VkFence?
        let result = device.functions.createFence(device.handle, &info, nil, &fence)
        return try made(fence, result, "vkCreateFence", device)
    }

    /// The object that a call created.
    private static func made<Object>(
        _ object: Object?, _ result: VkResult, _ call: String, _ device: VulkanDevice
    ) throws(SessionError) -> Object {
        try device.verify(result, call)
        guard let object else { throw SessionError(.allocationFailed, "\(call) returned nothing") }
        return object
    }

    deinit {
        guard device.failure == nil else { return }
        device.functions.destroyFence(device.handle, fence, nil)
        device.functions.destroyCommandPool(device.handle, commandPool, nil)
        device.functions.destroyDescriptorPool(device.handle, pool, nil)
    }

    /// Dispatches the pipeline over a slice; `wait` blocks until it ends.
    ///
    /// - Parameters:
    ///   - placement: the push constants, `PipelineStore.placementSize` bytes at most.
    ///   - isFollowed: whether later submissions read what this one writes, or overwrite what it reads.
    func submit<Constants: BitwiseCopyable>(
        _ pipeline: VkPipeline, _ bindings: [Int: Binding], _ placement: Constants, groups: (x: Int, y: Int),
        _ handover: Handover = Handover(), isFollowed: Bool = false
    ) throws(SessionError) {
        let functions = device.functions
        for (index, binding) in bindings { bind(index, binding) }
        let layout = layouts.pipeline
        var begin = VkCommandBufferBeginInfo()
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO
        begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT.rawValue
        try device.verify(functions.beginCommandBuffer(commands, &begin), "vkBeginCommandBuffer")
        transfer(handover.acquired, from: Self.foreign, to: device.queueFamily)
        functions.bindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline)
        var set: VkDescriptorSet? = set
        functions.bindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nil)
        withUnsafeBytes(of: placement) {
            functions.pushConstants(
                commands, layout, VK_SHADER_STAGE_COMPUTE_BIT.rawValue, 0, UInt32($0.count), $0.baseAddress)
        }
        functions.dispatch(commands, UInt32(groups.x), UInt32(groups.y), 1)
        transfer(handover.released, from: device.queueFamily, to: Self.foreign)
        var barrier = VkMemoryBarrier()
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT.rawValue
        barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT.rawValue
        var next = VK_PIPELINE_STAGE_HOST_BIT.rawValue
        if isFollowed {
            barrier.dstAccessMask |= VK_ACCESS_SHADER_READ_BIT.rawValue | VK_ACCESS_SHADER_WRITE_BIT.rawValue
            next |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT.rawValue
        }
        functions.pipelineBarrier(
            commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT.rawValue, next, 0, 1, &barrier, 0, nil, 0, nil)
        try device.verify(functions.endCommandBuffer(commands), "vkEndCommandBuffer")
        var fences: VkFence? = fence
        try device.verify(functions.resetFences(device.handle, 1, &fences), "vkResetFences")
        var buffers: VkCommandBuffer? = commands
        let result = withUnsafePointer(to: &buffers) { buffers in
            var info = VkSubmitInfo()
            info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO
            info.commandBufferCount = 1
            info.pCommandBuffers = buffers
            return functions.queueSubmit(device.queue, 1, &info, fence)
        }
        try device.verify(result, "vkQueueSubmit")
    }

    private func bind(_ index: Int, _ binding: Binding) {
        var write = VkWriteDescriptorSet()
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
        write.dstSet = set
        write.dstBinding = UInt32(index)
        write.descriptorCount = 1
        write.descriptorType = PipelineStore.type(of: index, front)
        var info = VkDescriptorBufferInfo()
        var image = VkDescriptorImageInfo()
        var texels: VkBufferView?
        switch binding {
        case .buffer(let buffer, let offset, let range):
            info = VkDescriptorBufferInfo(buffer: buffer, offset: UInt64(offset), range: UInt64(range))
        case .texels(let view): texels = view
        case .image(let view):
            image.imageView = view
            image.imageLayout = VK_IMAGE_LAYOUT_GENERAL
        }
        withUnsafePointer(to: info) { info in
            withUnsafePointer(to: image) { image in
                withUnsafePointer(to: texels) { texels in
                    write.pBufferInfo = info
                    write.pImageInfo = image
                    write.pTexelBufferView = texels
                    device.functions.updateDescriptorSets(device.handle, 1, &write, 0, nil)
                }
            }
        }
    }

    /// VK_QUEUE_FAMILY_FOREIGN_EXT, another device or driver; a macro that Swift cannot import.
    private static let foreign = ~UInt32(0) - 2

    /// Transfers the ownership of images between queue families; their content is preserved.
    private func transfer(_ images: [VkImage], from: UInt32, to: UInt32) {
        let barriers = images.map { image in
            var barrier = VkImageMemoryBarrier()
            barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER
            barrier.srcAccessMask = from == Self.foreign ? 0 : VK_ACCESS_SHADER_READ_BIT.rawValue
            barrier.dstAccessMask = to == Self.foreign ? 0 : VK_ACCESS_SHADER_READ_BIT.rawValue
            barrier.oldLayout = VK_IMAGE_LAYOUT_GENERAL
            barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL
            barrier.srcQueueFamilyIndex = from
            barrier.dstQueueFamilyIndex = to
            barrier.image = image
            barrier.subresourceRange = DeviceImage.whole
            return barrier
        }
        guard !barriers.isEmpty else { return }
        let compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT.rawValue
        let (before, after) =
            from == Self.foreign
            ? (VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT.rawValue, compute)
            : (compute, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT.rawValue)
        device.functions.pipelineBarrier(
            commands, before, after, 0, 0, nil, 0, nil, UInt32(barriers.count), barriers)
    }

    /// Waits for the last submission.
    func wait(seconds: Double) throws(SessionError) { try device.wait(fence, seconds: seconds) }
}
