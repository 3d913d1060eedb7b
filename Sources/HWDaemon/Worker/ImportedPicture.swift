// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDTransport
internal import HWDWire
internal import Synchronization

/// A picture in dma-bufs that the client registered as a pool, and a private copy of its samples.
///
/// Its dma-bufs stay mapped as long as the pool exists. Codecs and converters see only the copy, because a client could
/// change a dma-buf under them.
public final class ImportedPicture: Sendable {
    /// The copy.
    public let copy: SharedMemory
    /// The copy's planes.
    public let layout: FrameLayout

    private let message: AddPicture
    private let format: PixelFormat
    private let buffers: [DMABuffer]
    /// For the next frame.
    private let fence = Mutex<SyncFile?>(nil)

    /// Maps the dma-bufs of a picture.
    ///
    /// - Throws: why they are not imported.
    init(_ message: AddPicture, _ files: inout FDQueue, maxSize: Int) throws(SessionError) {
        var buffers: [DMABuffer] = []
        while let file = files.popFirst() {
            buffers.append(
                try DMABuffer(receiving: file, maxSize: maxSize, isWritable: message.uses.contains(.target)))
        }
        format = try message.validate(sizes: buffers.map(\.size))
        let packed = FrameLayout.packed(format, width: Int(message.width), height: Int(message.height))
        guard packed.size <= maxSize else {
            throw SessionError(
                .parameter, "picture \(message.poolID) takes \(packed.size) bytes, at most \(maxSize)")
        }
        do throws(SystemError) { copy = try SharedMemory(creating: "hwdaemon-picture", size: packed.size) } catch {
            throw SessionError(.allocationFailed, "memory for a copy of picture \(message.poolID): \(error)")
        }
        (self.message, self.buffers, layout) = (message, buffers, packed.layout)
    }

    /// Sets the fence that the next frame waits for.
    func wait(for next: SyncFile) { fence.withLock { $0 = next } }

    /// The use of the picture by one frame.
    ///
    /// - Throws: `Parameter` where the frame's planes are not the picture's, or it was registered for another use.
    func use(_ use: AddPicture.Uses, _ planes: FrameLayout) throws(SessionError) -> PictureUse {
        guard message.uses.contains(use) else {
            throw SessionError(
                .parameter,
                "picture \(message.poolID) was not registered as a \(use == .source ? "source" : "target")")
        }
        guard planes == message.layout else {
            throw SessionError(.parameter, "a frame's planes are not those of picture \(message.poolID)")
        }
        return fence.withLock { fence in
            defer { fence = nil }
            return PictureUse(picture: self, fence: fence)
        }
    }

    /// Whether no device writes the dma-bufs.
    fileprivate var isIdle: Bool { buffers.allSatisfy { $0.isIdle(for: false) } }

    /// Copies the samples from the dma-bufs, or to them.
    ///
    /// - Throws: why that is not possible, or that a device uses them for longer than the frame may wait.
    fileprivate func transfer(writing: Bool, _ wait: inout DeviceWait) throws(SessionError) {
        guard let base = copy.mutableBytes?.baseAddress else {
            throw SessionError(.allocationFailed, "the copy of picture \(message.poolID) is not mapped")
        }
        for (object, buffer) in buffers.enumerated() {
            try wait.measure { (deadline) throws(SessionError) in try buffer.wait(for: writing, until: deadline) }
            try buffer.access(writing: writing) { start in
                for (index, plane) in message.planes.enumerated() where plane.object == object {
                    let packed = layout.planes[index]
                    let own = MutablePlaneView(base: base + Int(packed.offset), stride: Int(packed.stride))
                    // `validate` has checked that the plane is within the dma-buf.
                    let foreign = MutablePlaneView(base: start + Int(plane.offset), stride: Int(plane.stride))
                    let (from, to) = writing ? (own, foreign) : (foreign, own)
                    to.copyRows(
                        of: PlaneView(base: from.base, stride: from.stride),
                        rowBytes: format.rowBytes(plane: index, width: Int(message.width)),
                        rows: format.rows(plane: index, height: Int(message.height)))
                }
            }
        }
    }
}

/// The use of a picture in dma-bufs by one frame.
public struct PictureUse: Sendable {
    public let picture: ImportedPicture
    fileprivate let fence: SyncFile?

    /// Whether `load` and `prepare` wait for no device.
    public var isReady: Bool { (fence?.isSignaled ?? true) && picture.isIdle }

    /// Copies the samples, once the fence is signaled.
    ///
    /// - Throws: why that is not possible.
    public func load(_ wait: inout DeviceWait) throws(SessionError) {
        try prepare(&wait)
        try picture.transfer(writing: false, &wait)
    }

    /// Waits for the fence.
    ///
    /// - Throws: `Parameter` for a fence that is not signaled in time.
    public func prepare(_ wait: inout DeviceWait) throws(SessionError) {
        try wait.measure { (deadline) throws(SessionError) in try fence?.wait(until: deadline) }
    }

    /// Writes the converted samples to the dma-bufs.
    ///
    /// - Throws: why that is not possible.
    public func store(_ wait: inout DeviceWait) throws(SessionError) {
        try picture.transfer(writing: true, &wait)
    }
}

/// How long one frame may still wait for the devices that use its pictures: `SyncFile.timeout` in all, which copying and
/// converting its samples do not count against.
public struct DeviceWait: Sendable {
    private var rest = SyncFile.timeout

    /// The whole time.
    public init() {}

    /// Subtracts the time that `body` takes, which waits until the deadline at most.
    fileprivate mutating func measure(
        _ body: (_ deadline: MonotonicTime) throws(SessionError) -> Void
    ) throws(SessionError) {
        let start = MonotonicTime.now
        defer { rest = max(.zero, rest - .nanoseconds(Int64(MonotonicTime.now.nanoseconds(since: start)))) }
        try body(start + rest)
    }
}
