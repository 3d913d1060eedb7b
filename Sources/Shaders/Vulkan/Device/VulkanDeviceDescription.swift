// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// A Vulkan device as its driver tells it.
public struct VulkanDeviceDescription: Hashable, Sendable {
    /// What kind of device, the ones to prefer first.
    public enum Kind: String, Comparable, Sendable, CaseIterable {
        /// A GPU with memory of its own.
        case discrete
        /// A GPU that shares the machine's memory.
        case integrated
        /// A GPU of a virtual machine.
        case virtual
        /// Something else.
        case other
        /// Software on the CPU (lavapipe): right, but slow.
        case software

        /// The one to prefer is the smaller.
        public static func < (a: Kind, b: Kind) -> Bool { rank(a) < rank(b) }

        private static func rank(_ kind: Kind) -> Int { allCases.firstIndex(of: kind) ?? 0 }
    }

    /// The device's name.
    public var name: String
    /// The driver's name and version.
    public var driver: String
    /// What kind of device it is.
    public var kind: Kind
    /// The Vulkan version it has (`1.3.230`).
    public var apiVersion: String
    /// Where it sits (`0000:01:00.0`); nil when the driver does not tell, and for software.
    public var pciAddress: String?
    /// What tells the device from all others, in hexadecimal.
    public var uuid: String
    /// Whether a process's own memory can be used in place (VK_EXT_external_memory_host).
    public var importsHostMemory: Bool
    /// Bytes that such memory must be aligned to.
    public var hostMemoryAlignment: Int
    /// Whether dma-bufs can be used in place (VK_EXT_external_memory_dma_buf and what it needs).
    public var importsDMABufs: Bool
    /// Whether dma-bufs may be tiled (VK_EXT_image_drm_format_modifier and what it needs).
    public var importsModifiers: Bool
    /// Whether pictures in dma-bufs can be read as images.
    public var importsDMABufImages: Bool { importsDMABufs && importsModifiers }
    /// Which of the instance's devices it is.
    var index: Int

    /// "name (driver)".
    public var label: String { name.contains(driver) ? name : "\(name) (\(driver))" }

    /// The kind in the words of `Probe`.
    var computeKind: ComputeDevice.Kind {
        switch kind {
        case .discrete: .discrete
        case .integrated: .integrated
        case .virtual: .virtual
        case .other: .other
        case .software: .cpu
        }
    }
}
