// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// A range of a buffer as texels of one 32-bit float, which shaders fetch by index; freed with its owner.
///
/// Tables, whose indices differ from pixel to pixel, are read this way: GPUs have caches for texels, and lavapipe gathers
/// texels by vectors but loops over the lanes of a storage buffer (docs/performance.md).
struct TexelView: ~Copyable {
    /// The least `maxTexelBufferElements` and the largest `minTexelBufferOffsetAlignment` (Vulkan 1.1, "Required Limits").
    static let guaranteedTexels = 65536, alignment = 256

    let handle: VkBufferView
    private let device: VulkanDevice

    /// Creates the view.
    ///
    /// - Parameter offset: Bytes, a multiple of `alignment`.
    /// - Parameter texels: `guaranteedTexels` at most.
    /// - Throws: `AllocationFailed`, or the driver's error.
    init(_ device: VulkanDevice, _ buffer: VkBuffer, offset: Int, texels: Int) throws(SessionError) {
        precondition(offset % Self.alignment == 0 && texels > 0 && texels <= Self.guaranteedTexels)
        var info = VkBufferViewCreateInfo()
        info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO
        info.buffer = buffer
        info.format = VK_FORMAT_R32_SFLOAT
        info.offset = UInt64(offset)
        info.range = UInt64(texels * 4)
        var handle: VkBufferView?
        try device.verify(
            device.functions.createBufferView(device.handle, &info, nil, &handle), "vkCreateBufferView")
        guard let handle else { throw SessionError(.allocationFailed, "vkCreateBufferView returned no view") }
        self.handle = handle
        self.device = device
    }

    deinit {
        // After a failure the device may still read the buffer.
        guard device.failure == nil else { return }
        device.functions.destroyBufferView(device.handle, handle, nil)
    }
}
