// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCapturing

/// What an access unit in Annex B says of itself.
enum CapturedUnit {
    /// Whether a decoder can begin with it: an IDR picture of H.264 (H.264 table 7-1), or an IRAP picture of HEVC (H.265 table 7-1).
    ///
    /// nil where it has no picture at all.
    static func isKeyFrame(_ unit: UnsafeRawBufferPointer, _ codec: CaptureCodec) -> Bool? {
        var at = 0
        while at + 3 < unit.count {
            guard unit[at] == 0, unit[at + 1] == 0, unit[at + 2] == 1 else {
                // No start code can begin before a byte above 1.
                at += unit[at + 2] > 1 ? 3 : 1
                continue
            }
            let header = unit[at + 3]
            at += 4
            switch codec {
            case .h264:
                let type = header & 31
                if (1...5).contains(type) { return type == 5 }
            case .hevc:
                let type = header >> 1 & 63
                if type < 32 { return (16...23).contains(type) }
            }
        }
        return nil
    }
}
