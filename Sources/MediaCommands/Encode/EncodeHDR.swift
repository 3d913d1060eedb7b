// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMediaFile
internal import HWDModel

/// What `hwctl encode --hdr` sends and writes of a source's HDR metadata.
final class EncodeHDR {
    private let mode: HDRMode
    private let video: VideoDescription
    /// Why the session takes no dynamic metadata; nil where it does.
    private var obstacle: String?
    /// Frames whose dynamic metadata were left out because their samples were changed.
    private var stale = 0

    init(_ mode: HDRMode, _ video: VideoDescription) {
        self.mode = mode
        self.video = video
    }

    /// Whether the source's static metadata are written.
    var keepsStatic: Bool { mode == .preserve || mode == .regenerate }

    /// The session properties for the mode.
    var properties: [(PropertyKey, PropertyValue)] {
        switch mode {
        case .preserve: [(.preserveDynamicHDRMetadata, .bool(true))]
        case .regenerate: [(.preserveDynamicHDRMetadata, .bool(false))]
        case .drop, .sdr: [(.hdrMetadataInsertionMode, .string("None"))]
        case .pq, .hlg: []
        }
    }

    /// Notes that the session refuses the properties.
    func refused() { obstacle = "this daemon takes no frames with metadata" }

    /// Sets the boxes that the mode writes.
    ///
    /// - Parameter properties: the session's, once its encoder is open.
    func apply(_ properties: [PropertyKey: PropertyValue], to track: inout VideoTrack) {
        track.dolbyVision = nil
        guard properties[.hdrMetadataInsertionMode] != .string("None") else {
            obstacle = obstacle ?? "HDRMetadataInsertionMode is None"
            (track.masteringDisplay, track.contentLight, track.ambientViewing) = (nil, nil, nil)
            return
        }
        guard mode == .preserve || mode == .regenerate else { return }
        // HDR10+ and Dolby Vision are made for 10 bits.
        if properties[.outputBitDepth] != .int(10) { obstacle = obstacle ?? "the encoded video has 8 bits" }
        guard obstacle == nil else { return }
        if properties[.preserveDynamicHDRMetadata] == .bool(true) {
            if video.needsEnhancementLayer {
                obstacle = "its Dolby Vision has an enhancement layer, which is not encoded"
            } else {
                track.dolbyVision = video.dolbyVision
            }
        } else if track.color.transfer == 18 {
            track.declareHLGDolbyVision()
            if track.dolbyVision == nil { obstacle = "no level of Dolby Vision allows its size and rate" }
        } else {
            obstacle = "only those of HLG can be made anew"
        }
    }

    /// The metadata to send with a frame; nil for a frame without any.
    ///
    /// Static metadata are properties of the session.
    /// - Parameter scale: the factors by which its picture was scaled; nil where it is the source's.
    func metadata(of frame: SourceFrame, scale: (horizontal: Double, vertical: Double)?) -> FrameMetadata? {
        let dynamic = frame.sideData.filter(\.kind.isDynamic)
        guard mode == .preserve || mode == .regenerate else { return nil }
        guard obstacle == nil else {
            if !dynamic.isEmpty { stale += 1 }
            return nil
        }
        if mode == .regenerate { return FrameMetadata() }
        var entries: [FrameSideData] = []
        var isLeftOut = false
        // An RPU behind an end of sequence NAL unit is read with the next picture, whose own one comes last.
        for entry in dynamic.reversed() where !entries.contains(where: { $0.kind == entry.kind }) {
            let scaled = scale.map { entry.scaled(horizontal: $0.horizontal, vertical: $0.vertical) } ?? entry
            if let scaled { entries.append(scaled) } else { isLeftOut = true }
        }
        if isLeftOut { stale += 1 }
        return entries.isEmpty ? nil : FrameMetadata(sideData: entries)
    }

    /// Warnings about metadata that are not written, once all frames were sent.
    var warnings: [String] {
        if let obstacle, stale > 0 {
            return ["warning: the dynamic HDR metadata of \(stale) frames are left out: \(obstacle)"]
        }
        if mode == .regenerate, let obstacle { return ["warning: no dynamic HDR metadata are made: \(obstacle)"] }
        return stale > 0 ? ["warning: dynamic HDR metadata of \(stale) scaled frames are left out"] : []
    }
}
