// SPDX-License-Identifier: GPL-2.0-or-later
public import Model

/// Moving gradients: every frame differs, and 10-bit ones use all their bits.
public struct Clip: Hashable, Codable, Sendable {
    /// Its layout, by its fourcc.
    public let fourcc: String
    /// Luma samples a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// How many.
    public let frames: Int

    /// A clip.
    public init(format: PixelFormat, width: Int, height: Int, frames: Int) {
        fourcc = format.rawValue
        self.width = width
        self.height = height
        self.frames = frames
    }

    /// Its layout.
    public var format: PixelFormat { PixelFormat(rawValue: fourcc) ?? .nv12 }

    /// One sample's value, 0…2^bits - 1.
    public func sample(_ plane: Int, _ x: Int, _ y: Int, _ frame: Int) -> Int {
        let top = (1 << format.bitDepth) - 1
        return (x * 5 + y * 3 + frame * 7 + plane * 40 + (x * y) / 16) % (top + 1)
    }

    /// Planar samples of one frame, as the x265 CLI reads them from a file.
    public func planar(_ frame: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for plane in 0..<3 {
            let (w, h) = plane == 0 ? (width, height) : ((width + 1) / 2, (height + 1) / 2)
            for y in 0..<h {
                for x in 0..<w { append(sample(plane, x, y, frame), to: &bytes, shift: 0) }
            }
        }
        return bytes
    }

    /// The same samples in `format`'s own layout, and where the planes begin.
    public func native(_ frame: Int) -> (bytes: [UInt8], layout: FrameLayout) {
        let packed = FrameLayout.packed(format, width: width, height: height)
        var bytes = [UInt8](repeating: 0, count: packed.size)
        let shift = format == .p010 ? 6 : 0
        for plane in 0..<3 {
            let (w, h) = plane == 0 ? (width, height) : ((width + 1) / 2, (height + 1) / 2)
            let target = packed.layout.planes[format.isSemiPlanar ? min(plane, 1) : plane]
            for y in 0..<h {
                for x in 0..<w {
                    var one: [UInt8] = []
                    append(sample(plane, x, y, frame), to: &one, shift: shift)
                    let column = format.isSemiPlanar && plane > 0 ? 2 * x + plane - 1 : x
                    let at = Int(target.offset) + y * Int(target.stride) + column * format.bytesPerSample
                    bytes.replaceSubrange(at..<at + one.count, with: one)
                }
            }
        }
        return (bytes, packed.layout)
    }

    private func append(_ value: Int, to bytes: inout [UInt8], shift: Int) {
        let word = value << shift
        bytes.append(UInt8(word & 255))
        if format.bytesPerSample == 2 { bytes.append(UInt8(word >> 8)) }
    }
}
