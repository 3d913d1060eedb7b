// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAV
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// Converts frames that this process decoded to RGB, in a pixel-transfer session of the daemon.
final class LocalConverter {
    private enum PoolID {
        static let source: UInt32 = 1
        static let target: UInt32 = 2
    }

    private let session: TransferSession
    private let video: VideoDescription
    private let sources: FramePool
    private let targets: FramePool
    private let target: (layout: FrameLayout, size: Int)

    /// - Parameters:
    ///   - target: the RGB format.
    ///   - alphaMode: how its colors relate to alpha; the source's are straight.
    ///   - properties: those of a decompression session that converts: primaries, reference white, device.
    init(
        _ daemon: Daemon, _ video: VideoDescription, _ target: PixelFormat, alphaMode: AlphaChannelMode,
        _ properties: [PropertyKey: PropertyValue]
    ) throws {
        self.video = video
        let source = FrameLayout.packed(video.format, width: video.width, height: video.height)
        self.target = FrameLayout.packed(target, width: video.width, height: video.height)
        var options = CreateTransferSession.Options()
        if case .double(let white)? = properties[.referenceWhite] { options.referenceWhite = white }
        var device: String?
        if case .string(let name)? = properties[.pixelTransferDevicePreference] { device = name }
        session = try TransferSession(
            daemon,
            CreateTransferSession.Parameters(
                width: video.width, height: video.height,
                source: CreateTransferSession.Image(
                    pixelFormat: video.format.rawValue, alpha: video.format.hasAlpha ? "straight" : nil),
                target: CreateTransferSession.Image(
                    pixelFormat: target.rawValue, primaries: Self.primaries(properties[.destinationColorPrimaries]),
                    alpha: alphaMode.rawValue), options: options, device: device))
        sources = try FramePool(slotSize: source.size, slotCount: 1)
        targets = try FramePool(slotSize: self.target.size, slotCount: 1)
        try session.addPool(sources, id: PoolID.source)
        try session.addPool(targets, id: PoolID.target)
    }

    deinit { session.invalidate() }

    /// The properties of a decompression session that describe what converts.
    var properties: [PropertyKey: PropertyValue] {
        var properties: [PropertyKey: PropertyValue] = [.pixelTransferDevice: .string(session.created.device)]
        properties[.pixelTransferFallbackReason] = session.created.fallbackReason.map(PropertyValue.string)
        return properties
    }

    /// Calls `body` with the converted frame.
    func convert(_ frame: DecodedFrame, _ body: (UnsafeRawBufferPointer, FrameLayout) throws -> Void) throws {
        guard let slot = sources.acquire(), let result = targets.acquire(),
            let base = sources.bytes(of: slot).baseAddress
        else { throw CommandFailure(.software, "a frame is still being converted") }
        defer {
            sources.release(slot)
            targets.release(result)
        }
        guard frame.width == video.width, frame.height == video.height else {
            throw MediaError(
                .unsupported,
                "frame \(frame.index) has \(frame.width)x\(frame.height) samples, those before it have "
                    + "\(video.width)x\(video.height)")
        }
        let source = try frame.copy(
            to: FrameSlot(
                id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: sources.slotSize))
        let moved = FrameLayout(
            planes: target.layout.planes.map {
                FrameLayout.Plane(offset: $0.offset + UInt64(result.offset), stride: $0.stride)
            })
        try session.transfer(
            TransferFrame(
                frameID: UInt64(frame.index), source: TransferFrame.Place(poolID: PoolID.source, layout: source),
                target: TransferFrame.Place(poolID: PoolID.target, layout: moved), color: video.color))
        guard case .frame(let answer)? = try session.nextEvent(timeout: SessionTimeout.limit) else {
            throw SessionTimeout.failure
        }
        guard answer.status == .ok else { throw SessionError(answer.status, answer.reason) }
        try body(UnsafeRawBufferPointer(targets.bytes(of: result)), target.layout)
    }

    /// A code point of H.273 by the name that pixel-transfer sessions have for it.
    private static func primaries(_ value: PropertyValue?) -> String? {
        guard case .int(let code)? = value else { return nil }
        return [1: "709", 9: "2020", 12: "p3"][code]
    }
}
