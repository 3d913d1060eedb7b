// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import Glibc
internal import HWDModel

extension VulkanDevice {
    /// Validates a picture in dma-bufs and imports each plane as an image.
    ///
    /// The caller keeps the dma-bufs, whose writer must have finished (vaSyncSurface).
    /// - Throws: `Parameter` for an impossible description, `PixelTransferNotSupported` for a property that the device does
    ///   not support.
    func importPicture(_ picture: DMABufPicture, as format: PixelFormat, width: Int, height: Int)
        throws(SessionError) -> ImagePicture
    {
        guard description.importsDMABufImages else {
            throw SessionError(.pixelTransferNotSupported, "\(description.name) cannot import dma-bufs as images")
        }
        // The kernel's sizes: drivers have reported 0 (radeonsi), and clients are not trusted.
        let sizes = picture.objects.map { file in
            let end = file < 0 ? -1 : lseek(file, 0, SEEK_END)
            return end > 0 ? UInt64(end) : 0
        }
        try picture.validate(format, width: width, height: height, sizes: sizes)
        var planes: [DeviceImage] = []
        for (index, plane) in picture.planes.enumerated() {
            guard let imageFormat = DeviceImage.format(format, plane: index) else {
                throw SessionError(.pixelTransferNotSupported, "\(format.rawValue) cannot be in images")
            }
            let across = index == 0 ? picture.width : (picture.width + 1) / 2
            let down = format.rows(plane: index, height: picture.height)
            try check(imageFormat, plane.modifier, across, down)
            let (object, size) = (picture.objects[plane.object], sizes[plane.object])
            planes.append(
                try DeviceImage(
                    self, imageFormat,
                    make: { () throws(SessionError) in try makeImage(imageFormat, plane, across, down) },
                    allocate: { (image, needs) throws(SessionError) in
                        try allocate(image, needs, object, size)
                    }))
        }
        return ImagePicture(format, width: width, height: height, planes: planes, isForeign: true)
    }

    /// Checks that images of a format, modifier and size can be imported and sampled, with one memory plane.
    private func check(_ format: VkFormat, _ modifier: UInt64, _ width: Int, _ height: Int) throws(SessionError) {
        try Self.checkModifier(modifier, among: modifiers(of: format), description.name)
        guard let limits = importLimits(format, modifier), width <= limits.width, height <= limits.height else {
            throw SessionError(
                .pixelTransferNotSupported,
                "\(description.name) does not read images of \(width)x\(height) with the dma-buf's modifier "
                    + "0x\(String(modifier, radix: 16))")
        }
    }

    /// Checks that a device lists a modifier for images that are sampled and have one memory plane.
    ///
    /// - Throws: `PixelTransferNotSupported` otherwise: nothing else says how the memory is tiled.
    static func checkModifier(
        _ modifier: UInt64, among known: [VkDrmFormatModifierPropertiesEXT], _ device: String
    ) throws(SessionError) {
        func refuse(_ reason: String) -> SessionError {
            SessionError(.pixelTransferNotSupported, reason)
        }
        let name = "the dma-buf's modifier 0x\(String(modifier, radix: 16))"
        guard let found = known.first(where: { $0.drmFormatModifier == modifier }) else {
            throw refuse("\(device) does not support \(name)")
        }
        // Further memory planes, of compression, would have to be described and validated too.
        guard found.drmFormatModifierPlaneCount == 1 else {
            throw refuse("\(name) has \(found.drmFormatModifierPlaneCount) planes")
        }
        guard found.drmFormatModifierTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT.rawValue != 0 else {
            throw refuse("\(device) does not read images with \(name)")
        }
    }

    private func makeImage(
        _ format: VkFormat, _ plane: DMABufPicture.Plane, _ width: Int, _ height: Int
    ) throws(SessionError) -> VkImage {
        var place = VkSubresourceLayout()
        place.offset = plane.offset
        place.rowPitch = plane.pitch
        var image: VkImage?
        let create = try imageFunctions().createImage
        let result = withUnsafePointer(to: place) { place in
            var explicit = VkImageDrmFormatModifierExplicitCreateInfoEXT()
            explicit.sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT
            explicit.drmFormatModifier = plane.modifier
            explicit.drmFormatModifierPlaneCount = 1
            explicit.pPlaneLayouts = place
            return withUnsafePointer(to: explicit) { explicit in
                var external = VkExternalMemoryImageCreateInfo()
                external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO
                external.pNext = UnsafeRawPointer(explicit)
                external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT.rawValue
                return withUnsafePointer(to: external) { external in
                    var info = DeviceImage.info(format, width: width, height: height)
                    info.pNext = UnsafeRawPointer(external)
                    info.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
                    return create(handle, &info, nil, &image)
                }
            }
        }
        // Fails for a pitch or offset that the tiling does not allow.
        try verify(result, "vkCreateImage of a dma-buf")
        guard let image else { throw SessionError(.allocationFailed, "vkCreateImage returned no image") }
        return image
    }

    /// Imports a dma-buf as the memory of one image, which must fit inside.
    private func allocate(
        _ image: VkImage, _ requirements: VkMemoryRequirements, _ file: Int32, _ size: UInt64
    ) throws(SessionError) -> VkDeviceMemory {
        guard requirements.size <= size else {
            throw SessionError(
                .parameter, "dma-buf picture: a plane needs \(requirements.size) bytes, its object has \(size)")
        }
        guard let query = try imageFunctions().getFileProperties else {
            throw SessionError(.pixelTransferNotSupported, "\(description.name) cannot import dma-bufs")
        }
        let kind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
        var properties = VkMemoryFdPropertiesKHR()
        properties.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR
        // Fails for descriptors that are no dma-bufs, and for those that the device cannot access.
        try verify(query(handle, kind, file, &properties), "vkGetMemoryFdPropertiesKHR")
        guard let type = memoryType(requirements.memoryTypeBits & properties.memoryTypeBits) else {
            throw SessionError(.pixelTransferNotSupported, "\(description.name) has no memory type for the dma-buf")
        }
        // A successful import transfers ownership of the descriptor to the driver.
        let own = fcntl(file, F_DUPFD_CLOEXEC, 3)
        guard own >= 0 else { throw SessionError(.allocationFailed, "no descriptor left for a dma-buf") }
        var dedicated = VkMemoryDedicatedAllocateInfo()
        dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO
        dedicated.image = image
        var memory: VkDeviceMemory?
        let result = withUnsafePointer(to: dedicated) { dedicated in
            var source = VkImportMemoryFdInfoKHR()
            source.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR
            source.pNext = UnsafeRawPointer(dedicated)
            source.handleType = kind
            source.fd = own
            return withUnsafePointer(to: source) { source in
                var info = VkMemoryAllocateInfo()
                info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO
                info.pNext = UnsafeRawPointer(source)
                info.allocationSize = requirements.size
                info.memoryTypeIndex = type
                return functions.allocateMemory(handle, &info, nil, &memory)
            }
        }
        if result != VK_SUCCESS { close(own) }
        try verify(result, "vkAllocateMemory of a dma-buf")
        guard let memory else { throw SessionError(.allocationFailed, "vkAllocateMemory returned no memory") }
        return memory
    }
}
