// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// The functions of a logical device.
struct DeviceFunctions {
    let destroyDevice: PFN_vkDestroyDevice
    let getQueue: PFN_vkGetDeviceQueue
    let queueSubmit: PFN_vkQueueSubmit
    let createBuffer: PFN_vkCreateBuffer
    let destroyBuffer: PFN_vkDestroyBuffer
    let createBufferView: PFN_vkCreateBufferView
    let destroyBufferView: PFN_vkDestroyBufferView
    let getBufferRequirements: PFN_vkGetBufferMemoryRequirements
    let allocateMemory: PFN_vkAllocateMemory
    let freeMemory: PFN_vkFreeMemory
    let bindBufferMemory: PFN_vkBindBufferMemory
    let mapMemory: PFN_vkMapMemory
    let createShaderModule: PFN_vkCreateShaderModule
    let destroyShaderModule: PFN_vkDestroyShaderModule
    let createSetLayout: PFN_vkCreateDescriptorSetLayout
    let destroySetLayout: PFN_vkDestroyDescriptorSetLayout
    let createPipelineLayout: PFN_vkCreatePipelineLayout
    let destroyPipelineLayout: PFN_vkDestroyPipelineLayout
    let createPipelineCache: PFN_vkCreatePipelineCache
    let getPipelineCacheData: PFN_vkGetPipelineCacheData
    let destroyPipelineCache: PFN_vkDestroyPipelineCache
    let createComputePipelines: PFN_vkCreateComputePipelines
    let destroyPipeline: PFN_vkDestroyPipeline
    let createDescriptorPool: PFN_vkCreateDescriptorPool
    let destroyDescriptorPool: PFN_vkDestroyDescriptorPool
    let allocateDescriptorSets: PFN_vkAllocateDescriptorSets
    let updateDescriptorSets: PFN_vkUpdateDescriptorSets
    let createCommandPool: PFN_vkCreateCommandPool
    let destroyCommandPool: PFN_vkDestroyCommandPool
    let allocateCommandBuffers: PFN_vkAllocateCommandBuffers
    let beginCommandBuffer: PFN_vkBeginCommandBuffer
    let endCommandBuffer: PFN_vkEndCommandBuffer
    let bindPipeline: PFN_vkCmdBindPipeline
    let bindDescriptorSets: PFN_vkCmdBindDescriptorSets
    let pushConstants: PFN_vkCmdPushConstants
    let dispatch: PFN_vkCmdDispatch
    let pipelineBarrier: PFN_vkCmdPipelineBarrier
    let createFence: PFN_vkCreateFence
    let destroyFence: PFN_vkDestroyFence
    let resetFences: PFN_vkResetFences
    let waitForFences: PFN_vkWaitForFences
    /// Nil without VK_EXT_external_memory_host.
    let getHostPointerProperties: PFN_vkGetMemoryHostPointerPropertiesEXT?

    init(_ get: PFN_vkGetDeviceProcAddr, _ device: VkDevice, importsHostMemory: Bool) throws(SessionError) {
        func load<Function>(_ name: String) throws(SessionError) -> Function {
            guard let pointer = get(device, name) else {
                throw SessionError(.couldNotCreateInstance, "the Vulkan driver has no \(name)")
            }
            return unsafeBitCast(pointer, to: Function.self)
        }
        destroyDevice = try load("vkDestroyDevice")
        getQueue = try load("vkGetDeviceQueue")
        queueSubmit = try load("vkQueueSubmit")
        createBuffer = try load("vkCreateBuffer")
        destroyBuffer = try load("vkDestroyBuffer")
        createBufferView = try load("vkCreateBufferView")
        destroyBufferView = try load("vkDestroyBufferView")
        getBufferRequirements = try load("vkGetBufferMemoryRequirements")
        allocateMemory = try load("vkAllocateMemory")
        freeMemory = try load("vkFreeMemory")
        bindBufferMemory = try load("vkBindBufferMemory")
        mapMemory = try load("vkMapMemory")
        createShaderModule = try load("vkCreateShaderModule")
        destroyShaderModule = try load("vkDestroyShaderModule")
        createSetLayout = try load("vkCreateDescriptorSetLayout")
        destroySetLayout = try load("vkDestroyDescriptorSetLayout")
        createPipelineLayout = try load("vkCreatePipelineLayout")
        destroyPipelineLayout = try load("vkDestroyPipelineLayout")
        createPipelineCache = try load("vkCreatePipelineCache")
        getPipelineCacheData = try load("vkGetPipelineCacheData")
        destroyPipelineCache = try load("vkDestroyPipelineCache")
        createComputePipelines = try load("vkCreateComputePipelines")
        destroyPipeline = try load("vkDestroyPipeline")
        createDescriptorPool = try load("vkCreateDescriptorPool")
        destroyDescriptorPool = try load("vkDestroyDescriptorPool")
        allocateDescriptorSets = try load("vkAllocateDescriptorSets")
        updateDescriptorSets = try load("vkUpdateDescriptorSets")
        createCommandPool = try load("vkCreateCommandPool")
        destroyCommandPool = try load("vkDestroyCommandPool")
        allocateCommandBuffers = try load("vkAllocateCommandBuffers")
        beginCommandBuffer = try load("vkBeginCommandBuffer")
        endCommandBuffer = try load("vkEndCommandBuffer")
        bindPipeline = try load("vkCmdBindPipeline")
        bindDescriptorSets = try load("vkCmdBindDescriptorSets")
        pushConstants = try load("vkCmdPushConstants")
        dispatch = try load("vkCmdDispatch")
        pipelineBarrier = try load("vkCmdPipelineBarrier")
        createFence = try load("vkCreateFence")
        destroyFence = try load("vkDestroyFence")
        resetFences = try load("vkResetFences")
        waitForFences = try load("vkWaitForFences")
        getHostPointerProperties = importsHostMemory ? try load("vkGetMemoryHostPointerPropertiesEXT") : nil
    }
}
