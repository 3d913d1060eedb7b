// SPDX-License-Identifier: MIT

/// How a still picture is divided into coded ones: a single one, or a grid of equal tiles (ISO/IEC 23008-12 6.6.2.3).
public struct StillTiling: Hashable, Sendable {
    /// Samples of a coded picture, both even.
    public let width: Int
    public let height: Int
    public let columns: Int
    public let rows: Int

    /// The size of tiles by default; a picture that is not larger has one.
    public static let defaultTileSize = 512
    /// HEVC decoders in hardware refuse smaller pictures.
    public static let minSide = 64
    /// The most tiles in a row and in a column: a grid has 8 bits for each.
    public static let maxTiles = 256
    /// The most tiles: their references are counted in 16 bits.
    public static let maxReferences = 65_535
    /// The most luma samples of a coded picture: those of HEVC's level 6.2 (H.265 table A.8).
    public static let maxSamples = 35_651_584

    /// The division of a picture.
    ///
    /// - Parameter tile: the width and height of tiles, even; nil for 512, 0 for one tile.
    public init(width: Int, height: Int, tile: Int?) {
        let side = tile ?? Self.defaultTileSize
        if side == 0 || max(width, height) <= side {
            (self.width, self.height) = (Self.coded(width), Self.coded(height))
        } else {
            (self.width, self.height) = (side, side)
        }
        columns = (width + self.width - 1) / self.width
        rows = (height + self.height - 1) / self.height
    }

    /// Coded pictures.
    public var count: Int { columns * rows }

    /// Whether a file can describe that many tiles.
    public var isPossible: Bool { Self.isPossible(columns: columns, rows: rows) }

    /// Whether a grid can have that many columns and rows.
    public static func isPossible(columns: Int, rows: Int) -> Bool {
        max(columns, rows) <= maxTiles && columns * rows <= maxReferences
    }

    /// What a grid can have, in words.
    public static let gridLimits = "at most 256 rows, 256 columns and 65,535 tiles"

    /// Whether HEVC has a level for the coded pictures: their sides have a limit too (H.265 A.4.1).
    public var hasLevel: Bool {
        width * height <= Self.maxSamples && max(width * width, height * height) <= 8 * Self.maxSamples
    }

    private static func coded(_ side: Int) -> Int { max(minSide, (side + 1) / 2 * 2) }
}
