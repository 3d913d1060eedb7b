// SPDX-License-Identifier: GPL-2.0-or-later
internal import CVulkan
internal import Model

/// What one submission needs: a descriptor set, a command buffer and a fence; freed with this object.
final class PictureSlice {
    /// A range of a buffer that a shader sees.
    struct Binding {
        var buffer: VkBuffer
        var offset: Int
        var range: Int
    }

    private let device: VulkanDevice
    private let pool: VkDescriptorPool
    private let set: VkDescriptorSet
    private let commandPool: VkCommandPool
    private let commands: VkCommandBuffer
    private let fence: VkFence

    init(_ device: VulkanDevice) throws(SessionError) {
        self.device = device
        let functions = device.functions
        let store = try device.store()
        var sizes = [VkDescriptorPoolSize(), VkDescriptorPoolSize()]
        sizes[0].type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        sizes[0].descriptorCount = UInt32(PipelineStore.bindingCount - 1)
        sizes[1].type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
        sizes[1].descriptorCount = 1
        var pool: VkDescriptorPool?
        let result = sizes.withUnsafeBufferPointer { sizes in
            var info = VkDescriptorPoolCreateInfo()
            info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO
            info.maxSets = 1
            info.poolSizeCount = UInt32(sizes.count)
            info.pPoolSizes = sizes.baseAddress
            return functions.createDescriptorPool(device.handle, &info, nil, &pool)
        }
        try device.verify(result, "vkCreateDescriptorPool")
        var layout: VkDescriptorSetLayout? = store.setLayout
        var set: VkDescriptorSet?
        let allocated = withUnsafePointer(to: &layout) { layout in
            var info = VkDescriptorSetAllocateInfo()
            info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO
            info.descriptorPool = pool
            info.descriptorSetCount = 1
            info.pSetLayouts = layout
            return functions.allocateDescriptorSets(device.handle, &info, &set)
        }
        try device.verify(allocated, "vkAllocateDescriptorSets")
        var poolInfo = VkCommandPoolCreateInfo()
        poolInfo.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO
        poolInfo.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT.rawValue
        poolInfo.queueFamilyIndex = device.queueFamily
        var commandPool: VkCommandPool?
        try device.verify(
            functions.createCommandPool(device.handle, &poolInfo, nil, &commandPool), "vkCreateCommandPool")
        var commandInfo = VkCommandBufferAllocateInfo()
        commandInfo.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO
        commandInfo.commandPool = commandPool
        commandInfo.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY
        commandInfo.commandBufferCount = 1
        var commands: VkCommandBuffer?
        try device.verify(
            functions.allocateCommandBuffers(device.handle, &commandInfo, &commands), "vkAllocateCommandBuffers")
        var fenceInfo = VkFenceCreateInfo()
        fenceInfo.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO
        var fence: VkFence?
        try device.verify(functions.createFence(device.handle, &fenceInfo, nil, &fence), "vkCreateFence")
        guard let pool, let set, let commandPool, let commands, let fence else {
            throw SessionError(.allocationFailed, "Vulkan made no command buffer")
        }
        (self.pool, self.set, self.commandPool, self.commands, self.fence) = (
            pool, set, commandPool, commands, fence
        )
    }

    deinit {
        guard device.failure == nil else { return }
        device.functions.destroyFence(device.handle, fence, nil)
        device.functions.destroyCommandPool(device.handle, commandPool, nil)
        device.functions.destroyDescriptorPool(device.handle, pool, nil)
    }

    /// Starts the pipeline over a slice; `wait` tells when it has ended.
    func submit(
        _ pipeline: VkPipeline, _ bindings: [Binding], _ placement: Placement, groups: (x: Int, y: Int)
    ) throws(SessionError) {
        let functions = device.functions
        bind(bindings)
        let layout = try device.store().pipelineLayout
        var begin = VkCommandBufferBeginInfo()
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO
        begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT.rawValue
        try device.verify(functions.beginCommandBuffer(commands, &begin), "vkBeginCommandBuffer")
        functions.bindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline)
        var set: VkDescriptorSet? = set
        functions.bindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nil)
        withUnsafeBytes(of: placement) {
            functions.pushConstants(
                commands, layout, VK_SHADER_STAGE_COMPUTE_BIT.rawValue, 0, UInt32($0.count), $0.baseAddress)
        }
        functions.dispatch(commands, UInt32(groups.x), UInt32(groups.y), 1)
        var barrier = VkMemoryBarrier()
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT.rawValue
        barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT.rawValue
        functions.pipelineBarrier(
            commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT.rawValue, VK_PIPELINE_STAGE_HOST_BIT.rawValue, 0, 1,
            &barrier, 0, nil, 0, nil)
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

    private func bind(_ bindings: [Binding]) {
        let infos = bindings.map {
            VkDescriptorBufferInfo(buffer: $0.buffer, offset: UInt64($0.offset), range: UInt64($0.range))
        }
        infos.withUnsafeBufferPointer { infos in
            let writes = infos.indices.map { index in
                var write = VkWriteDescriptorSet()
                write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
                write.dstSet = set
                write.dstBinding = UInt32(index)
                write.descriptorCount = 1
                write.descriptorType =
                    index == PipelineStore.parametersBinding
                    ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                write.pBufferInfo = infos.baseAddress.map { $0 + index }
                return write
            }
            device.functions.updateDescriptorSets(device.handle, UInt32(writes.count), writes, 0, nil)
        }
    }

    /// Waits for what was submitted last.
    func wait(seconds: Double) throws(SessionError) { try device.wait(fence, seconds: seconds) }
}
