// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Converts frames of one format and size in a pixel-transfer session of the daemon; they are done in the order they are sent.
///
/// Frames are read where they are: in a decompression session's arena, or in the pool that this process decodes into.
/// Only those outside of any pool, or of another size, are copied first.
final class FrameTransfer {
    /// Frames that may be under way.
    static let depth = 3

    /// What a frame is converted into.
    struct Target {
        var pool: FramePool
        var layout: FrameLayout
    }

    let session: TransferSession
    /// Frames of another size, which were scaled first.
    var changes: FormatChanges { fitter?.changes ?? FormatChanges() }

    private let video: VideoDescription
    private let format: PixelFormat
    private let target: Target
    /// The pool that the reader decodes into; nil where it has none.
    private let readerPool: FramePool?
    /// Whether rows and columns of frames are exchanged before they are sent.
    private let transposes: Bool
    /// A frame before that, where it is in no pool.
    private var scratch: UnsafeMutableRawBufferPointer?
    private var copies: FramePool?
    private var fitter: FrameFitter?
    /// The session's pools; each is registered once, and its number is its position.
    private var pools: [SharedMemory] = []
    private var inFlight: [(frameID: UInt64, copy: FramePool.Slot?)] = []
    private var sentCount: UInt64 = 0

    /// - Parameters:
    ///   - video: the size of the session's frames; other sizes are scaled to it.
    ///   - parameters: those of Create, of the same size.
    ///   - tables: of effects, which `parameters` do not have.
    init(
        _ daemon: Daemon, _ video: VideoDescription, _ parameters: CreateTransferSession.Parameters,
        format: PixelFormat, into target: Target, readerPool: FramePool? = nil, transposes: Bool = false,
        tables: [[UInt8]] = []
    ) throws {
        self.transposes = transposes
        self.video = video
        self.format = format
        self.target = target
        self.readerPool = readerPool
        session = try TransferSession(daemon, parameters, tables: tables)
        if SessionRequest.isBackground { try session.setProperties(SessionRequest.properties) }
    }

    deinit {
        session.invalidate()
        scratch?.deallocate()
    }

    /// Sends a frame, of which at most `depth` may be under way; its samples must stay until `finish`.
    ///
    /// - Parameter color: its own; nil is Create's.
    func submit(_ frame: SourceFrame, color: ColorDescription?, into slot: FramePool.Slot) throws {
        var (place, copy): (TransferFrame.Place, FramePool.Slot?)
        if transposes {
            (place, copy) = try copying { try transpose(frame, into: $0) }
        } else {
            (place, copy) = try self.place(of: frame, color ?? frame.color)
        }
        inFlight.append((sentCount, copy))
        try session.transfer(
            TransferFrame(
                frameID: sentCount, source: place,
                target: TransferFrame.Place(
                    poolID: try number(of: target.pool.memory), layout: target.layout.moved(by: UInt64(slot.offset))
                ),
                color: transposes ? color.map { $0.transposed ?? $0 } : color))
        sentCount += 1
    }

    /// Waits until the oldest frame is converted.
    ///
    /// - Throws: the session's error where it was not.
    func finish() throws {
        guard case .frame(let answer)? = try session.nextEvent(timeout: SessionTimeout.limit) else {
            throw SessionTimeout.failure
        }
        guard let oldest = inFlight.first, oldest.frameID == answer.frameID else {
            throw CommandFailure(.software, "the session answered frame \(answer.frameID), which is not the oldest")
        }
        inFlight.removeFirst()
        if let copy = oldest.copy { copies?.release(copy) }
        guard answer.status == .ok else { throw SessionError(answer.status, answer.reason) }
    }

    /// Where the session reads a frame, and the slot of its copy if it needs one.
    private func place(
        of frame: SourceFrame, _ color: ColorDescription
    ) throws -> (TransferFrame.Place, FramePool.Slot?) {
        let fits = (frame.width, frame.height) == (video.width, video.height)
        switch frame.place {
        case .shared(let memory, _, let layout) where fits:
            return (TransferFrame.Place(poolID: try number(of: memory), layout: layout), nil)
        case .shared(let memory, _, let layout):
            return try copying { try fit(frame, memory, layout, color, into: $0) }
        case .local:
            if let direct = frame.direct, let readerPool {
                return (TransferFrame.Place(poolID: try number(of: readerPool.memory), layout: direct.layout), nil)
            }
            guard fits else { throw Self.otherSize(frame, video) }
            return try copying { try frame.copy(to: $0) }
        }
    }

    /// Lets `write` fill a slot of this process's own pool.
    private func copying(
        _ write: (FrameSlot) throws -> FrameLayout
    ) throws -> (TransferFrame.Place, FramePool.Slot?) {
        let pool: FramePool
        if let copies {
            pool = copies
        } else {
            let size = packedSize(transposes ? (video.height, video.width) : (video.width, video.height))
            pool = try FramePool(slotSize: size, slotCount: Self.depth)
            copies = pool
        }
        guard let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else {
            throw CommandFailure(.software, "more than \(Self.depth) frames are being converted")
        }
        let layout = try write(
            FrameSlot(id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize))
        return (TransferFrame.Place(poolID: try number(of: pool.memory), layout: layout), slot)
    }

    private func packedSize(_ size: (width: Int, height: Int)) -> Int {
        FrameLayout.packed(format, width: size.width, height: size.height).size
    }

    /// Writes a frame with rows and columns exchanged.
    private func transpose(_ frame: SourceFrame, into slot: FrameSlot) throws -> FrameLayout {
        let (memory, layout) = try samples(of: frame)
        guard let base = memory.baseAddress else { throw CommandFailure(.software, "a frame has no memory") }
        let packed = FrameLayout.packed(format, width: video.height, height: video.width)
        PictureOrientation.transposed.copy(
            layout.planes(at: base), to: packed.layout.mutablePlanes(at: slot.base), format, width: video.width,
            height: video.height)
        return packed.layout.moved(by: slot.poolOffset)
    }

    /// The samples of a frame at the session's size.
    private func samples(of frame: SourceFrame) throws -> (UnsafeRawBufferPointer, FrameLayout) {
        let fits = (frame.width, frame.height) == (video.width, video.height)
        if case .shared(let memory, _, let layout) = frame.place, fits { return (memory.bytes, layout) }
        if let direct = frame.direct, let readerPool, fits {
            return (readerPool.memory.bytes, direct.layout)
        }
        let memory =
            scratch
            ?? .allocate(
                byteCount: packedSize((video.width, video.height)), alignment: FrameLayout.rowAlignment)
        scratch = memory
        guard let base = memory.baseAddress else {
            throw CommandFailure(.software, "there is no memory for a frame")
        }
        let slot = FrameSlot(id: 0, base: base, poolOffset: 0, byteCount: memory.count)
        switch frame.place {
        case .shared(let shared, _, let layout):
            return (UnsafeRawBufferPointer(memory), try fit(frame, shared, layout, frame.color, into: slot))
        case .local:
            guard fits else { throw Self.otherSize(frame, video) }
            return (UnsafeRawBufferPointer(memory), try frame.copy(to: slot))
        }
    }

    private static func otherSize(_ frame: SourceFrame, _ video: VideoDescription) -> MediaError {
        MediaError(
            .unsupported,
            "frame \(frame.index) has \(frame.width)x\(frame.height) samples, those before it have "
                + "\(video.width)x\(video.height)")
    }

    /// Scales a frame; its color stays its own.
    private func fit(
        _ frame: SourceFrame, _ memory: SharedMemory, _ layout: FrameLayout, _ color: ColorDescription,
        into slot: FrameSlot
    ) throws -> FrameLayout {
        let picture = try PictureView(
            memory: memory.bytes, layout: layout, format: frame.format, width: frame.width, height: frame.height,
            part: PictureRectangle(x: 0, y: 0, width: UInt32(frame.width), height: UInt32(frame.height)))
        let fitter: FrameFitter
        if let known = self.fitter, known.color == color {
            fitter = known
        } else {
            var own = video
            own.color = color
            fitter = FrameFitter(own, format: format, path: "the input", changes: changes)
            self.fitter = fitter
        }
        return try fitter.fit(picture, index: frame.index, color: color, into: slot)
    }

    /// The number of a pool, which is registered with the session the first time.
    private func number(of memory: SharedMemory) throws -> UInt32 {
        if let known = pools.firstIndex(where: { $0 === memory }) { return UInt32(known) }
        let number = UInt32(pools.count)
        try session.addPool(memory, id: number)
        pools.append(memory)
        return number
    }
}
