// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMediaFile
internal import HWDModel

/// What `hwctl encode --hdr` sends and writes of a source's HDR metadata.
final class EncodeHDR {
    private let mode: HDRMode
    private let video: VideoDescription
    /// Whether the session takes frames with metadata; false for daemons that do not know the property.
    private var isSupported = true
    /// Frames whose samples were scaled or converted, so that their dynamic metadata no longer hold.
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
    func refused() { isSupported = false }

    /// The metadata to send with a frame; nil for a frame without any.
    ///
    /// Static metadata are properties of the session.
    /// - Parameter isChanged: whether its samples differ from the source's in size or color.
    func metadata(of frame: SourceFrame, isChanged: Bool) -> FrameMetadata? {
        guard isSupported else { return nil }
        switch mode {
        case .drop, .sdr, .pq, .hlg: return nil
        case .regenerate: return FrameMetadata()
        case .preserve:
            var entries: [FrameSideData] = []
            for entry in frame.sideData where entry.kind.isDynamic {
                if !entries.contains(where: { $0.kind == entry.kind }) { entries.append(entry) }
            }
            guard !entries.isEmpty else { return nil }
            guard !isChanged else {
                stale += 1
                return nil
            }
            return FrameMetadata(sideData: entries)
        }
    }

    /// Sets the boxes that the mode writes.
    ///
    /// - Parameter properties: the session's.
    func apply(_ properties: [PropertyKey: PropertyValue], to track: inout VideoTrack) {
        guard properties[.hdrMetadataInsertionMode] != .string("None") else {
            (track.masteringDisplay, track.contentLight, track.ambientViewing) = (nil, nil, nil)
            return
        }
        if isSupported, properties[.preserveDynamicHDRMetadata] == .bool(true) { track.dolbyVision = video.dolbyVision }
    }

    /// Warnings about metadata that are not written, once all frames were sent.
    var warnings: [String] {
        guard stale > 0 else { return [] }
        return ["warning: the dynamic HDR metadata of \(stale) scaled frames are left out"]
    }
}
