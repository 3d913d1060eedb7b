// SPDX-License-Identifier: GPL-2.0-or-later

/// The position of a 4:2:0 chroma sample relative to its four luma samples (H.265 figure E.1).
public enum ChromaSiting: String, CaseIterable, Hashable, Sendable {
    /// Beside the left column, between the rows (chroma_sample_loc_type 0): H.265's default.
    case left
    /// Between all four (1): JPEG, MPEG-1.
    case center
    /// On the top left sample (2): BT.2020, BT.2100, UHD Blu-ray.
    case topLeft = "topleft"
    /// Between the columns, on the top row (3).
    case top
    /// On the bottom left sample (4).
    case bottomLeft = "bottomleft"
    /// Between the columns, on the bottom row (5).
    case bottom

    /// The siting of a `chroma_sample_loc_type` (H.265 E.3.1), 0…5.
    public init?(locationType: UInt8) {
        let all: [ChromaSiting] = [.left, .center, .topLeft, .top, .bottomLeft, .bottom]
        guard Int(locationType) < all.count else { return nil }
        self = all[Int(locationType)]
    }

    /// The chroma sample (i, j) is at luma position (2i + x, 2j + y).
    public var offset: (x: Double, y: Double) {
        switch self {
        case .left: (0, 0.5)
        case .center: (0.5, 0.5)
        case .topLeft: (0, 0)
        case .top: (0.5, 0)
        case .bottomLeft: (0, 1)
        case .bottom: (0.5, 1)
        }
    }
}
