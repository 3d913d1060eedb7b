// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
public import HWDModel

/// The Vulkan devices of this machine.
public enum VulkanDevices {
    /// The drivers' devices, the preferred ones first.
    ///
    /// Drivers run in this process: they may crash it, or never return.
    /// - Throws: `CouldNotCreateInstance` without a loader or driver.
    public static func list() throws(SessionError) -> [VulkanDeviceDescription] {
        try VulkanInstance().devices().map(\.description)
    }

    /// The device to use: the one at a PCI address, or the best one.
    ///
    /// - Parameter pciAddress: The only device that may be used ("0000:01:00.0"); nil for any.
    /// - Parameter allowsSoftware: Whether software is used without a GPU.
    public static func choose(
        from devices: [VulkanDeviceDescription], pciAddress: String? = nil, allowsSoftware: Bool = false
    ) -> VulkanDeviceDescription? {
        let request = ComputeChoice.Request(required: pciAddress, allowsSoftware: allowsSoftware)
        return (try? choice(from: devices, request)).map { devices[$0.index] }
    }

    /// The device that `ComputeChoice` selects, and why.
    ///
    /// - Parameter faults: reasons against devices, by their UUIDs.
    /// - Throws: `CouldNotCreateInstance` with the devices that were found.
    static func choice(
        from devices: [VulkanDeviceDescription], _ request: ComputeChoice.Request, faults: [String: String] = [:]
    ) throws(SessionError) -> ComputeChoice {
        try ComputeChoice(
            of: devices.map {
                ComputeChoice.Candidate(
                    name: $0.label, kind: $0.computeKind, pciAddress: $0.pciAddress, fault: faults[$0.uuid])
            }, request)
    }
}

extension VulkanInstance {
    /// The devices that can run the shaders, the preferred ones first.
    func devices() throws(SessionError) -> [(handle: VkPhysicalDevice, description: VulkanDeviceDescription)] {
        var devices: [(handle: VkPhysicalDevice, description: VulkanDeviceDescription)] = []
        for (index, device) in try physicalDevices().enumerated() {
            guard let description = try describe(device, index) else { continue }
            devices.append((device, description))
        }
        return devices.sorted {
            ($0.description.kind, $0.description.index) < ($1.description.kind, $1.description.index)
        }
    }

    /// All physical devices, in the loader's order.
    func physicalDevices() throws(SessionError) -> [VkPhysicalDevice] {
        var count: UInt32 = 0
        let counted = functions.enumeratePhysicalDevices(handle, &count, nil)
        // The loader returns this where no driver has a device.
        if counted == VK_ERROR_INITIALIZATION_FAILED { return [] }
        try check(counted, "vkEnumeratePhysicalDevices")
        var handles = [VkPhysicalDevice?](repeating: nil, count: Int(count))
        let result = functions.enumeratePhysicalDevices(handle, &count, &handles)
        if result != VK_INCOMPLETE { try check(result, "vkEnumeratePhysicalDevices") }
        return handles.prefix(Int(count)).compactMap { $0 }
    }

    /// The names of a device's extensions.
    func extensions(_ device: VkPhysicalDevice) throws(SessionError) -> Set<String> {
        var count: UInt32 = 0
        try check(functions.enumerateExtensions(device, nil, &count, nil), "vkEnumerateDeviceExtensionProperties")
        var found = [VkExtensionProperties](repeating: VkExtensionProperties(), count: Int(count))
        try check(
            functions.enumerateExtensions(device, nil, &count, &found), "vkEnumerateDeviceExtensionProperties")
        return Set(found.prefix(Int(count)).map { text($0.extensionName) })
    }

    /// A device's description; nil below Vulkan 1.1, which has neither SPIR-V 1.3 nor these queries.
    func describe(_ device: VkPhysicalDevice, _ index: Int) throws(SessionError) -> VulkanDeviceDescription? {
        let extensions = try extensions(device)
        var plain = VkPhysicalDeviceProperties2()
        plain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2
        functions.getProperties2(device, &plain)
        let version = plain.properties.apiVersion
        guard hwd_vk_major(version) > 1 || hwd_vk_minor(version) >= 1 else { return nil }

        var identity = VkPhysicalDeviceIDProperties()
        identity.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES
        query(device, &identity)
        var driver = VkPhysicalDeviceDriverProperties()
        driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES
        if extensions.contains(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME) || hwd_vk_minor(version) >= 2 {
            query(device, &driver)
        }
        var bus = VkPhysicalDevicePCIBusInfoPropertiesEXT()
        bus.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT
        let kind = Self.kind(plain.properties.deviceType)
        let hasBus = extensions.contains(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)
        if hasBus { query(device, &bus) }
        var host = VkPhysicalDeviceExternalMemoryHostPropertiesEXT()
        host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT
        let place = kind == .software ? nil : hasBus ? Self.pciAddress(bus) : drmAddress(device, extensions)
        let hasHost = extensions.contains(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)
        if hasHost { query(device, &host) }

        let names = [text(driver.driverName), text(driver.driverInfo)].filter { !$0.isEmpty }
        return VulkanDeviceDescription(
            name: text(plain.properties.deviceName),
            driver: names.isEmpty ? "driver \(plain.properties.driverVersion)" : names.joined(separator: " "),
            kind: kind, apiVersion: "\(hwd_vk_major(version)).\(hwd_vk_minor(version)).\(hwd_vk_patch(version))",
            pciAddress: place,
            uuid: withUnsafeBytes(of: identity.deviceUUID) { Hexadecimal.text($0) },
            importsHostMemory: hasHost, hostMemoryAlignment: Int(host.minImportedHostPointerAlignment),
            importsDMABufs: extensions.isSuperset(of: VulkanDevice.dmaBufExtensions),
            // The modifier extension depends on VK_KHR_image_format_list, core in Vulkan 1.2.
            importsModifiers: extensions.isSuperset(of: VulkanDevice.modifierExtensions)
                && (hwd_vk_major(version) > 1 || hwd_vk_minor(version) >= 2), index: index)
    }

    private static func pciAddress(_ bus: VkPhysicalDevicePCIBusInfoPropertiesEXT) -> String {
        [
            Hexadecimal.text(bus.pciDomain, minDigits: 4), Hexadecimal.text(bus.pciBus, minDigits: 2),
            Hexadecimal.text(bus.pciDevice, minDigits: 2) + "." + String(bus.pciFunction, radix: 16),
        ].joined(separator: ":")
    }

    /// The PCI address of the device's DRM node, for drivers that report only the node's number.
    private func drmAddress(_ device: VkPhysicalDevice, _ extensions: Set<String>) -> String? {
        guard extensions.contains(VK_EXT_PHYSICAL_DEVICE_DRM_EXTENSION_NAME) else { return nil }
        var drm = VkPhysicalDeviceDrmPropertiesEXT()
        drm.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRM_PROPERTIES_EXT
        query(device, &drm)
        if drm.hasRender != 0 { return SysfsNode.pciAddress(major: drm.renderMajor, minor: drm.renderMinor) }
        guard drm.hasPrimary != 0 else { return nil }
        return SysfsNode.pciAddress(major: drm.primaryMajor, minor: drm.primaryMinor)
    }

    /// Queries a structure that extends the properties.
    func query<Structure>(
        _ device: VkPhysicalDevice, _ structure: inout Structure
    ) {
        withUnsafeMutablePointer(to: &structure) { pointer in
            var properties = VkPhysicalDeviceProperties2()
            properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2
            properties.pNext = UnsafeMutableRawPointer(pointer)
            functions.getProperties2(device, &properties)
        }
    }

    static func kind(_ type: VkPhysicalDeviceType) -> VulkanDeviceDescription.Kind {
        switch type {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: .discrete
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: .integrated
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: .virtual
        case VK_PHYSICAL_DEVICE_TYPE_CPU: .software
        default: .other
        }
    }
}
