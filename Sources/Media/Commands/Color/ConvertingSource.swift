// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDColor
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// A video whose frames all have one color, size and orientation: others are converted and scaled by pixel-transfer sessions.
///
/// A session is created when the first frame needs it.
final class ConvertingSource: VideoSource {
    /// The number by which an encoder's session knows the memory of converted frames, as if a decoder had made it: far
    /// above those of decoders.
    private static let arenaID: UInt32 = 1 << 30

    /// A frame on its way to the encoder.
    private struct Pending {
        var frame: SourceFrame
        /// What converts it, and the frame that this reads; nil where it stays as it is.
        var conversion: (transfer: FrameTransfer, original: SourceFrame)?
    }

    /// The converter of frames that differ in format or in the kind of light from others.
    private struct Key: Hashable {
        var format: PixelFormat
        var isHLG: Bool
        /// Whether the color stays, so that samples are only scaled.
        var keepsColor: Bool
        /// How colors relate to alpha; nil without alpha.
        var alphaMode: AlphaChannelMode?
    }

    private(set) var counts: ColorChanges
    var report: SourceReport { source.report }
    /// What converts, for the summary; nil where nothing was converted.
    private(set) var device: String?
    /// Frames of another size, which were scaled before their colors were converted.
    var changes: FormatChanges { transfers.values.reduce(FormatChanges()) { $0.adding($1.changes) } }

    private let source: any VideoSource
    private let video: VideoDescription
    private let plan: EncodeColor
    private let geometry: PictureGeometry
    private let signal: SignalDescription?
    private let daemon: Daemon
    private let readerPool: FramePool?
    private let frames: Int?
    private var colors: StreamColor
    private var transfers: [Key: FrameTransfer] = [:]
    private var targets: FramePool?
    private var pending: [Pending] = []
    private var isEnded = false
    /// The error that ended the source; thrown after the last frame before it.
    private var failure: (any Error)?

    /// - Parameters:
    ///   - readerPool: the pool that the reader decodes into; nil where a session decodes.
    ///   - frames: the number of frames; nil where it is unknown.
    init(
        _ source: any VideoSource, _ video: VideoDescription, _ target: PicturePlan, _ daemon: Daemon,
        readerPool: FramePool?, frames: Int?
    ) throws {
        let plan = target.color
        self.source = source
        self.video = video
        (self.plan, geometry) = (plan, target.geometry)
        self.daemon = daemon
        (self.readerPool, self.frames) = (readerPool, frames)
        signal = plan.signal(of: plan.target, video)
        colors = StreamColor(video.color)
        counts = ColorChanges(plan)
        // A conversion that is impossible fails before anything is encoded.
        if plan.converts || geometry.changesSamples {
            let color = plan.converts ? plan.source : plan.target
            _ = try transfer(format: plan.sourceFormat, color: color, alphaMode: plan.alphaMode(video))
        }
    }

    func next() throws -> MediaReader.Item? {
        while true {
            if let first = pending.first, first.conversion == nil {
                pending.removeFirst()
                return .frame(first.frame)
            }
            if pending.count >= FrameTransfer.depth || isEnded {
                guard let first = pending.first else {
                    if let failure { throw failure }
                    return nil
                }
                try first.conversion?.transfer.finish()
                // At once: a decoder has few pictures to lend, and the encoder keeps only the converted one.
                try first.conversion?.original.release()
                pending.removeFirst()
                return .frame(first.frame)
            }
            switch try read() {
            case .frame(let frame)?:
                do {
                    pending.append(try taken(frame))
                } catch {
                    // The frames before this one are delivered first.
                    (failure, isEnded) = (error, true)
                    try? frame.release()
                }
            case .packet(let packet)?: return .packet(packet)
            case nil: isEnded = true
            }
        }
    }

    private func read() throws -> MediaReader.Item? {
        do {
            return try source.next()
        } catch {
            failure = error
            return nil
        }
    }

    /// A frame as it is, or as it will be once its conversion ends.
    private func taken(_ frame: SourceFrame) throws -> Pending {
        let color = color(of: frame)
        let changesColor = try needsConversion(frame, color)
        guard changesColor || geometry.changesSamples else { return Pending(frame: frame) }
        let transfer = try transfer(
            format: frame.format, color: changesColor ? color : plan.target, alphaMode: frame.alphaMode)
        guard let targets, let slot = targets.acquire() else {
            throw CommandFailure(.software, "no memory is free for a converted frame")
        }
        try transfer.submit(frame, color: changesColor ? color : nil, into: slot)
        var converted = frame
        if changesColor || !geometry.onlyScales {
            // HDR metadata describe the picture before the conversion.
            converted.info.sideData.removeAll { $0.kind != .closedCaptions }
            counts.note(frame, color, changesColor: changesColor)
        } else {
            converted.scale = geometry.scale
        }
        (converted.info.width, converted.info.height) = size
        (converted.info.format, converted.info.color) = (plan.format, plan.target)
        converted.place = .shared(targets.memory, number: Self.arenaID, layout.moved(by: UInt64(slot.offset)))
        converted.release = { targets.release(slot) }
        return Pending(frame: converted, conversion: (transfer, frame))
    }

    private func color(of frame: SourceFrame) -> ColorDescription {
        var color = frame.color
        // The reader has compared the colors of the frames that it decoded.
        if case .shared = frame.place { color = colors.color(of: color) }
        return color == video.color ? plan.source : color
    }

    private func needsConversion(_ frame: SourceFrame, _ color: ColorDescription) throws -> Bool {
        guard color != plan.target || (plan.converts && frame.format != plan.format) || plan.effects != nil else {
            return false
        }
        guard let signal, let own = plan.signal(of: color, video) else {
            guard color == plan.source, !plan.converts else { throw impossible(frame, color) }
            return false
        }
        guard own != signal || (plan.converts && frame.format != plan.format) || plan.effects != nil else {
            return false
        }
        guard !frame.format.hasAlpha else { throw impossible(frame, color) }
        return true
    }

    private func impossible(_ frame: SourceFrame, _ color: ColorDescription) -> MediaError {
        MediaError(
            .unsupported,
            "frame \(frame.index) is \(color.name)"
                + (frame.format.hasAlpha ? " with alpha" : "")
                + ", which cannot be converted to \(plan.target.name)")
    }

    private var layout: FrameLayout {
        FrameLayout.packed(plan.format, width: size.width, height: size.height).layout
    }

    /// The size of converted frames.
    private var size: (width: Int, height: Int) {
        geometry.changesSamples ? (geometry.width, geometry.height) : (video.width, video.height)
    }

    private func transfer(
        format: PixelFormat, color: ColorDescription, alphaMode: AlphaChannelMode?
    ) throws -> FrameTransfer {
        let keepsColor = color == plan.target && geometry.changesSamples && plan.effects == nil
        let key = Key(
            format: format, isHLG: color.transfer == 18, keepsColor: keepsColor,
            alphaMode: format.hasAlpha ? alphaMode : nil)
        if let known = transfers[key] { return known }
        let pool: FramePool
        if let targets {
            pool = targets
        } else {
            let size = FrameLayout.packed(plan.format, width: size.width, height: size.height).size
            pool = try FramePool(
                slotSize: size, slotCount: FrameSender.framesInFlight(slotSize: size) + 1 + FrameTransfer.depth)
            targets = pool
        }
        var parameters =
            keepsColor
            ? try plan.parameters(
                keeping: color, format: format, alphaMode: key.alphaMode, filtersLight: geometry.filtersLight, video
            )
            : try plan.parameters(format: format, color: color, video)
        if geometry.transposes {
            guard
                let siting = color.transposed?.chromaLocation.flatMap({ ChromaSiting(locationType: $0) })
                    ?? (color.transposed == nil ? nil : .left)
            else {
                throw MediaError(
                    .unsupported, "pictures of \(color.name) with this chroma location cannot be turned")
            }
            if format.isYCbCr { parameters.source.siting = siting.rawValue }
        }
        geometry.apply(to: &parameters)
        parameters.frames = frames
        let transfer = try FrameTransfer(
            daemon, video, parameters, format: format,
            into: FrameTransfer.Target(pool: pool, layout: layout), readerPool: readerPool,
            transposes: geometry.transposes, tables: plan.effects?.addedTables ?? [])
        device = device ?? transfer.session.created.device
        transfers[key] = transfer
        return transfer
    }
}
