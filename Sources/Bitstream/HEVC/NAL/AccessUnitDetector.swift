// SPDX-License-Identifier: MIT

/// Finds where access units start in a sequence of NAL units (7.4.2.4.4).
public struct AccessUnitDetector: Hashable, Sendable {
    /// True once the current access unit has a VCL NAL unit: from then on, a type that may start an access unit does.
    private var hasVCL = false
    private var isFirst = true

    public init() {}

    /// True when `nal` is the first NAL unit of an access unit; throws when its header is malformed.
    ///
    /// Layers above the base never start one: their slices belong to the access unit of the base picture before them.
    public mutating func startsAccessUnit(_ nal: ArraySlice<UInt8>) throws(BitstreamError) -> Bool {
        let header = try NALUnitHeader(nal: nal)
        let type = header.nalUnitType
        var starts = isFirst
        if type.isVCL {
            let startsPicture = header.nuhLayerId == 0 && nal.count > 2 && nal[nal.startIndex + 2] & 0x80 != 0
            starts = starts || (hasVCL && startsPicture)
            hasVCL = true
        } else if header.nuhLayerId == 0, Self.mayStart(type) {
            starts = starts || hasVCL
            hasVCL = hasVCL && !starts
        }
        isFirst = false
        return starts
    }

    /// The non-VCL types that start the next access unit after a picture's last slice.
    private static func mayStart(_ type: NALUnitType) -> Bool {
        switch type {
        case .vps, .sps, .pps, .aud, .prefixSEI: true
        default: (41...44).contains(type.rawValue) || (48...55).contains(type.rawValue)
        }
    }
}
