// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

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

    /// Whether it shows the picture mirrored.
    public var isMirrored: Bool { [transposes, reversesColumns, reversesRows].count { $0 } % 2 == 1 }

    /// The part of the stored picture that is shown as `part` of the shown one, whose size is given.
    public func stored(_ part: PictureRectangle, shownWidth: Int, shownHeight: Int) -> PictureRectangle {
        let x = reversesColumns ? UInt32(shownWidth) - part.x - part.width : part.x
        let y = reversesRows ? UInt32(shownHeight) - part.y - part.height : part.y
        return transposes
            ? PictureRectangle(x: y, y: x, width: part.height, height: part.width)
            : PictureRectangle(x: x, y: y, width: part.width, height: part.height)
    }

    /// Pixels of a picture, by rows.
    @unsafe package struct Pixels {
        var base: UnsafeMutablePointer<UInt8>
        var stride: Int

        package init(base: UnsafeMutablePointer<UInt8>, stride: Int) {
            unsafe self.base = base
            unsafe self.stride = stride
        }
    }

    /// Copies the pixels of a stored picture of `width`×`height` to those of the shown one.
    ///
    /// - Parameter pixelBytes: bytes of a pixel.
    package func copy(_ source: Pixels, to target: Pixels, width: Int, height: Int, pixelBytes: Int) {
        let size = shown(width: width, height: height)
        let (across, down) = unsafe transposes ? (source.stride, pixelBytes) : (pixelBytes, source.stride)
        for row in 0..<size.height {
            let line = unsafe source.base + (reversesRows ? size.height - 1 - row : row) * down
            var written = unsafe target.base + row * target.stride
            for column in 0..<size.width {
                let read = unsafe line + (reversesColumns ? size.width - 1 - column : column) * across
                unsafe written.update(from: read, count: pixelBytes)
                unsafe written += pixelBytes
            }
        }
    }

    /// Rows and columns exchanged.
    public static let transposed: PictureOrientation = {
        var orientation = PictureOrientation()
        orientation.transposes = true
        return orientation
    }()

    /// A clockwise turn by 0, 90, 180 or 270 degrees.
    public init(turnedBy degrees: Int) {
        transposes = degrees == 90 || degrees == 270
        reversesColumns = degrees == 90 || degrees == 180
        reversesRows = degrees == 180 || degrees == 270
    }

    /// Copies the planes of a stored Y'CbCr picture of `width`×`height` samples to those of the shown one.
    public func copy(
        _ source: [PlaneView], to target: [MutablePlaneView], _ format: PixelFormat, width: Int, height: Int
    ) {
        for plane in source.indices {
            let isChroma = plane == 1 || plane == 2
            let size = isChroma ? ((width + 1) / 2, (height + 1) / 2) : (width, height)
            let bytes = format.bytesPerSample * (plane == 1 && format.isSemiPlanar ? 2 : 1)
            switch bytes {
            case 1: copy(UInt8.self, source[plane], target[plane], size)
            case 2: copy(UInt16.self, source[plane], target[plane], size)
            default: copy(UInt32.self, source[plane], target[plane], size)
            }
        }
    }

    /// Samples of a square that stays in the cache.
    private static let block = 32

    private func copy<Sample: FixedWidthInteger & BitwiseCopyable>(
        _ type: Sample.Type, _ source: PlaneView, _ target: MutablePlaneView, _ size: (width: Int, height: Int)
    ) {
        let step = MemoryLayout<Sample>.size
        let shown = shown(width: size.width, height: size.height)
        let (across, down) = transposes ? (source.stride, step) : (step, source.stride)
        for top in stride(from: 0, to: shown.height, by: Self.block) {
            for left in stride(from: 0, to: shown.width, by: Self.block) {
                for row in top..<min(top + Self.block, shown.height) {
                    let line = unsafe source.base + (reversesRows ? shown.height - 1 - row : row) * down
                    let written = unsafe target.base + row * target.stride
                    for column in left..<min(left + Self.block, shown.width) {
                        let sourceColumn = reversesColumns ? shown.width - 1 - column : column
                        let sample = unsafe (line + sourceColumn * across).loadUnaligned(as: Sample.self)
                        unsafe (written + column * step).storeBytes(of: sample, as: Sample.self)
                    }
                }
            }
        }
    }
}
