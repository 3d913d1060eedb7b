// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// A device's layouts and pipelines, created on demand, and the driver's cache of compiled code.
final class PipelineStore {
    /// The kind of source that shaders read, which determines the bindings.
    enum Front: Hashable {
        case buffers
        /// For dma-bufs; created only when a session uses them.
        case images
    }

    /// The layouts of a pipeline's bindings.
    struct Layouts {
        let set: VkDescriptorSetLayout
        let pipeline: VkPipelineLayout
    }

    /// A shader with its specialization constants.
    struct Key: Hashable {
        /// The kind of source.
        var front = Front.buffers
        /// Whether the target is Y'CbCr.
        var writesYCbCr: Bool
        /// Whether there is a list of effects.
        var hasEffects = false
        /// The specialization constants, by their IDs.
        var constants: [UInt32]
        /// The pass of a scaling; nil for conversions.
        var pass: ScalingPass?

        var code: StaticString {
            if let pass { return pass == .across ? SPIRV.scale_across : SPIRV.scale_down }
            switch (front, writesYCbCr) {
            case (.buffers, false): return hasEffects ? SPIRV.to_rgb_effects : SPIRV.to_rgb
            case (.buffers, true): return hasEffects ? SPIRV.to_ycbcr_effects : SPIRV.to_ycbcr
            case (.images, false): return hasEffects ? SPIRV.image_to_rgb_effects : SPIRV.image_to_rgb
            case (.images, true): return hasEffects ? SPIRV.image_to_ycbcr_effects : SPIRV.image_to_ycbcr
            }
        }
    }

    /// The passes of a scaling.
    enum ScalingPass: Hashable { case across, down }

    /// Bindings: three source planes, three target planes, parameters, tables of the conversion and of its effects.
    static let bindingCount = 9
    static let parametersBinding = 6, tablesBinding = 7, effectsBinding = 8
    /// Bytes of push constants.
    static let placementSize = max(
        MemoryLayout<Placement>.size, MemoryLayout<AcrossPlacement>.size, MemoryLayout<DownPlacement>.size)

    private var layouts: [Front: Layouts] = [:]
    private let cache: VkPipelineCache?
    private let file: PipelineCacheFile
    private var pipelines: [Key: VkPipeline] = [:]
    private var isChanged = false

    init(_ device: VulkanDevice) throws(SessionError) {
        file = PipelineCacheFile(uuid: device.description.uuid)
        cache = Self.makeCache(device, file.read() ?? [])
    }

    /// The descriptor type of a binding.
    static func type(of binding: Int, _ front: Front) -> VkDescriptorType {
        if binding == parametersBinding { return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER }
        if binding == tablesBinding { return VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER }
        return front == .images && binding < 3
            ? VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
    }

    /// The layouts for a kind of source, created on first use.
    func layouts(_ front: Front, _ device: VulkanDevice) throws(SessionError) -> Layouts {
        if let made = layouts[front] { return made }
        let functions = device.functions
        // Semi-planar sources have two images.
        let bindings = (0..<Self.bindingCount).filter { front == .buffers || $0 != 2 }.map { index in
            var binding = VkDescriptorSetLayoutBinding()
            binding.binding = UInt32(index)
            binding.descriptorType = Self.type(of: index, front)
            binding.descriptorCount = 1
            binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT.rawValue
            return binding
        }
        var set: VkDescriptorSetLayout?
        let result = bindings.withUnsafeBufferPointer { bindings in
            var info = VkDescriptorSetLayoutCreateInfo()
            info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO
            info.bindingCount = UInt32(bindings.count)
            info.pBindings = bindings.baseAddress
            return functions.createSetLayout(device.handle, &info, nil, &set)
        }
        try device.verify(result, "vkCreateDescriptorSetLayout")
        var layout: VkPipelineLayout?
        var range = VkPushConstantRange()
        range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT.rawValue
        range.size = UInt32(Self.placementSize)
        let made = withUnsafePointer(to: set) { set in
            withUnsafePointer(to: range) { range in
                var info = VkPipelineLayoutCreateInfo()
                info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO
                info.setLayoutCount = 1
                info.pSetLayouts = set
                info.pushConstantRangeCount = 1
                info.pPushConstantRanges = range
                return functions.createPipelineLayout(device.handle, &info, nil, &layout)
            }
        }
        try device.verify(made, "vkCreatePipelineLayout")
        guard let set, let layout else { throw SessionError(.couldNotCreateInstance, "Vulkan returned no layouts") }
        let both = Layouts(set: set, pipeline: layout)
        layouts[front] = both
        return both
    }

    /// A pipeline cache with the file's content, or an empty one where the driver refuses that.
    private static func makeCache(_ device: VulkanDevice, _ bytes: [UInt8]) -> VkPipelineCache? {
        for start in [bytes, []] {
            var cache: VkPipelineCache?
            let result = start.withUnsafeBytes { start in
                var info = VkPipelineCacheCreateInfo()
                info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO
                info.initialDataSize = start.count
                info.pInitialData = start.baseAddress
                return device.functions.createPipelineCache(device.handle, &info, nil, &cache)
            }
            if result == VK_SUCCESS { return cache }
        }
        return nil
    }

    /// The pipeline of a conversion, compiled on first use.
    func pipeline(_ key: Key, _ device: VulkanDevice) throws(SessionError) -> VkPipeline {
        if let made = pipelines[key] { return made }
        let layout = try layouts(key.front, device).pipeline
        let module = try Self.module(device, SPIRV.words(key.code))
        defer { device.functions.destroyShaderModule(device.handle, module, nil) }
        let entries = key.constants.indices.map {
            VkSpecializationMapEntry(constantID: UInt32($0), offset: UInt32($0 * 4), size: 4)
        }
        var pipeline: VkPipeline?
        let result = entries.withUnsafeBufferPointer { entries in
            key.constants.withUnsafeBytes { data in
                var special = VkSpecializationInfo()
                special.mapEntryCount = UInt32(entries.count)
                special.pMapEntries = entries.baseAddress
                special.dataSize = data.count
                special.pData = data.baseAddress
                return withUnsafePointer(to: special) { special in
                    "main".withCString { name in
                        var info = VkComputePipelineCreateInfo()
                        info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO
                        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO
                        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT
                        info.stage.module = module
                        info.stage.pName = name
                        info.stage.pSpecializationInfo = special
                        info.layout = layout
                        info.basePipelineIndex = -1
                        return device.functions.createComputePipelines(
                            device.handle, cache, 1, &info, nil, &pipeline)
                    }
                }
            }
        }
        try device.verify(result, "vkCreateComputePipelines")
        guard let pipeline else { throw SessionError(.couldNotCreateInstance, "Vulkan returned no pipeline") }
        pipelines[key] = pipeline
        isChanged = true
        return pipeline
    }

    private static func module(_ device: VulkanDevice, _ words: [UInt32]) throws(SessionError) -> VkShaderModule {
        var module: VkShaderModule?
        let result = words.withUnsafeBufferPointer { words in
            var info = VkShaderModuleCreateInfo()
            info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO
            info.codeSize = words.count * 4
            info.pCode = words.baseAddress
            return device.functions.createShaderModule(device.handle, &info, nil, &module)
        }
        try device.verify(result, "vkCreateShaderModule")
        guard let module else { throw SessionError(.couldNotCreateInstance, "Vulkan returned no shader module") }
        return module
    }

    /// Saves the driver's cache for the next process, if it has changed.
    func save(_ device: VulkanDevice) {
        guard isChanged, device.failure == nil, let cache else { return }
        var size = 0
        guard device.functions.getPipelineCacheData(device.handle, cache, &size, nil) == VK_SUCCESS, size > 0,
            size <= PipelineCacheFile.maxSize
        else { return }
        var bytes = [UInt8](repeating: 0, count: size)
        guard device.functions.getPipelineCacheData(device.handle, cache, &size, &bytes) == VK_SUCCESS else {
            return
        }
        file.write(Array(bytes.prefix(size)))
        isChanged = false
    }

    /// Saves the cache and destroys all objects; the device must not be lost.
    func destroy(_ device: VulkanDevice) {
        save(device)
        for pipeline in pipelines.values { device.functions.destroyPipeline(device.handle, pipeline, nil) }
        if let cache { device.functions.destroyPipelineCache(device.handle, cache, nil) }
        for made in layouts.values {
            device.functions.destroyPipelineLayout(device.handle, made.pipeline, nil)
            device.functions.destroySetLayout(device.handle, made.set, nil)
        }
    }
}
