// SPDX-License-Identifier: MIT
public import HWDBoxes

/// The contents of a `colr` box (ISO/IEC 14496-12 12.1.5).
public enum ColorInformation: Hashable, Sendable {
    /// Code points of ITU-T H.273.
    case codePoints(CodePoints)
    /// An ICC profile; its box is `prof`, or `rICC` for a restricted one. Empty ones exist and say nothing.
    case profile([UInt8], isRestricted: Bool)
    /// Another kind, as it is.
    case other(FourCC, [UInt8])

    /// Primaries, transfer function, matrix and range.
    public struct CodePoints: Hashable, Sendable {
        public var primaries: Int
        public var transfer: Int
        public var matrix: Int
        public var isFullRange: Bool

        public init(primaries: Int, transfer: Int, matrix: Int, isFullRange: Bool) {
            self.primaries = primaries
            self.transfer = transfer
            self.matrix = matrix
            self.isFullRange = isFullRange
        }
    }

    init(_ fields: inout BoxFields) throws(BoxError) {
        let kind = try fields.fourCC()
        switch kind {
        case "nclx":
            let points = (try fields.int(2), try fields.int(2), try fields.int(2))
            let isFullRange = try fields.int(1) >> 7 == 1
            self = .codePoints(
                CodePoints(
                    primaries: points.0, transfer: points.1, matrix: points.2, isFullRange: isFullRange))
        case "prof", "rICC":
            guard fields.left <= HEIFLimits.profileSize else {
                throw BoxError("an ICC profile has more than \(HEIFLimits.profileSize) bytes")
            }
            self = .profile(Array(fields.rest), isRestricted: kind == "rICC")
        default: self = .other(kind, Array(fields.rest))
        }
    }

    /// The body of the box.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .codePoints(let points):
            bytes.appendBigEndian(("nclx" as FourCC).rawValue)
            for point in [points.primaries, points.transfer, points.matrix] {
                bytes.appendBigEndian(UInt16(truncatingIfNeeded: point))
            }
            bytes.append(points.isFullRange ? 0x80 : 0)
        case .profile(let profile, let isRestricted):
            bytes.appendBigEndian((isRestricted ? "rICC" : "prof" as FourCC).rawValue)
            bytes += profile
        case .other(let kind, let rest):
            bytes.appendBigEndian(kind.rawValue)
            bytes += rest
        }
        return bytes
    }
}
