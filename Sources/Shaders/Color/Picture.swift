// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A picture with contiguous rows, for the reference converter and tests.
public struct Picture: Hashable, Sendable {
    /// The samples' layout.
    public let format: PixelFormat
    /// Samples in a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// The bytes of each plane.
    public var planes: [[UInt8]]

    /// A picture of zeros.
    public init(_ format: PixelFormat, width: Int, height: Int) {
        self.format = format
        self.width = width
        self.height = height
        planes = (0..<format.planeCount).map {
            [UInt8](
                repeating: 0,
                count: format.rowBytes(plane: $0, width: width) * format.rows(plane: $0, height: height))
        }
    }

    /// Samples of a chroma row; 4:2:0 rounds an odd width up.
    public var chromaWidth: Int { (width + 1) / 2 }

    /// Chroma rows.
    public var chromaHeight: Int { (height + 1) / 2 }

    /// Sets or reads a component's code: 0 is Y' or R, 1 Cb or G, 2 Cr or B, 3 alpha; chroma by chroma coordinates.
    ///
    /// Codes of half floats are their bits.
    public subscript(component: Int, x: Int, y: Int) -> Int {
        get {
            if let packing = format.packing {
                let (shift, top) = packing.field(component)
                return Int(word(x, y)) >> shift & top
            }
            let (plane, at) = place(component, x, y)
            let low = Int(planes[plane][at])
            if format.bytesPerSample == 1 { return low }
            let word = low | Int(planes[plane][at + 1]) << 8
            return format == .p010 ? word >> 6 : format == .i010 ? word & 0x3FF : word
        }
        set {
            if let packing = format.packing {
                let (shift, top) = packing.field(component)
                let bits = word(x, y) & ~UInt32(top << shift) | UInt32((newValue & top) << shift)
                for byte in 0..<4 {
                    planes[0][(y * width + x) * 4 + byte] = UInt8(truncatingIfNeeded: bits >> UInt32(8 * byte))
                }
                return
            }
            let (plane, at) = place(component, x, y)
            let word = format == .p010 ? newValue << 6 : newValue
            planes[plane][at] = UInt8(truncatingIfNeeded: word)
            if format.bytesPerSample == 2 { planes[plane][at + 1] = UInt8(truncatingIfNeeded: word >> 8) }
        }
    }

    /// The word of a pixel of a packed format.
    private func word(_ x: Int, _ y: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(planes[0][(y * width + x) * 4 + $1]) << UInt32(8 * $1) }
    }

    private func place(_ component: Int, _ x: Int, _ y: Int) -> (plane: Int, byte: Int) {
        let size = format.bytesPerSample
        guard format.isYCbCr else {
            return (0, ((y * width + x) * 4 + component) * size)
        }
        if component == 0 || component == 3 { return (component, (y * width + x) * size) }
        return format.isSemiPlanar
            ? (1, ((y * chromaWidth + x) * 2 + component - 1) * size) : (component, (y * chromaWidth + x) * size)
    }
}
