// SPDX-License-Identifier: GPL-2.0-or-later

/// A quarter turn, perhaps mirrored, that shows a picture as its display matrix says.
public struct PictureOrientation: Hashable, Sendable {
    /// Whether columns become rows.
    public private(set) var transposes = false
    /// Whether the shown columns are in reverse order, after rows and columns were exchanged.
    private var reversesColumns = false
    /// The same for the shown rows.
    private var reversesRows = false

    /// As it is stored.
    public init() {}

    /// The orientation of a display matrix (ISO/IEC 14496-12 8.3.2), nine numbers by rows; nil for other angles than quarter
    /// turns.
    public init?(displayMatrix: [Int32]?) {
        guard let displayMatrix else { return }
        guard displayMatrix.count == 9 else { return nil }
        // x' = a x + c y, y' = b x + d y.
        let (a, b, c, d) = (displayMatrix[0], displayMatrix[1], displayMatrix[3], displayMatrix[4])
        switch (a != 0, b != 0, c != 0, d != 0) {
        case (true, false, false, true): (reversesColumns, reversesRows) = (a < 0, d < 0)
        case (false, true, true, false): (transposes, reversesColumns, reversesRows) = (true, c < 0, b < 0)
        default: return nil
        }
    }

    /// The size of a picture as it is shown.
    public func shown(width: Int, height: Int) -> (width: Int, height: Int) {
        transposes ? (height, width) : (width, height)
    }

    /// Pixels of a picture, by rows.
    struct Pixels {
        var base: UnsafeMutablePointer<UInt8>
        var stride: Int
    }

    /// Copies the pixels of a stored picture of `width`×`height` to those of the shown one.
    ///
    /// - Parameter pixelBytes: bytes of a pixel.
    func copy(_ source: Pixels, to target: Pixels, width: Int, height: Int, pixelBytes: Int) {
        let size = shown(width: width, height: height)
        let (across, down) = transposes ? (source.stride, pixelBytes) : (pixelBytes, source.stride)
        for row in 0..<size.height {
            let line = source.base + (reversesRows ? size.height - 1 - row : row) * down
            var written = target.base + row * target.stride
            for column in 0..<size.width {
                let read = line + (reversesColumns ? size.width - 1 - column : column) * across
                written.update(from: read, count: pixelBytes)
                written += pixelBytes
            }
        }
    }
}
