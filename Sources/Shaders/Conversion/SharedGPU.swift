// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// A GPU that a session's converters share, and the session's memory that it uses in place.
///
/// Used from one thread.
public final class SharedGPU {
    /// How pictures were transferred to and from the GPU.
    public struct MemoryUse: Hashable, Sendable {
        /// Pictures whose planes were all used in place.
        public var inPlace = 0
        /// Pictures with at least one copied plane.
        public var copied = 0
        /// Why memory could not be used in place; the last reason.
        public var reason: String?

        /// A summary: "12 pictures in place, 3 copied: …".
        public var text: String {
            guard copied > 0 else { return "\(inPlace) pictures in place" }
            let why = reason ?? "planes whose rows are not aligned to \(PlaneGeometry.rowAlignment) bytes"
            return "\(inPlace) pictures in place, \(copied) copied: \(why)"
        }
    }

    /// Memory that was imported or could not be; its owner keeps it mapped.
    private struct Held {
        var owner: AnyObject
        var isInPlace: Bool
    }

    private var device: VulkanDevice?
    private var memories: [UnsafeRawPointer: Held] = [:]
    private var lastReason: String?

    /// Opens nothing yet.
    public init() {}

    init(_ device: VulkanDevice) { self.device = device }

    deinit {
        guard let device, device.failure == nil else { return }
        for (base, held) in memories where held.isInPlace { device.forgetMemory(base) }
    }

    /// The device, opened on first use.
    ///
    /// - Parameter willOpen: called before it is opened.
    func open(
        _ willOpen: () -> Void = {}, by make: () throws(SessionError) -> VulkanDevice
    ) throws(SessionError) -> VulkanDevice {
        if let device { return device }
        willOpen()
        let made = try make()
        device = made
        return made
    }

    /// The PCI address of the open GPU (`0000:01:00.0`); nil where none is open or the driver does not report it.
    public var pciAddress: String? { device?.description.pciAddress }

    /// How pictures were transferred; nil where no GPU was opened.
    public var memoryUse: MemoryUse? {
        guard let device else { return nil }
        return MemoryUse(inPlace: device.picturesInPlace, copied: device.picturesCopied, reason: lastReason)
    }

    /// Imports memory for use in place, where a GPU is open; repeated calls for the same memory do nothing.
    ///
    /// Memory that cannot be imported is copied, and `memoryUse` has the reason.
    /// - Parameters:
    ///   - isWritable: whether the memory is mapped for writing; other memory can only hold sources.
    ///   - owner: keeps the memory mapped; retained until `forget`.
    public func use(_ memory: UnsafeRawBufferPointer, isWritable: Bool, of owner: AnyObject) {
        guard let device, device.failure == nil, let base = memory.baseAddress, memories[base] == nil else {
            return
        }
        do throws(SessionError) {
            try device.importMemory(memory, isWritable: isWritable)
            memories[base] = Held(owner: owner, isInPlace: true)
        } catch {
            lastReason = error.reason
            memories[base] = Held(owner: owner, isInPlace: false)
        }
    }

    /// Releases all memory of an owner, which no picture in flight may use.
    public func forget(_ owner: AnyObject) {
        // A lost device may still write to the memory, so it stays mapped until the process ends.
        guard let device, device.failure == nil else { return }
        for (base, held) in memories where held.owner === owner {
            if held.isInPlace { device.forgetMemory(base) }
            memories[base] = nil
        }
    }
}
