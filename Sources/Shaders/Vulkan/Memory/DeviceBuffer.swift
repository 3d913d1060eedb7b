// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// A storage buffer with memory that the CPU sees at all times; freed with its owner.
struct DeviceBuffer: ~Copyable {
    /// What a buffer is for, which decides its memory.
    enum Purpose {
        /// Written by the CPU, read by the device.
        case upload
        /// Written by the device, read by the CPU.
        case download
        /// Small, written once, read by every pixel.
        case constants
    }

    let handle: VkBuffer
    let memory: UnsafeMutableRawBufferPointer
    private let allocation: VkDeviceMemory
    private let device: VulkanDevice

    /// Allocates.
    ///
    /// - Throws: `AllocationFailed`, or what the driver says.
    init(_ device: VulkanDevice, size: Int, _ purpose: Purpose) throws(SessionError) {
        let functions = device.functions
        let handle = try Self.create(device, size, importing: false)
        var requirements = VkMemoryRequirements()
        functions.getBufferRequirements(device.handle, handle, &requirements)
        let preferred: [VkMemoryPropertyFlagBits] =
            switch purpose {
            case .upload: []
            case .download: [VK_MEMORY_PROPERTY_HOST_CACHED_BIT]
            case .constants: [VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT]
            }
        var allocation: VkDeviceMemory?
        var mapped: UnsafeMutableRawPointer?
        do throws(SessionError) {
            guard
                let type = device.memoryType(
                    requirements.memoryTypeBits, required: VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, preferred: preferred)
            else {
                throw SessionError(.allocationFailed, "\(device.description.name) has no memory that the CPU sees")
            }
            var info = VkMemoryAllocateInfo()
            info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO
            info.allocationSize = requirements.size
            info.memoryTypeIndex = type
            try device.verify(functions.allocateMemory(device.handle, &info, nil, &allocation), "vkAllocateMemory")
            try device.verify(
                functions.bindBufferMemory(device.handle, handle, allocation, 0), "vkBindBufferMemory")
            try device.verify(
                functions.mapMemory(device.handle, allocation, 0, hwd_vk_whole_size(), 0, &mapped), "vkMapMemory")
        } catch {
            functions.destroyBuffer(device.handle, handle, nil)
            if let allocation { functions.freeMemory(device.handle, allocation, nil) }
            throw error
        }
        guard let allocation, let mapped else { throw SessionError(.allocationFailed, "vkMapMemory gave nothing") }
        self.device = device
        self.handle = handle
        self.allocation = allocation
        memory = UnsafeMutableRawBufferPointer(start: mapped, count: size)
    }

    /// Takes a process's own pages in place (VK_EXT_external_memory_host); they must stay mapped as long as this lives.
    ///
    /// - Parameter pages: Aligned to what the device wants, mapped for what it does to them: the caller has checked.
    /// - Throws: Why the driver does not take them.
    init(_ device: VulkanDevice, importing pages: UnsafeMutableRawBufferPointer) throws(SessionError) {
        let functions = device.functions
        let kind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
        guard let query = functions.getHostPointerProperties, let start = pages.baseAddress else {
            throw SessionError(
                .pixelTransferNotSupported, "\(device.description.name) takes no memory of a process")
        }
        var pointer = VkMemoryHostPointerPropertiesEXT()
        pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT
        try device.verify(
            query(device.handle, kind, start, &pointer), "vkGetMemoryHostPointerPropertiesEXT")
        let handle = try Self.create(device, pages.count, importing: true)
        var requirements = VkMemoryRequirements()
        functions.getBufferRequirements(device.handle, handle, &requirements)
        var allocation: VkDeviceMemory?
        do throws(SessionError) {
            guard requirements.size <= pages.count,
                let type = device.memoryType(
                    requirements.memoryTypeBits & pointer.memoryTypeBits,
                    required: VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
            else {
                throw SessionError(
                    .pixelTransferNotSupported, "\(device.description.name) has no coherent type for such memory")
            }
            guard UInt64(pages.count) <= device.heapSize(ofType: type) else {
                throw SessionError(
                    .pixelTransferNotSupported,
                    "\(device.description.name) has no heap of the \(pages.count) bytes that are to be imported")
            }
            var source = VkImportMemoryHostPointerInfoEXT()
            source.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT
            source.handleType = kind
            source.pHostPointer = start
            let result = withUnsafePointer(to: source) { source in
                var info = VkMemoryAllocateInfo()
                info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO
                info.pNext = UnsafeRawPointer(source)
                info.allocationSize = UInt64(pages.count)
                info.memoryTypeIndex = type
                return functions.allocateMemory(device.handle, &info, nil, &allocation)
            }
            try device.verify(result, "vkAllocateMemory of a process's memory")
            try device.verify(
                functions.bindBufferMemory(device.handle, handle, allocation, 0), "vkBindBufferMemory")
        } catch {
            functions.destroyBuffer(device.handle, handle, nil)
            if let allocation { functions.freeMemory(device.handle, allocation, nil) }
            throw error
        }
        guard let allocation else { throw SessionError(.allocationFailed, "vkAllocateMemory gave nothing") }
        self.device = device
        self.handle = handle
        self.allocation = allocation
        memory = pages
    }

    deinit {
        // The device may still be writing after a failure: its memory stays.
        guard device.failure == nil else { return }
        device.functions.destroyBuffer(device.handle, handle, nil)
        device.functions.freeMemory(device.handle, allocation, nil)
    }

    private static func create(
        _ device: VulkanDevice, _ size: Int, importing: Bool
    ) throws(SessionError) -> VkBuffer {
        var external = VkExternalMemoryBufferCreateInfo()
        external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO
        external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT.rawValue
        var handle: VkBuffer?
        let result = withUnsafePointer(to: external) { external in
            var info = VkBufferCreateInfo()
            info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO
            info.pNext = importing ? UnsafeRawPointer(external) : nil
            info.size = UInt64(size)
            info.usage =
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT.rawValue
                | (importing
                    ? 0
                    : VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT.rawValue
                        | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT.rawValue)
            info.sharingMode = VK_SHARING_MODE_EXCLUSIVE
            return device.functions.createBuffer(device.handle, &info, nil, &handle)
        }
        try device.verify(result, "vkCreateBuffer")
        guard let handle else { throw SessionError(.allocationFailed, "vkCreateBuffer gave nothing") }
        return handle
    }
}
