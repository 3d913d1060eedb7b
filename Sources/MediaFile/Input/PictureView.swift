// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A picture somewhere in memory, and the part of it that is to be written; valid as long as its owner says.
public struct PictureView {
    /// What the layout counts from.
    public let memory: UnsafeRawBufferPointer
    /// Where its planes lie.
    public let layout: FrameLayout
    /// How its samples lie.
    public let format: PixelFormat
    /// The part that is to be written.
    public let part: PictureRectangle

    /// Names a picture.
    ///
    /// - Throws: `Parameter` when planes or part lie outside.
    public init(
        memory: UnsafeRawBufferPointer, layout: FrameLayout, format: PixelFormat, width: Int, height: Int,
        part: PictureRectangle
    ) throws(SessionError) {
        try layout.validate(format, width: width, height: height, poolSize: UInt64(memory.count))
        guard part.width > 0, part.height > 0, UInt64(part.x) + UInt64(part.width) <= UInt64(width),
            UInt64(part.y) + UInt64(part.height) <= UInt64(height)
        else { throw SessionError(.parameter, "the part to be written lies outside the picture") }
        self.memory = memory
        self.layout = layout
        self.format = format
        self.part = part
    }

    /// Bytes of the part without gaps between rows and planes.
    var packedSize: Int {
        (0..<format.planeCount).reduce(0) { sum, plane in
            let row = format.rowBytes(plane: plane, width: Int(part.width))
            return sum + row * format.rows(plane: plane, height: Int(part.height))
        }
    }

    /// The part's samples in a plane.
    func plane(_ plane: Int) -> PlaneView? {
        guard let base = memory.baseAddress else { return nil }
        let place = layout.planes[plane]
        // An odd corner shares its chroma sample with the row or column before it.
        let isChroma = plane == 1 || plane == 2
        let x = isChroma ? Int(part.x) / 2 * (format.isSemiPlanar ? 2 : 1) : Int(part.x) * (format.isRGB ? 4 : 1)
        let y = isChroma ? Int(part.y) / 2 : Int(part.y)
        let offset = Int(place.offset) + y * Int(place.stride) + x * format.bytesPerSample
        return PlaneView(base: base + offset, stride: Int(place.stride))
    }

    /// Adds the part's bytes to `pieces`, row after row and plane after plane; rows without gaps are one piece.
    func gather(in pieces: inout [UnsafeRawBufferPointer]) {
        for number in 0..<format.planeCount {
            guard let view = plane(number) else { return }
            let row = format.rowBytes(plane: number, width: Int(part.width))
            let rows = format.rows(plane: number, height: Int(part.height))
            if view.stride == row {
                pieces.append(UnsafeRawBufferPointer(start: view.base, count: row * rows))
            } else {
                for line in 0..<rows {
                    pieces.append(UnsafeRawBufferPointer(start: view.base + line * view.stride, count: row))
                }
            }
        }
    }
}
