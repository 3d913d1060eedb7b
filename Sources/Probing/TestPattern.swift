// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSessions

/// A small moving pattern, the same at each run, and the comparison with what came back.
struct TestPattern {
    static let frames = 8
    /// Decibels below which a picture is not the one that was sent.
    static let leastPSNR = 30.0

    let bitDepth: Int
    let width: Int
    let height: Int
    /// Whether fine texture lies over the slopes, which an encoder that only codes averages loses.
    let isDetailed: Bool
    let format: PixelFormat

    /// - Parameters:
    ///   - width: samples a row, even.
    ///   - height: rows, even.
    init(bitDepth: Int, width: Int = 128, height: Int = 128, isDetailed: Bool = false) {
        self.bitDepth = bitDepth
        self.width = width
        self.height = height
        self.isDetailed = isDetailed
        format = bitDepth > 8 ? .i010 : .yu12
    }

    /// A sample: slow slopes that wander, so that any sound encoder keeps them, and texture where that is wanted.
    func sample(_ plane: Int, _ x: Int, _ y: Int, _ frame: Int) -> UInt16 {
        let top = (1 << bitDepth) - 1
        let texture = isDetailed ? top / 24 * ((x / 2 + y / 2) & 1) + top / 32 * ((x / 8 ^ y / 8) & 1) : 0
        // 0…127 and back again.
        let position = (x * (plane + 1) + y + frame * 4 + plane * 50) % 254
        let wave = position < 127 ? position : 254 - position
        // Broad range, not a multiple of 4 in 10 bit: the lowest bits must survive too.
        return UInt16(top / 8 + texture + wave * (top * 3 / 4) / 127)
    }

    /// Calls `body` with a frame whose samples lie in memory for that long.
    func withPicture(
        _ frame: Int, _ body: (InputPicture) throws(SessionError) -> Void
    ) throws(SessionError) {
        let (layout, size) = FrameLayout.packed(format, width: width, height: height)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
        defer { memory.deallocate() }
        guard let base = memory.baseAddress else { return }
        var planes: [PlaneView] = []
        for plane in 0..<3 {
            let start = base + Int(layout.planes[plane].offset)
            let stride = Int(layout.planes[plane].stride)
            planes.append(PlaneView(base: start, stride: stride))
            for y in 0..<rows(plane) {
                for x in 0..<columns(plane) {
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
            guard picture.width == width, picture.height == height else {
                return "frames of \(width)x\(height) came back as \(picture.width)x\(picture.height)"
            }
            guard picture.bitDepth == bitDepth else {
                return "\(bitDepth)-bit frames came back with \(picture.bitDepth) bits"
            }
            for plane in 0..<3 {
                let decibels = psnr(picture.planes[plane], plane, frame)
                guard decibels >= Self.leastPSNR else {
                    let tenths = Int(decibels * 10)
                    return
                        "frame \(frame) came back wrong: PSNR \(tenths / 10).\(abs(tenths % 10)) dB in plane \(plane)"
                }
            }
        }
        // Samples of 8 bits in a 10-bit stream would all be multiples of 4.
        let isCoarse = bitDepth > 8 && pictures.allSatisfy { $0.planes[0].allSatisfy { $0 & 3 == 0 } }
        return isCoarse ? "\(bitDepth)-bit frames came back with the precision of 8 bits" : nil
    }

    private func psnr(_ samples: [UInt16], _ plane: Int, _ frame: Int) -> Double {
        let (columns, rows) = (self.columns(plane), self.rows(plane))
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

    private func columns(_ plane: Int) -> Int { plane == 0 ? width : width / 2 }
    private func rows(_ plane: Int) -> Int { plane == 0 ? height : height / 2 }
}
