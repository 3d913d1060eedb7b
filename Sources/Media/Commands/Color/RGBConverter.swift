// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDColor
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// Converts frames to RGB in a pixel-transfer session of the daemon, one at a time; with effects also to Y'CbCr.
final class RGBConverter {
    /// What frames become.
    struct Target {
        var format: PixelFormat
        /// How its colors relate to alpha; the source's are straight.
        var alphaMode: AlphaChannelMode
        /// Those of a decompression session that converts: primaries, reference white, device.
        var properties: [PropertyKey: PropertyValue] = [:]
        /// Whether HDR is tone-mapped to SDR.
        var mapsTones = false
        /// The effects on all frames; nil for none.
        var effects: EffectRequest?
        /// How samples of Y'CbCr are read; nil for RGB.
        var signal: SignalDescription?
        /// The number of frames; nil where it is unknown.
        var frames: Int?
    }

    /// The frames that one session converts.
    private struct Key: Hashable {
        var format: PixelFormat
        var width: Int
        var height: Int
        var isHLG: Bool
        /// The peak in cd/m² from which light is tone-mapped; nil where it is not, and for Y'CbCr.
        var peak: Double?
    }

    private struct Opened {
        var key: Key
        var transfer: FrameTransfer
        var pool: FramePool
        var layout: FrameLayout
    }

    private let daemon: () throws -> Daemon
    private let video: VideoDescription
    private let target: Target
    private var colors: StreamColor
    private var opened: Opened?
    /// The peak of the last RPU that stated one, in nits.
    private var rpuPeak = HDRMapping.usualPeak

    /// - Parameters:
    ///   - daemon: called for the first frame.
    ///   - video: the video whose frames are converted; a session is created for the first of another size.
    init(_ daemon: @escaping () throws -> Daemon, _ video: VideoDescription, _ target: Target) {
        self.daemon = daemon
        self.video = video
        self.target = target
        colors = StreamColor(video.color)
    }

    /// Creates the session for the video's first frames, so that a refusal comes before they are decoded.
    func open() throws {
        _ = try converter(
            Key(
                format: video.format, width: video.width, height: video.height,
                isHLG: video.color.transfer == 18))
    }

    /// The properties of a decompression session that describe what converts.
    var properties: [PropertyKey: PropertyValue] {
        guard let created = opened?.transfer.session.created else { return [:] }
        var properties: [PropertyKey: PropertyValue] = [.pixelTransferDevice: .string(created.device)]
        properties[.pixelTransferFallbackReason] = created.fallbackReason.map(PropertyValue.string)
        return properties
    }

    /// The color of a frame's samples; call it once for each, in presentation order.
    func color(of frame: SourceFrame) -> ColorDescription {
        if case .local = frame.place { return frame.color }
        return colors.color(of: frame.color)
    }

    /// The converted frame, which takes the place of `frame`; it must be released before the next one is converted.
    func convert(_ frame: SourceFrame, color: ColorDescription) throws -> SourceFrame {
        let key = Key(
            format: frame.format, width: frame.width, height: frame.height, isHLG: color.transfer == 18)
        return try convert(frame, color, key)
    }

    /// As `convert`, of a frame of half floats, tone-mapped from the peak of its RPU if a session has applied it, else from
    /// the video's.
    func convert(light frame: SourceFrame) throws -> SourceFrame {
        var key = Key(format: frame.format, width: frame.width, height: frame.height, isHLG: false)
        if frame.isMapped, let rpu = frame.sideData.first(where: { $0.kind == .dolbyVisionRPU }) {
            if let peak = MappingHistory.peak(rpu: rpu.bytes) { rpuPeak = peak }
            key.peak = rpuPeak
        } else if video.color.isHDR {
            key.peak = video.peakLuminance ?? HDRMapping.usualPeak
        }
        return try convert(frame, frame.color, key)
    }

    private func convert(_ frame: SourceFrame, _ color: ColorDescription, _ key: Key) throws -> SourceFrame {
        let opened = try converter(key)
        guard let slot = opened.pool.acquire() else {
            throw CommandFailure(.software, "a frame is still being converted")
        }
        let pool = opened.pool
        do {
            try opened.transfer.submit(frame, color: color, into: slot)
            try opened.transfer.finish()
            try frame.release()
        } catch {
            pool.release(slot)
            throw error
        }
        var converted = frame
        converted.info.format = target.format
        if target.signal != nil { converted.info.color = video.color }
        converted.place = .shared(pool.memory, number: 0, opened.layout.moved(by: UInt64(slot.offset)))
        converted.release = { pool.release(slot) }
        return converted
    }

    private func converter(_ key: Key) throws -> Opened {
        if let opened, opened.key == key { return opened }
        var own = video
        (own.width, own.height) = (key.width, key.height)
        let packed = FrameLayout.packed(target.format, width: key.width, height: key.height)
        let pool = try FramePool(slotSize: packed.size, slotCount: 1)
        let transfer = try FrameTransfer(
            try daemon(), own, parameters(key), format: key.format,
            into: FrameTransfer.Target(pool: pool, layout: packed.layout),
            tables: target.effects?.addedTables ?? [])
        let made = Opened(key: key, transfer: transfer, pool: pool, layout: packed.layout)
        opened = made
        return made
    }

    private func parameters(_ key: Key) -> CreateTransferSession.Parameters {
        var options = CreateTransferSession.Options()
        if case .double(let white)? = target.properties[.referenceWhite] { options.referenceWhite = white }
        var device: String?
        if case .string(let name)? = target.properties[.pixelTransferDevicePreference] { device = name }
        if target.mapsTones, !key.format.isYCbCr {
            // The display's white is its peak.
            (options.targetHeadroom, options.masteringPeak) = (key.peak.map { _ in 1 }, key.peak)
        } else if target.mapsTones, let mapping = HDRMapping(to: ColorDescription(), isHLG: key.isHLG, video) {
            (options.targetHeadroom, options.masteringPeak) = (mapping.headroom, mapping.sourcePeak)
        }
        target.effects?.apply(to: &options)
        var image = CreateTransferSession.Image(
            pixelFormat: target.format.rawValue,
            primaries: Self.primaries(target.properties[.destinationColorPrimaries]),
            alpha: target.alphaMode.rawValue)
        if let signal = target.signal {
            image = CreateTransferSession.Image(target.format, signal)
            options.chromaDownsampling = ConversionOptions.ChromaDownsampling.siting.rawValue
        }
        var parameters = CreateTransferSession.Parameters(
            width: key.width, height: key.height,
            source: CreateTransferSession.Image(
                pixelFormat: key.format.rawValue, alpha: key.format.hasAlpha ? "straight" : nil),
            target: image, options: options, device: device)
        parameters.frames = target.frames
        return parameters
    }

    /// A code point of H.273 by the name that pixel-transfer sessions have for it.
    private static func primaries(_ value: PropertyValue?) -> String? {
        guard case .int(let code)? = value else { return nil }
        return [1: "709", 9: "2020", 12: "p3"][code]
    }
}
