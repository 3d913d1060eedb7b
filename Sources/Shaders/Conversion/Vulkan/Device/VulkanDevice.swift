// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
public import HWDModel

/// A logical device with one queue, opened for conversions; destroyed with this object.
///
/// Converters on the same device share its compiled pipelines. Used from one thread.
public final class VulkanDevice {
    /// The driver's description of the device.
    public let description: VulkanDeviceDescription
    /// Why this device was chosen.
    public let choice: String
    /// The validation layer's messages, where it is enabled and installed.
    public var validation: ValidationLog? { instance.validation }
    /// Why the device is unusable: it was lost, or work did not end in time; nil while it works.
    public private(set) var failure: SessionError?

    let functions: DeviceFunctions
    let handle: VkDevice
    let queue: VkQueue
    let queueFamily: UInt32
    let limits: VkPhysicalDeviceLimits
    /// Imported memory of this process.
    private(set) var regions: [ImportedRegion] = []
    /// Pictures whose planes were all used in place, and pictures with copied planes.
    var (picturesInPlace, picturesCopied) = (0, 0)
    /// Whether read-only pages can be imported; nil until that is tried.
    var readsReadOnlyPages: Bool?
    let instance: VulkanInstance
    let physical: VkPhysicalDevice
    private var images: ImageFunctions?
    private let memory: VkPhysicalDeviceMemoryProperties
    private var pipelines: PipelineStore?

    /// Storage buffers that the shaders need: six planes, and the tables of effects.
    static let storageBuffers: UInt32 = 7

    /// Opens the best device, or the one at a PCI address.
    ///
    /// - Parameter pciAddress: The only device that may be used ("0000:01:00.0"); nil for any.
    /// - Parameter allowsSoftware: Whether software (lavapipe) is used without a GPU.
    /// - Parameter validates: Whether to enable the validation layer, where it is installed; for tests.
    /// - Throws: `CouldNotCreateInstance` with the reason: no loader, no driver, no such device.
    public convenience init(
        pciAddress: String? = nil, allowsSoftware: Bool = false, validates: Bool = false
    ) throws(SessionError) {
        try self.init(
            ComputeChoice.Request(required: pciAddress, allowsSoftware: allowsSoftware), validates: validates)
    }

    /// Opens the device that `ComputeChoice` selects.
    ///
    /// - Parameter faults: Reasons against devices, by their UUIDs.
    /// - Throws: `CouldNotCreateInstance` with the reason: no loader, no driver, no such device.
    public convenience init(
        _ request: ComputeChoice.Request, faults: [String: String] = [:], validates: Bool = false
    ) throws(SessionError) {
        let instance = try VulkanInstance(validates: validates)
        let devices = try instance.devices()
        let choice = try VulkanDevices.choice(from: devices.map(\.description), request, faults: faults)
        let (physical, chosen) = devices[choice.index]
        try self.init(instance, physical, chosen, choice.reason)
    }

    /// Opens the device that a survey found, even if it has a fault.
    convenience init(surveyed device: ComputeDevice) throws(SessionError) {
        let instance = try VulkanInstance()
        let found = try instance.devices().first {
            $0.description.uuid == device.id && $0.description.name == device.name
        }
        guard let (physical, chosen) = found else {
            throw SessionError(.couldNotCreateInstance, "\(device.name) is no longer present")
        }
        try self.init(instance, physical, chosen, "selected by a probe")
    }

    /// Another logical device on the same hardware, whose loss does not affect this one.
    convenience init(like other: VulkanDevice) throws(SessionError) {
        try self.init(other.instance, other.physical, other.description, other.choice)
    }

    private init(
        _ instance: VulkanInstance, _ physical: VkPhysicalDevice, _ chosen: VulkanDeviceDescription,
        _ choice: String
    ) throws(SessionError) {
        self.instance = instance
        self.physical = physical
        self.choice = choice
        description = chosen
        var properties = VkPhysicalDeviceProperties2()
        properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2
        instance.functions.getProperties2(physical, &properties)
        limits = properties.properties.limits
        guard limits.maxPerStageDescriptorStorageBuffers >= Self.storageBuffers else {
            throw SessionError(
                .couldNotCreateInstance,
                "\(chosen.name) has \(limits.maxPerStageDescriptorStorageBuffers) storage buffers per shader, "
                    + "\(Self.storageBuffers) are needed")
        }
        var found = VkPhysicalDeviceMemoryProperties()
        instance.functions.getMemoryProperties(physical, &found)
        memory = found
        queueFamily = try Self.queueFamily(instance, physical, chosen)
        handle = try Self.create(instance, physical, queueFamily, chosen)
        functions = try DeviceFunctions(
            instance.functions.getDeviceProcAddr, handle, importsHostMemory: chosen.importsHostMemory)
        var first: VkQueue?
        functions.getQueue(handle, queueFamily, 0, &first)
        guard let first else { throw SessionError(.couldNotCreateInstance, "\(chosen.name) has no queue") }
        queue = first
    }

    deinit {
        // Work that is still running must not be destroyed; a process with a lost device ends soon.
        guard failure == nil else { return }
        pipelines?.destroy(self)
        functions.destroyDevice(handle, nil)
    }

    private static func queueFamily(
        _ instance: VulkanInstance, _ device: VkPhysicalDevice, _ description: VulkanDeviceDescription
    ) throws(SessionError) -> UInt32 {
        var count: UInt32 = 0
        instance.functions.getQueueFamilyProperties(device, &count, nil)
        var families = [VkQueueFamilyProperties](repeating: VkQueueFamilyProperties(), count: Int(count))
        instance.functions.getQueueFamilyProperties(device, &count, &families)
        let computes = families.prefix(Int(count)).enumerated().filter {
            $0.element.queueFlags & VK_QUEUE_COMPUTE_BIT.rawValue != 0 && $0.element.queueCount > 0
        }
        // A family without graphics runs concurrently with the desktop's work.
        let best = computes.first { $0.element.queueFlags & VK_QUEUE_GRAPHICS_BIT.rawValue == 0 } ?? computes.first
        guard let best else { throw SessionError(.couldNotCreateInstance, "\(description.name) cannot compute") }
        return UInt32(best.offset)
    }

    private static func create(
        _ instance: VulkanInstance, _ device: VkPhysicalDevice, _ family: UInt32,
        _ description: VulkanDeviceDescription
    ) throws(SessionError) -> VkDevice {
        let extensions =
            (description.importsHostMemory ? [VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME] : [])
            + (description.importsDMABufImages ? dmaBufExtensions + modifierExtensions : [])
        var made: VkDevice?
        var priority: Float = 1
        let result = withCStrings(extensions) { extensions in
            withUnsafePointer(to: &priority) { priority in
                var queue = VkDeviceQueueCreateInfo()
                queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO
                queue.queueFamilyIndex = family
                queue.queueCount = 1
                queue.pQueuePriorities = priority
                return withUnsafePointer(to: queue) { queue in
                    var info = VkDeviceCreateInfo()
                    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO
                    info.queueCreateInfoCount = 1
                    info.pQueueCreateInfos = queue
                    info.enabledExtensionCount = UInt32(extensions.count)
                    info.ppEnabledExtensionNames = extensions.baseAddress
                    return instance.functions.createDevice(device, &info, nil, &made)
                }
            }
        }
        try check(result, "vkCreateDevice")
        guard let made else { throw SessionError(.couldNotCreateInstance, "vkCreateDevice returned no device") }
        return made
    }

    /// The first memory type of `bits` with all `required` and the most `preferred` properties.
    func memoryType(
        _ bits: UInt32, required: VkMemoryPropertyFlagBits..., preferred: [VkMemoryPropertyFlagBits] = []
    ) -> UInt32? {
        let needed = required.reduce(0) { $0 | $1.rawValue }
        let wanted = preferred.reduce(0) { $0 | $1.rawValue }
        var best: (type: UInt32, score: Int)?
        withUnsafeBytes(of: memory.memoryTypes) { bytes in
            for (index, type) in bytes.bindMemory(to: VkMemoryType.self).prefix(Int(memory.memoryTypeCount))
                .enumerated()
            where bits >> index & 1 != 0 && type.propertyFlags & needed == needed {
                let score = (type.propertyFlags & wanted).nonzeroBitCount
                if best.map({ $0.score < score }) ?? true { best = (UInt32(index), score) }
            }
        }
        return best?.type
    }

    /// The size in bytes of a memory type's heap.
    func heapSize(ofType type: UInt32) -> UInt64 {
        let types = withUnsafeBytes(of: memory.memoryTypes) { Array($0.bindMemory(to: VkMemoryType.self)) }
        let heaps = withUnsafeBytes(of: memory.memoryHeaps) { Array($0.bindMemory(to: VkMemoryHeap.self)) }
        return heaps[Int(types[Int(type)].heapIndex)].size
    }

    /// Imports memory for use in place; see `ImportedRegion`.
    func importMemory(_ memory: UnsafeRawBufferPointer, isWritable: Bool) throws(SessionError) {
        if !isWritable, readsReadOnlyPages == nil { readsReadOnlyPages = ReadOnlyTrial.passes(self) }
        regions.append(try ImportedRegion(self, memory, isWritable: isWritable))
    }

    /// Releases the memory imported at an address, which no conversion in flight may use.
    func forgetMemory(_ base: UnsafeRawPointer) { regions.removeAll { $0.key == base } }

    /// Throws for a failed call; a lost device makes every later conversion fail with the same reason.
    func verify(_ result: VkResult, _ call: String) throws(SessionError) {
        do throws(SessionError) { try check(result, call) } catch {
            if result == VK_ERROR_DEVICE_LOST { failure = error }
            throw error
        }
    }

    /// Waits for a fence; after the timeout the device counts as lost.
    func wait(_ fence: VkFence, seconds: Double) throws(SessionError) {
        var fence: VkFence? = fence
        let result = functions.waitForFences(handle, 1, &fence, 1, UInt64(seconds * 1e9))
        if result == VK_TIMEOUT {
            let error = SessionError(
                .pixelTransferNotSupported, "\(description.name) did not finish a picture within \(seconds) s")
            failure = error
            throw error
        }
        try verify(result, "vkWaitForFences")
    }

    /// The layouts and pipelines of this device.
    func store() throws(SessionError) -> PipelineStore {
        if let pipelines { return pipelines }
        let made = try PipelineStore(self)
        pipelines = made
        return made
    }

    /// Loads a function by its name; `Function` must be its PFN type.
    func function<Function>(_ name: String) throws(SessionError) -> Function {
        guard let pointer = instance.functions.getDeviceProcAddr(handle, name) else {
            throw SessionError(.couldNotCreateInstance, "the Vulkan driver has no \(name)")
        }
        return unsafeBitCast(pointer, to: Function.self)
    }

    /// The functions for images, loaded on first use.
    func imageFunctions() throws(SessionError) -> ImageFunctions {
        if let images { return images }
        let made = try ImageFunctions(self)
        images = made
        return made
    }

    /// Saves the driver's compiled pipelines for the next process; failures are ignored.
    public func savePipelines() { pipelines?.save(self) }
}
