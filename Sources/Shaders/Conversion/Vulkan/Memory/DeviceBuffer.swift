// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// A storage buffer with memory that is always mapped; freed with its owner.
struct DeviceBuffer: ~Copyable {
    /// The use of a buffer, which determines its memory type.
    enum Purpose {
        /// Written by the CPU, read by the device.
        case upload
        /// Written by the device, read by the CPU.
        case download
        /// Small, written once, and read for every pixel.
        case constants
        /// Written and read by the device alone.
        case scratch
    }

    let handle: VkBuffer
    let memory: UnsafeMutableRawBufferPointer
    private let allocation: VkDeviceMemory
    private let device: VulkanDevice

    /// Allocates a buffer.
    ///
    /// - Throws: `AllocationFailed`, or the driver's error.
    init(_ device: VulkanDevice, size: Int, _ purpose: Purpose) throws(SessionError) {
        let functions = device.functions
        let handle = try Self.create(device, size, importing: false)
        var requirements = VkMemoryRequirements()
        functions.getBufferRequirements(device.handle, handle, &requirements)
        let preferred: [VkMemoryPropertyFlagBits] =
            switch purpose {
            case .upload: []
            case .download: [VK_MEMORY_PROPERTY_HOST_CACHED_BIT]
            case .constants, .scratch: [VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT]
            }
        var allocation: VkDeviceMemory?
        var mapped: UnsafeMutableRawPointer?
        do throws(SessionError) {
            guard
                let type = device.memoryType(
                    requirements.memoryTypeBits, required: VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, preferred: preferred)
            else {
                throw SessionError(.allocationFailed, "\(device.description.name) has no host-visible memory")
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
        guard let allocation, let mapped else {
            throw SessionError(.allocationFailed, "vkMapMemory returned no memory")
        }
        self.device = device
        self.handle = handle
        self.allocation = allocation
        memory = UnsafeMutableRawBufferPointer(start: mapped, count: size)
    }

    /// Imports pages of this process (VK_EXT_external_memory_host), which must stay mapped as long as the buffer.
    ///
    /// - Parameter pages: Aligned to the device's requirement and mapped for its accesses; the caller has checked both.
    /// - Throws: Why the driver cannot import them.
    init(_ device: VulkanDevice, importing pages: UnsafeMutableRawBufferPointer) throws(SessionError) {
        let functions = device.functions
        let kind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
        guard let query = functions.getHostPointerProperties, let start = pages.baseAddress else {
            throw SessionError(
                .pixelTransferNotSupported, "\(device.description.name) cannot import host memory")
        }
        var pointer = VkMemoryHostPointerPropertiesEXT()
        pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT
        try device.verify(
            query(device.handle, kind, start, &pointer), "vkGetMemoryHostPointerPropertiesEXT")
        let handle = try Self.create(device, pages.count, importing: true)
        var allocation: VkDeviceMemory?
        do throws(SessionError) {
            let type = try Self.importType(device, handle, pages.count, among: pointer.memoryTypeBits)
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
            try device.verify(result, "vkAllocateMemory of host memory")
            try device.verify(
                functions.bindBufferMemory(device.handle, handle, allocation, 0), "vkBindBufferMemory")
        } catch {
            functions.destroyBuffer(device.handle, handle, nil)
            if let allocation { functions.freeMemory(device.handle, allocation, nil) }
            throw error
        }
        guard let allocation else { throw SessionError(.allocationFailed, "vkAllocateMemory returned no memory") }
        self.device = device
        self.handle = handle
        self.allocation = allocation
        memory = pages
    }

    /// The memory type to import `count` bytes with.
    private static func importType(
        _ device: VulkanDevice, _ buffer: VkBuffer, _ count: Int, among types: UInt32
    ) throws(SessionError) -> UInt32 {
        var requirements = VkMemoryRequirements()
        device.functions.getBufferRequirements(device.handle, buffer, &requirements)
        guard requirements.size <= count,
            let type = device.memoryType(
                requirements.memoryTypeBits & types,
                required: VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
        else {
            throw SessionError(
                .pixelTransferNotSupported,
                "\(device.description.name) has no coherent memory type for imported pages")
        }
        guard UInt64(count) <= device.heapSize(ofType: type) else {
            throw SessionError(
                .pixelTransferNotSupported,
                "\(device.description.name) has no heap as large as the \(count) bytes to import")
        }
        return type
    }

    deinit {
        // After a failure the device may still write to the memory.
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
        guard let handle else { throw SessionError(.allocationFailed, "vkCreateBuffer returned no buffer") }
        return handle
    }
}
