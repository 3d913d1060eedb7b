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

    /// The most samples on a side of a frame that compression sessions take.
    public static let maxCodedSide = 16_384

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

    /// Whether a grid can have that many columns and rows.
    public static func isPossible(columns: Int, rows: Int) -> Bool {
        max(columns, rows) <= maxTiles && columns * rows <= maxReferences
    }

    /// Whether HEVC has a level for the coded pictures: their sides have a limit too (H.265 A.4.1).
    private var hasLevel: Bool {
        width * height <= Self.maxSamples && max(width * width, height * height) <= 8 * Self.maxSamples
    }

    /// What a grid can have, in words.
    public static let gridLimits = "at most \(maxTiles) rows, \(maxTiles) columns and \(maxReferences) tiles"

    /// Why no file, level of HEVC or session takes a picture in these tiles; nil if they do.
    ///
    /// - Parameters:
    ///   - width: of the picture, in samples.
    ///   - height: of the picture, in samples.
    public func obstacle(width: Int, height: Int) -> String? {
        let coded = "\(self.width)x\(self.height)"
        if !Self.isPossible(columns: columns, rows: rows) {
            return
                "\(width)x\(height) samples need \(columns)x\(rows) tiles of \(coded); a grid has \(Self.gridLimits)"
        }
        if !hasLevel { return "a coded picture of \(coded) is larger than HEVC's levels allow: use tiles" }
        if max(self.width, self.height) > Self.maxCodedSide {
            return
                "a coded picture of \(coded) exceeds the sessions' limit of \(Self.maxCodedSide) samples on a side: use tiles"
        }
        return nil
    }

    private static func coded(_ side: Int) -> Int { max(minSide, (side + 1) / 2 * 2) }
}
