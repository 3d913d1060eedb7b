// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
public import HWDModel

/// A survey of this machine's Vulkan for a probe: every device, why it is unusable, and whether it converts correctly.
///
/// Drivers run in this process: they may crash it, or never return. They stay loaded as long as this object.
public final class VulkanSurvey {
    /// The loader's Vulkan version (`1.3.239`).
    public let loader: String
    /// Every device of every driver, in the loader's order.
    public let devices: [ComputeDevice]
    /// A text that changes with the drivers and their devices.
    public var identity: String {
        devices.map { "\($0.id) \($0.pciAddress ?? "-") \($0.name) \($0.driver) \($0.apiVersion)" }
            .joined(separator: "\n")
    }

    private let instance: VulkanInstance
    /// How long loading the drivers took.
    private let opening: Duration

    /// The most devices that are surveyed.
    private static let maxDevices = 16

    /// Opens the loader, which loads every driver, and surveys their devices.
    ///
    /// - Throws: `CouldNotCreateInstance` without a loader, driver or device, with the reason.
    public init() throws(SessionError) {
        let start = ContinuousClock.now
        instance = try VulkanInstance()
        let library = try VulkanLibrary()
        let version: PFN_vkEnumerateInstanceVersion = try library.load("vkEnumerateInstanceVersion")
        var number: UInt32 = 0
        try check(version(&number), "vkEnumerateInstanceVersion")
        loader = Self.text(number)
        let handles = try instance.physicalDevices().prefix(Self.maxDevices)
        opening = .now - start
        guard !handles.isEmpty else {
            throw SessionError(.couldNotCreateInstance, "no Vulkan driver here has a device")
        }
        var devices: [ComputeDevice] = []
        for (index, handle) in handles.enumerated() {
            devices.append(try instance.survey(handle, index))
        }
        self.devices = devices
    }

    /// Why a device's conversions are wrong; nil when they are correct.
    ///
    /// - Parameter memory: pages for the device to use in place, `trialBytes` at least; nil copies.
    public func trial(of device: ComputeDevice, in memory: UnsafeMutableRawBufferPointer? = nil) -> String? {
        do throws(SessionError) {
            return try VulkanTrial.fault(of: VulkanDevice(surveyed: device), in: memory)
        } catch {
            return "converting failed: \(error.reason)"
        }
    }

    /// The speed of a verified device, and that of the CPU.
    ///
    /// - Throws: the device's error.
    public func speed(of device: ComputeDevice) throws(SessionError) -> ComputeDevice.Speed {
        try VulkanTrial.speed(of: device, opening: opening)
    }

    /// The size in bytes of the memory for a trial in place.
    public static var trialBytes: Int { VulkanTrial.memorySize }

    static func text(_ version: UInt32) -> String {
        "\(hwd_vk_major(version)).\(hwd_vk_minor(version)).\(hwd_vk_patch(version))"
    }
}

extension VulkanInstance {
    /// A device with its limits, and why it is unusable.
    fileprivate func survey(_ device: VkPhysicalDevice, _ index: Int) throws(SessionError) -> ComputeDevice {
        var plain = VkPhysicalDeviceProperties2()
        plain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2
        functions.getProperties2(device, &plain)
        let (properties, limits) = (plain.properties, plain.properties.limits)
        let description = try describe(device, index)
        let extensions = try extensions(device)
        let takesFiles = extensions.contains(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)
        let takesDMABufs = takesFiles && extensions.contains(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME)
        let (storage16Bit, float16) = description == nil ? (false, false) : features(device, properties.apiVersion)
        var found = ComputeDevice(
            id: description?.uuid ?? "", name: description?.name ?? text(properties.deviceName),
            driver: description?.driver ?? "driver \(properties.driverVersion)",
            apiVersion: VulkanSurvey.text(properties.apiVersion),
            kind: description?.computeKind ?? .other,
            pciAddress: description?.pciAddress, claimed: false,
            imports: ComputeDevice.Imports(
                hostMemoryAlignment: description?.importsHostMemory == true
                    ? description?.hostMemoryAlignment : nil,
                dmaBufs: takesDMABufs,
                dmaBufModifiers: takesDMABufs
                    && extensions.contains(VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME)),
            limits: ComputeDevice.Limits(
                maxStorageBufferRange: Int(limits.maxStorageBufferRange),
                maxStorageBuffers: Int(limits.maxPerStageDescriptorStorageBuffers),
                timestampPeriod: limits.timestampComputeAndGraphics != 0 && limits.timestampPeriod > 0
                    ? Double(limits.timestampPeriod) : nil,
                storage16Bit: storage16Bit, float16: float16))
        found.reason = fault(of: device, description, limits)
        found.claimed = found.reason == nil
        return found
    }

    /// A requirement of the shaders that a device does not meet; nil where it meets all.
    private func fault(
        of device: VkPhysicalDevice, _ description: VulkanDeviceDescription?, _ limits: VkPhysicalDeviceLimits
    ) -> String? {
        guard description != nil else { return "its driver is older than Vulkan 1.1, which shaders need" }
        guard limits.maxPerStageDescriptorStorageBuffers >= VulkanDevice.storageBuffers else {
            return "it has \(limits.maxPerStageDescriptorStorageBuffers) storage buffers per shader, "
                + "\(VulkanDevice.storageBuffers) are needed"
        }
        var count: UInt32 = 0
        functions.getQueueFamilyProperties(device, &count, nil)
        var families = [VkQueueFamilyProperties](repeating: VkQueueFamilyProperties(), count: Int(count))
        functions.getQueueFamilyProperties(device, &count, &families)
        let computes = families.prefix(Int(count)).contains { $0.queueFlags & VK_QUEUE_COMPUTE_BIT.rawValue != 0 }
        return computes ? nil : "it has no compute queue"
    }

    /// Whether shaders support 16-bit samples in buffers, and arithmetic of half floats.
    private func features(_ device: VkPhysicalDevice, _ version: UInt32) -> (storage16Bit: Bool, float16: Bool) {
        let get: PFN_vkGetPhysicalDeviceFeatures2
        do throws(SessionError) {
            get = try VulkanLibrary().load("vkGetPhysicalDeviceFeatures2", handle)
        } catch { return (false, false) }
        var storage = VkPhysicalDevice16BitStorageFeatures()
        storage.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES
        var half = VkPhysicalDeviceShaderFloat16Int8Features()
        half.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES
        // The structure is core since 1.2, and requires an extension before.
        let hasHalf = hwd_vk_major(version) > 1 || hwd_vk_minor(version) >= 2
        withUnsafeMutablePointer(to: &half) { half in
            withUnsafeMutablePointer(to: &storage) { storage in
                storage.pointee.pNext = hasHalf ? UnsafeMutableRawPointer(half) : nil
                var features = VkPhysicalDeviceFeatures2()
                features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
                features.pNext = UnsafeMutableRawPointer(storage)
                get(device, &features)
            }
        }
        return (storage.storageBuffer16BitAccess != 0, half.shaderFloat16 != 0)
    }
}
