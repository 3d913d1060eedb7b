// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A borrowed picture, and the rectangle of it to write; valid as long as its memory.
public struct PictureView {
    /// The memory that the layout's offsets refer to.
    public let memory: UnsafeRawBufferPointer
    /// The positions of its planes.
    public let layout: FrameLayout
    /// The pixel format.
    public let format: PixelFormat
    /// The rectangle to write.
    public let part: PictureRectangle

    /// A view of a picture of `width`×`height` samples.
    ///
    /// - Throws: `Parameter` when a plane exceeds the memory or `part` the picture.
    public init(
        memory: UnsafeRawBufferPointer, layout: FrameLayout, format: PixelFormat, width: Int, height: Int,
        part: PictureRectangle
    ) throws(SessionError) {
        try layout.validate(format, width: width, height: height, poolSize: UInt64(memory.count))
        guard part.width > 0, part.height > 0, UInt64(part.x) + UInt64(part.width) <= UInt64(width),
            UInt64(part.y) + UInt64(part.height) <= UInt64(height)
        else { throw SessionError(.parameter, "the rectangle to write exceeds the picture") }
        self.memory = memory
        self.layout = layout
        self.format = format
        self.part = part
    }

    /// Bytes of the rectangle without gaps between rows and planes.
    package var packedSize: Int {
        (0..<format.planeCount).reduce(0) { sum, plane in
            let row = format.rowBytes(plane: plane, width: Int(part.width))
            return sum + row * format.rows(plane: plane, height: Int(part.height))
        }
    }

    /// The rectangle's samples in a plane.
    public func plane(_ number: Int) -> PlaneView? {
        guard let base = memory.baseAddress else { return nil }
        let plane = layout.planes[number]
        // An odd corner shares its chroma sample with the preceding row or column.
        let isChroma = number == 1 || number == 2
        let step = isChroma ? format.bytesPerSample * (format.isSemiPlanar ? 2 : 1) : format.bytesPerPixel
        let x = isChroma ? Int(part.x) / 2 : Int(part.x)
        let y = isChroma ? Int(part.y) / 2 : Int(part.y)
        let offset = Int(plane.offset) + y * Int(plane.stride) + x * step
        return PlaneView(base: base + offset, stride: Int(plane.stride))
    }

    /// Appends the rectangle's rows to `pieces`, plane after plane; the rows of a plane without gaps are one piece.
    package func gather(in pieces: inout [UnsafeRawBufferPointer]) {
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
