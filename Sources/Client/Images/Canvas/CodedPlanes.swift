// SPDX-License-Identifier: MIT
package import HWDHEIF
package import HWDModel

/// The samples of a decoded picture in planes of one size of sample.
package struct CodedPlanes {
    /// Luma, then Cb and Cr; luma alone of a gray picture.
    ///
    /// Samples of more than 8 bits are 16-bit little-endian words.
    package var planes: [PlaneView]
    package var bitDepth: Int
    /// `chroma_format_idc`: 0 is gray, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    package var chromaFormat: Int
    package var size: PixelRect
    /// Whether the planes are green, blue and red at full range, whatever the file says.
    package var isRGB: Bool

    package init(
        planes: [PlaneView], bitDepth: Int, chromaFormat: Int, size: PixelRect, isRGB: Bool = false
    ) {
        (self.planes, self.bitDepth, self.chromaFormat) = (planes, bitDepth, chromaFormat)
        (self.size, self.isRGB) = (size, isRGB)
    }

    /// A picture of 4:2:0 in a planar format.
    package init(planes: [PlaneView], _ format: PixelFormat, size: PixelRect) {
        self.init(planes: planes, bitDepth: format.bitDepth, chromaFormat: 1, size: size)
    }
}

/// Chroma of a picture at the positions of its luma, interpolated linearly.
struct ChromaRows {
    private let coded: CodedPlanes
    private let columns: Range<Int>
    /// For each column the two chroma samples and the part of the second.
    private let taps: [(first: Int, second: Int, part: Float)]
    private let height: Int
    private let location: UInt8

    /// - Parameters:
    ///   - location: as of `ColorDescription`; nil is the center, as readers of HEIF files take it.
    ///   - columns: of luma, inside of the picture.
    init(_ coded: CodedPlanes, location: UInt8?, columns: Range<Int>) {
        (self.coded, self.columns) = (coded, columns)
        self.location = location ?? 1
        let (isHalved, isLow) = (coded.chromaFormat == 1 || coded.chromaFormat == 2, coded.chromaFormat == 1)
        let width = isHalved ? (coded.size.width + 1) / 2 : coded.size.width
        height = isLow ? (coded.size.height + 1) / 2 : coded.size.height
        let offset: Float = self.location % 2 == 0 ? 0 : 0.5
        taps = columns.map { column in
            isHalved ? Self.tap(Float(column), offset, width) : (first: column, second: column, part: 0)
        }
    }

    private static func tap(_ place: Float, _ offset: Float, _ count: Int) -> (first: Int, second: Int, part: Float)
    {
        let position = max(0, (place - offset) / 2)
        let first = min(Int(position), count - 1)
        return (first, min(first + 1, count - 1), position - Float(first))
    }

    /// Cb and Cr of a row of luma.
    func read(_ row: Int, _ cb: inout [Float], _ cr: inout [Float]) {
        // H.265 E.3.1: 2 and 3 are at the top, 4 and 5 at the bottom.
        let offset: Float = location >= 4 ? 1 : location >= 2 ? 0 : 0.5
        let lines =
            coded.chromaFormat == 1 ? Self.tap(Float(row), offset, height) : (first: row, second: row, part: 0)
        read(coded.planes[1], lines, &cb)
        read(coded.planes[2], lines, &cr)
    }

    private func read(
        _ plane: PlaneView, _ lines: (first: Int, second: Int, part: Float), _ result: inout [Float]
    ) {
        let (above, below) = (plane.base + lines.first * plane.stride, plane.base + lines.second * plane.stride)
        for (index, tap) in taps.enumerated() {
            let (left, right) = (
                sample(above, tap.first) * (1 - lines.part) + sample(below, tap.first) * lines.part,
                sample(above, tap.second) * (1 - lines.part) + sample(below, tap.second) * lines.part
            )
            result[index] = left * (1 - tap.part) + right * tap.part
        }
    }

    @inline(__always)
    private func sample(_ line: UnsafeRawPointer, _ column: Int) -> Float {
        coded.bitDepth > 8
            ? Float(line.loadUnaligned(fromByteOffset: 2 * column, as: UInt16.self))
            : Float(line.load(fromByteOffset: column, as: UInt8.self))
    }
}
