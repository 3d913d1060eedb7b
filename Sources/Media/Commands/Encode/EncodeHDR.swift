// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// What `hwctl encode --hdr` sends and writes of a source's HDR metadata and captions.
final class EncodeHDR {
    private let mode: HDRMode
    private let video: VideoDescription
    /// Why the session takes no dynamic metadata; nil where it does.
    private var reason: String?
    /// Frames whose dynamic metadata were left out.
    private var leftOutFrames = 0
    /// Whether the daemon takes frames with captions.
    private lazy var takesCaptions = asksForCaptions()
    private let asksForCaptions: () -> Bool
    private var framesWithoutCaptions = 0

    /// - Parameter takesCaptions: called for the first frame with captions.
    init(_ mode: HDRMode, _ video: VideoDescription, takesCaptions: @escaping () -> Bool) {
        self.mode = mode
        self.video = video
        asksForCaptions = takesCaptions
    }

    /// Whether the source's static metadata are written, as far as they hold.
    var keepsStatic: Bool { mode != .drop && mode != .sdr }

    /// The session properties for the mode.
    var properties: [(PropertyKey, PropertyValue)] {
        switch mode {
        // Colors are converted without dynamic metadata; none are made of the result.
        case .preserve, .pq, .hlg: [(.preserveDynamicHDRMetadata, .bool(true))]
        case .regenerate: [(.preserveDynamicHDRMetadata, .bool(false))]
        case .drop, .sdr: [(.hdrMetadataInsertionMode, .string("None"))]
        }
    }

    /// Notes that the session refuses the properties.
    func refused() { reason = "this daemon takes no frames with metadata" }

    /// Sets the boxes that the mode writes.
    ///
    /// - Parameter properties: the session's, once its encoder is open.
    func apply(_ properties: [PropertyKey: PropertyValue], to track: inout VideoTrack) {
        track.dolbyVision = nil
        guard properties[.hdrMetadataInsertionMode] != .string("None") else {
            reason = reason ?? "HDRMetadataInsertionMode is None"
            (track.masteringDisplay, track.contentLight, track.ambientViewing) = (nil, nil, nil)
            return
        }
        guard mode == .preserve || mode == .regenerate else { return }
        // HDR10+ and Dolby Vision are made for 10 bits.
        if properties[.outputBitDepth] != .int(10) { reason = reason ?? "the encoded video has 8 bits" }
        guard reason == nil else { return }
        if properties[.preserveDynamicHDRMetadata] == .bool(true) {
            if video.needsEnhancementLayer {
                reason = "its Dolby Vision has an enhancement layer, which is not encoded"
            } else {
                track.dolbyVision = video.dolbyVision
            }
        } else if track.color.transfer == 18 {
            track.declareHLGDolbyVision()
            if track.dolbyVision == nil { reason = "no level of Dolby Vision allows its size and rate" }
        } else {
            reason = "only those of HLG can be generated"
        }
    }

    /// The metadata to send with a frame; nil for a frame without any.
    ///
    /// Static metadata are properties of the session.
    /// - Parameter scale: the factors by which its picture was scaled; nil where it is the source's.
    func metadata(of frame: SourceFrame, scale: (horizontal: Double, vertical: Double)?) -> FrameMetadata? {
        let dynamic = dynamicMetadata(of: frame, scale)
        let entries = dynamic + captions(of: frame)
        let makesRPU = mode == .regenerate && reason == nil
        return entries.isEmpty && !makesRPU ? nil : FrameMetadata(sideData: entries)
    }

    private func dynamicMetadata(
        of frame: SourceFrame, _ scale: (horizontal: Double, vertical: Double)?
    ) -> [FrameSideData] {
        let dynamic = frame.sideData.filter(\.kind.isDynamic)
        guard reason == nil, !mode.converts else {
            // ConvertingSource counts those of converted frames.
            if !dynamic.isEmpty, mode != .drop { leftOutFrames += 1 }
            return []
        }
        guard mode == .preserve else { return [] }
        var entries: [FrameSideData] = []
        var isLeftOut = false
        // One of each kind: the last one, as decoders use it.
        for entry in dynamic.reversed() where !entries.contains(where: { $0.kind == entry.kind }) {
            let scaled = scale.map { entry.scaled(horizontal: $0.horizontal, vertical: $0.vertical) } ?? entry
            if let scaled { entries.append(scaled) } else { isLeftOut = true }
        }
        if isLeftOut { leftOutFrames += 1 }
        return entries
    }

    private func captions(of frame: SourceFrame) -> [FrameSideData] {
        let captions = frame.sideData.filter { $0.kind == .closedCaptions }
        guard !captions.isEmpty else { return [] }
        guard takesCaptions else {
            framesWithoutCaptions += 1
            return []
        }
        return captions
    }

    /// Warnings about metadata that are not written, once all frames were sent.
    var warnings: [String] {
        var warnings: [String] = []
        if framesWithoutCaptions > 0 {
            warnings.append(
                "warning: the closed captions of \(Console.count(framesWithoutCaptions, "frame")) are left out: this daemon takes none"
            )
        }
        let why = mode.converts ? "they describe colors that the output does not declare" : reason
        if let why, leftOutFrames > 0 {
            warnings.append(
                "warning: the dynamic HDR metadata of \(Console.count(leftOutFrames, "frame")) are left out: \(why)"
            )
        } else if mode == .regenerate, let reason {
            warnings.append("warning: no dynamic HDR metadata are made: \(reason)")
        } else if leftOutFrames > 0 {
            warnings.append(
                "warning: dynamic HDR metadata of \(Console.count(leftOutFrames, "scaled frame")) are left out")
        }
        return warnings
    }
}
