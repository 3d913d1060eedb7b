// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Moving gradients: every frame differs, and 10-bit samples use all bits.
public struct Clip: Hashable, Codable, Sendable {
    /// The fourcc of its pixel format.
    public let fourcc: String
    /// Luma samples a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// The number of frames.
    public let frames: Int
    /// The frame where a second scene, still noise, begins; nil for one scene.
    public let cut: Int?

    /// A clip with these values.
    public init(format: PixelFormat, width: Int, height: Int, frames: Int, cut: Int? = nil) {
        self.cut = cut
        fourcc = format.rawValue
        self.width = width
        self.height = height
        self.frames = frames
    }

    /// Its pixel format.
    public var format: PixelFormat { PixelFormat(rawValue: fourcc) ?? .nv12 }

    /// One sample's value, 0…2^bits - 1.
    public func sample(_ plane: Int, _ x: Int, _ y: Int, _ frame: Int) -> Int {
        let top = (1 << format.bitDepth) - 1
        if let cut, frame >= cut {
            // Still, so that x265 detects no further cut.
            var bits = UInt32(truncatingIfNeeded: x &* 73_856_093 ^ y &* 19_349_663 ^ plane &* 83_492_791)
            bits = (bits ^ bits >> 13) &* 1_274_126_177
            return Int(bits >> 16) & top
        }
        return (x * 5 + y * 3 + frame * 7 + plane * 40 + (x * y) / 16) % (top + 1)
    }

    /// One frame's samples, planar, in the x265 command line's file format.
    public func planar(_ frame: Int) -> [UInt8] {
        let size = format.bytesPerSample
        let chroma = ((width + 1) / 2) * ((height + 1) / 2) * size
        var bytes = [UInt8](repeating: 0, count: width * height * size + 2 * chroma)
        var at = 0
        for plane in 0..<3 {
            let (w, h) = plane == 0 ? (width, height) : ((width + 1) / 2, (height + 1) / 2)
            for y in 0..<h {
                for x in 0..<w {
                    store(sample(plane, x, y, frame), in: &bytes, at: at)
                    at += size
                }
            }
        }
        return bytes
    }

    /// One frame's samples in the layout of `format`.
    public func native(_ frame: Int) -> (bytes: [UInt8], layout: FrameLayout) {
        let packed = FrameLayout.packed(format, width: width, height: height)
        var bytes = [UInt8](repeating: 0, count: packed.size)
        let (shift, size, isSemiPlanar) = (format == .p010 ? 6 : 0, format.bytesPerSample, format.isSemiPlanar)
        for plane in 0..<3 {
            let (w, h) = plane == 0 ? (width, height) : ((width + 1) / 2, (height + 1) / 2)
            let target = packed.layout.planes[isSemiPlanar ? min(plane, 1) : plane]
            let step = isSemiPlanar && plane > 0 ? 2 * size : size
            for y in 0..<h {
                var at = Int(target.offset) + y * Int(target.stride) + (isSemiPlanar && plane == 2 ? size : 0)
                for x in 0..<w {
                    store(sample(plane, x, y, frame) << shift, in: &bytes, at: at)
                    at += step
                }
            }
        }
        return (bytes, packed.layout)
    }

    private func store(_ value: Int, in bytes: inout [UInt8], at place: Int) {
        bytes[place] = UInt8(value & 255)
        if format.bytesPerSample == 2 { bytes[place + 1] = UInt8(value >> 8) }
    }
}
