// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCapturing

/// What an access unit in Annex B says of itself.
enum CapturedUnit {
    /// Whether a decoder can begin with it: an IDR picture of H.264 (H.264 table 7-1), or an IRAP picture of HEVC (H.265 table 7-1).
    ///
    /// nil where it has no picture at all.
    static func isKeyFrame(_ unit: UnsafeRawBufferPointer, _ codec: CaptureCodec) -> Bool? {
        first(unit, codec) { type in
            switch codec {
            case .h264: (1...5).contains(type) ? type == 5 : nil
            case .hevc: type < 32 ? (16...23).contains(type) : nil
            }
        }
    }

    /// Whether it has parameter sets, which some cameras send in a buffer of their own.
    static func hasParameterSets(_ unit: UnsafeRawBufferPointer, _ codec: CaptureCodec) -> Bool {
        let types: ClosedRange<UInt8> = codec == .h264 ? 7...8 : 32...34
        return first(unit, codec) { types.contains($0) ? true : nil } ?? false
    }

    /// The first answer for the type of a NAL unit.
    private static func first(
        _ unit: UnsafeRawBufferPointer, _ codec: CaptureCodec, _ answer: (UInt8) -> Bool?
    ) -> Bool? {
        var at = 0
        while at + 3 < unit.count {
            guard unit[at] == 0, unit[at + 1] == 0, unit[at + 2] == 1 else {
                // No start code can begin before a byte above 1.
                at += unit[at + 2] > 1 ? 3 : 1
                continue
            }
            let header = unit[at + 3]
            at += 4
            if let answer = answer(codec == .h264 ? header & 31 : header >> 1 & 63) { return answer }
        }
        return nil
    }
}
