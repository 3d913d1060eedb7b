// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// A range of a buffer as texels of one 32-bit float, which shaders fetch by index; freed with its owner.
///
/// What a device reads at places that differ from pixel to pixel is fetched so: GPUs have caches for that, and lavapipe gathers
/// texels by vectors where it loops over the lanes of a storage buffer (docs/performance.md).
struct TexelView: ~Copyable {
    /// What every device has, and must take for the offset's alignment at most (Vulkan 1.1, table "Required Limits").
    static let guaranteedTexels = 65536, alignment = 256

    let handle: VkBufferView
    private let device: VulkanDevice

    /// Makes the view.
    ///
    /// - Parameter offset: Bytes, a multiple of `alignment`.
    /// - Parameter texels: `guaranteedTexels` at most.
    /// - Throws: `AllocationFailed`, or what the driver says.
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
        guard let handle else { throw SessionError(.allocationFailed, "vkCreateBufferView gave nothing") }
        self.handle = handle
        self.device = device
    }

    deinit {
        // As buffers': after a failure the device may still read it.
        guard device.failure == nil else { return }
        device.functions.destroyBufferView(device.handle, handle, nil)
    }
}
