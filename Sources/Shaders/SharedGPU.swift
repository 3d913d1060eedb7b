// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// What the converters of a session share: a GPU that is opened once, and the session's memory that it uses in place.
///
/// Used from one thread.
public final class SharedGPU {
    /// How pictures came to the GPU and went from it.
    public struct MemoryUse: Hashable, Sendable {
        /// Pictures whose planes were all read and written where they lie.
        public var inPlace = 0
        /// Pictures of which a plane was copied.
        public var copied = 0
        /// Why the last memory that could not be used in place could not.
        public var reason: String?

        /// For people: "12 pictures in place, 3 copied: …".
        public var text: String {
            guard copied > 0 else { return "\(inPlace) pictures in place" }
            let why = reason ?? "planes whose rows are not aligned to \(PlaneGeometry.rowAlignment) bytes"
            return "\(inPlace) pictures in place, \(copied) copied: \(why)"
        }
    }

    /// Memory that is or cannot be used in place; its owner keeps it mapped.
    private struct Held {
        var owner: AnyObject
        var isInPlace: Bool
    }

    private var device: VulkanDevice?
    private var memories: [UnsafeRawPointer: Held] = [:]
    private var lastReason: String?

    /// Nothing is opened yet.
    public init() {}

    init(_ device: VulkanDevice) { self.device = device }

    deinit {
        guard let device, device.failure == nil else { return }
        for (base, held) in memories where held.isInPlace { device.forgetMemory(base) }
    }

    /// The device, opened when it is asked for first.
    ///
    /// - Parameter willOpen: told before.
    func open(
        _ willOpen: () -> Void = {}, by make: () throws(SessionError) -> VulkanDevice
    ) throws(SessionError) -> VulkanDevice {
        if let device { return device }
        willOpen()
        let made = try make()
        device = made
        return made
    }

    /// Where the GPU that was opened sits (`0000:01:00.0`); nil without one, and where it does not tell.
    public var pciAddress: String? { device?.description.pciAddress }

    /// What became of the pictures; nil where no GPU was opened.
    public var memoryUse: MemoryUse? {
        guard let device else { return nil }
        return MemoryUse(inPlace: device.picturesInPlace, copied: device.picturesCopied, reason: lastReason)
    }

    /// Has the GPU, where there is one, use memory in place: once for each memory, again and again for nothing.
    ///
    /// What it cannot use is copied, and `memoryUse` tells why.
    /// - Parameters:
    ///   - isWritable: whether the memory is mapped for writing; what is not can only hold sources.
    ///   - owner: keeps the memory mapped; kept until `forget`.
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

    /// Lets go of all memory of an owner, in which no picture may be under way.
    public func forget(_ owner: AnyObject) {
        // What a lost device may still write to stays mapped for as long as the process lives.
        guard let device, device.failure == nil else { return }
        for (base, held) in memories where held.owner === owner {
            if held.isInPlace { device.forgetMemory(base) }
            memories[base] = nil
        }
    }
}
