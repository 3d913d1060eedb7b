// SPDX-License-Identifier: MIT

/// The order of a frame's two fields, with CoreMedia's names (`kCMFormatDescriptionFieldDetail_…`).
///
/// The four orders are those of QuickTime's `fiel` atom (Apple TN2162): 1, 6, 9 and 14.
public enum FieldDetail: String, Hashable, Sendable, CaseIterable {
    /// The top field is shown first and stored before the bottom field.
    case temporalTopFirst = "TemporalTopFirst"
    /// The bottom field is shown first and stored before the top field.
    case temporalBottomFirst = "TemporalBottomFirst"
    /// The lines of both fields alternate, and the field with the first line is shown first.
    case spatialFirstLineEarly = "SpatialFirstLineEarly"
    /// The lines of both fields alternate, and the field with the first line is shown last.
    case spatialFirstLineLate = "SpatialFirstLineLate"

    /// The order of frames whose fields' lines alternate.
    public init(interleavedTopFirst isTopFirst: Bool) {
        self = isTopFirst ? .spatialFirstLineEarly : .spatialFirstLineLate
    }

    /// The names of the orders of frames whose fields' lines alternate.
    public static let interleavedNames = [spatialFirstLineEarly, spatialFirstLineLate].map(\.rawValue)

    /// Whether the top field is shown first.
    public var isTopFirst: Bool { self == .temporalTopFirst || self == .spatialFirstLineEarly }

    /// The same order in frames whose fields' lines alternate.
    public var interleaved: FieldDetail { FieldDetail(interleavedTopFirst: isTopFirst) }
}
