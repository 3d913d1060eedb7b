// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// A Vulkan device as its driver describes it.
public struct VulkanDeviceDescription: Hashable, Sendable {
    /// The kind of device, preferred kinds first.
    public enum Kind: String, Comparable, Sendable, CaseIterable {
        /// A GPU with dedicated memory.
        case discrete
        /// A GPU that shares the machine's memory.
        case integrated
        /// A GPU of a virtual machine.
        case virtual
        /// Any other device.
        case other
        /// Software on the CPU (lavapipe), which is correct but slow.
        case software

        /// Preferred kinds are smaller.
        public static func < (a: Kind, b: Kind) -> Bool { rank(a) < rank(b) }

        private static func rank(_ kind: Kind) -> Int { allCases.firstIndex(of: kind) ?? 0 }
    }

    /// The device's name.
    public var name: String
    /// The driver's name and version.
    public var driver: String
    /// The kind of device.
    public var kind: Kind
    /// The supported Vulkan version (`1.3.230`).
    public var apiVersion: String
    /// The PCI address (`0000:01:00.0`); nil where the driver does not report it, and for software.
    public var pciAddress: String?
    /// The device UUID in hexadecimal.
    public var uuid: String
    /// Whether host memory can be imported (VK_EXT_external_memory_host).
    public var importsHostMemory: Bool
    /// The alignment of imported host memory, in bytes.
    public var hostMemoryAlignment: Int
    /// Whether dma-bufs can be imported (VK_EXT_external_memory_dma_buf and its dependencies).
    public var importsDMABufs: Bool
    /// Whether dma-bufs may be tiled (VK_EXT_image_drm_format_modifier and its dependencies).
    public var importsModifiers: Bool
    /// Whether pictures in dma-bufs can be read as images.
    public var importsDMABufImages: Bool { importsDMABufs && importsModifiers }
    /// The device's index in the loader's order.
    var index: Int

    /// "name (driver)".
    public var label: String { name.contains(driver) ? name : "\(name) (\(driver))" }

    /// The kind as probes report it.
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
