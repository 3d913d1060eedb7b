// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDPolicy

/// Whether a track can be exported as HEVC with alpha, for `hwctl info`.
struct AlphaExportInfo: Encodable {
    /// The track's stream.
    private(set) var stream: Int
    private var possible: Bool
    /// Why it cannot be exported; empty when it can.
    private var reasons: [String]
    /// What the export would lose.
    private var notes: [String]

    /// Checks the description of a track.
    init(_ track: VideoTrackInfo) {
        let color = ColorDescription(
            primaries: UInt8(clamping: track.color.primaries.code),
            transfer: UInt8(clamping: track.color.transfer.code),
            matrix: UInt8(clamping: track.color.matrix.code), isFullRange: track.color.range == "full",
            chromaLocation: nil)
        let verdict = AlphaExport.check(
            AlphaExport.Source(
                hasAlpha: track.alpha == true, width: track.width, height: track.height,
                bitDepth: track.bitDepth ?? 8,
                color: color))
        stream = track.stream
        (possible, reasons, notes) = (verdict.isPossible, verdict.reasons, verdict.notes)
    }

    /// The human-readable answer.
    var text: String {
        possible
            ? (["yes"] + notes).joined(separator: ", but ") : "no: " + reasons.joined(separator: "; ")
    }
}
