// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Sessions

/// A small moving pattern, the same at each run, and the comparison with what came back.
struct TestPattern {
    static let width = 128
    static let height = 128
    static let frames = 8
    /// Decibels below which a picture is not the one that was sent.
    static let leastPSNR = 30.0

    let bitDepth: Int
    let format: PixelFormat

    init(bitDepth: Int) {
        self.bitDepth = bitDepth
        format = bitDepth > 8 ? .i010 : .yu12
    }

    /// A sample: slow slopes that wander, never a step, so that any sound encoder keeps them.
    func sample(_ plane: Int, _ x: Int, _ y: Int, _ frame: Int) -> UInt16 {
        let top = (1 << bitDepth) - 1
        // 0…127 and back again.
        let position = (x * (plane + 1) + y + frame * 4 + plane * 50) % 254
        let wave = position < 127 ? position : 254 - position
        // Broad range, not a multiple of 4 in 10 bit: the lowest bits must survive too.
        return UInt16(top / 8 + wave * (top * 3 / 4) / 127)
    }

    /// Calls `body` with a frame whose samples lie in memory for that long.
    func withPicture(
        _ frame: Int, _ body: (InputPicture) throws(SessionError) -> Void
    ) throws(SessionError) {
        let (layout, size) = FrameLayout.packed(format, width: Self.width, height: Self.height)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
        defer { memory.deallocate() }
        guard let base = memory.baseAddress else { return }
        var planes: [InputPicture.Plane] = []
        for plane in 0..<3 {
            let start = base + Int(layout.planes[plane].offset)
            let stride = Int(layout.planes[plane].stride)
            planes.append(InputPicture.Plane(base: start, stride: stride))
            for y in 0..<Self.rows(plane) {
                for x in 0..<Self.columns(plane) {
                    let value = sample(plane, x, y, frame)
                    if bitDepth > 8 {
                        start.storeBytes(of: value, toByteOffset: y * stride + 2 * x, as: UInt16.self)
                    } else {
                        start.storeBytes(
                            of: UInt8(truncatingIfNeeded: value), toByteOffset: y * stride + x, as: UInt8.self)
                    }
                }
            }
        }
        try body(
            InputPicture(
                planes: planes, frameID: UInt64(frame), pts: Int64(frame), forceKeyFrame: frame == 0,
                baseFrameQP: nil))
    }

    /// Why the pictures are not the frames that were sent; nil when they are.
    func compare(_ pictures: [JudgedPicture]) -> String? {
        guard pictures.count == Self.frames else {
            return "\(Self.frames) frames were sent and \(pictures.count) came back"
        }
        for (frame, picture) in pictures.enumerated() {
            guard picture.width == Self.width, picture.height == Self.height else {
                return "frames of \(Self.width)x\(Self.height) came back as \(picture.width)x\(picture.height)"
            }
            guard picture.bitDepth == bitDepth else {
                return "\(bitDepth)-bit frames came back with \(picture.bitDepth) bits"
            }
            for plane in 0..<3 {
                let decibels = psnr(picture.planes[plane], plane, frame)
                guard decibels >= Self.leastPSNR else {
                    let tenths = Int(decibels * 10)
                    return "frame \(frame) came back wrong: PSNR \(tenths / 10).\(abs(tenths % 10)) dB in plane \(plane)"
                }
            }
        }
        // Samples of 8 bits in a 10-bit stream would all be multiples of 4.
        let isCoarse = bitDepth > 8 && pictures.allSatisfy { $0.planes[0].allSatisfy { $0 & 3 == 0 } }
        return isCoarse ? "\(bitDepth)-bit frames came back with the precision of 8 bits" : nil
    }

    private func psnr(_ samples: [UInt16], _ plane: Int, _ frame: Int) -> Double {
        let (columns, rows) = (Self.columns(plane), Self.rows(plane))
        guard samples.count == columns * rows else { return 0 }
        var sum = 0
        for y in 0..<rows {
            for x in 0..<columns {
                let difference = Int(samples[y * columns + x]) - Int(sample(plane, x, y, frame))
                sum += difference * difference
            }
        }
        guard sum > 0 else { return .infinity }
        let peak = Double((1 << bitDepth) - 1)
        return 10 * log10(peak * peak * Double(samples.count) / Double(sum))
    }

    private static func columns(_ plane: Int) -> Int { plane == 0 ? width : width / 2 }
    private static func rows(_ plane: Int) -> Int { plane == 0 ? height : height / 2 }
}
