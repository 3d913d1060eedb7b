// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDWire

/// What `hwctl probe` says of HEIC files.
enum StillSupportText {
    /// The block.
    static func block(_ support: IsStillEncodeSupported.Reply, _ size: StillSize?) -> String {
        let what = size.map { " of \($0.text)\($0.question.bitDepth == 10 ? " with 10 bits" : "")" } ?? ""
        guard support.supported else {
            return "HEIC\(what): cannot be written\(support.reason.map { ": \($0)" } ?? "")"
        }
        let place = support.hardware ? "in hardware" : "in software"
        var lines = ["HEIC\(what): written \(place) by \(support.encoderID ?? "?")"]
        if let columns = support.columns, let rows = support.rows, let width = support.tileWidth,
            let height = support.tileHeight
        {
            let count = columns * rows
            let tiles =
                count == 1
                ? "1 of \(width)x\(height)" : "\(count) of \(width)x\(height) in \(rows) rows of \(columns)"
            lines.append(ProbeBlocks().line("Tiles", tiles))
        }
        if let reason = support.reason { lines.append(ProbeBlocks().line("Reason", reason)) }
        return lines.joined(separator: "\n")
    }
}
