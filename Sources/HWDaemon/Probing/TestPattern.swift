// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDCoding
internal import HWDModel

/// A small moving pattern, the same in every run, and its comparison with decoded pictures.
struct TestPattern {
    static let frames = 8
    /// Decibels below which a picture counts as wrong.
    static let minPSNR = 30.0

    let bitDepth: Int
    let width: Int
    let height: Int
    /// Whether fine texture is added, which an encoder that codes only averages loses.
    let isDetailed: Bool
    let format: PixelFormat

    /// - Parameters:
    ///   - width: luma samples in a row, even.
    ///   - height: luma rows, even.
    init(bitDepth: Int, width: Int = 128, height: Int = 128, isDetailed: Bool = false) {
        self.bitDepth = bitDepth
        self.width = width
        self.height = height
        self.isDetailed = isDetailed
        format = bitDepth > 8 ? .i010 : .yu12
    }

    /// A sample of a moving gradient, which any correct encoder preserves, with texture if `isDetailed`.
    func sample(_ plane: Int, _ x: Int, _ y: Int, _ frame: Int) -> UInt16 {
        let maxValue = (1 << bitDepth) - 1
        let texture = isDetailed ? maxValue / 24 * ((x / 2 + y / 2) & 1) + maxValue / 32 * ((x / 8 ^ y / 8) & 1) : 0
        // Rises from 0 to 127 and falls again.
        let position = (x * (plane + 1) + y + frame * 4 + plane * 50) % 254
        let wave = position < 127 ? position : 254 - position
        // A broad range; at 10 bits not only multiples of 4, because the lowest bits must survive too.
        return UInt16(maxValue / 8 + texture + wave * (maxValue * 3 / 4) / 127)
    }

    /// Calls `body` with a frame, whose memory is valid only during the call.
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

    /// Compares decoded pictures with the frames that were sent; returns nil if they match.
    func compare(_ pictures: [DecodedTrialPicture]) -> String? {
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
                guard decibels >= Self.minPSNR else {
                    let tenths = Int(decibels * 10)
                    return
                        "frame \(frame) came back wrong: PSNR \(tenths / 10).\(abs(tenths % 10)) dB in plane \(plane)"
                }
            }
        }
        // 8-bit samples in a 10-bit stream are multiples of 4.
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
