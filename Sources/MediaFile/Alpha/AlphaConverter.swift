// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel
internal import Synchronization

// One picture is converted at a time, under the lock, so that the memory between can be kept.

/// Brings pictures with alpha to `yuva`: colour by swscale, alpha taken from the picture itself, full range, untouched.
///
/// Where the alpha mode changes, swscale leaves colour in 4:4:4 of 16 bits; it is multiplied or divided there, and only
/// then made 4:2:0 of 8 bits, so that no colour of a transparent sample comes into its neighbours'.
final class AlphaConverter: PictureConverter {
    private let colour: FrameConverter
    private let mode: AlphaConversion.Mode?
    private let size: (width: Int, height: Int)
    private let samples: AlphaSamples
    // Safe to share because `lock` is held wherever it is used.
    private nonisolated(unsafe) let scratch: AlphaScratch
    private let lock = Mutex(())

    /// Sets it up for pictures of `width`×`height`; nil when swscale cannot.
    init?(_ plan: SampleConversion, width: Int, height: Int) {
        guard let alpha = plan.alpha else { return nil }
        mode = alpha.isConverted(SampleFormats.traits(plan.source)) ? alpha.target : nil
        let format = mode == nil ? AV_PIX_FMT_YUV420P : AV_PIX_FMT_YUV444P16LE
        guard let colour = FrameConverter(plan, width: width, height: height, to: format),
            let samples = AlphaSamples(plan.source)
        else { return nil }
        self.colour = colour
        size = (width, height)
        self.samples = samples
        scratch = AlphaScratch(width: width, rows: mode == nil ? 0 : height)
    }

    func convert(_ frame: UnsafeMutablePointer<AVFrame>, to target: PlaneTarget) -> Bool {
        samples.read(frame, into: target.planes[3].base, target.planes[3].stride, size)
        guard let mode else {
            return colour.convert(frame, to: Array(target.planes[..<3]))
        }
        return lock.withLock { _ in
            let planes = scratch.planes.map { MutablePlaneView(base: $0, stride: scratch.stride) }
            guard colour.convert(frame, to: planes) else { return false }
            scale(frame, mode)
            subsample(into: target)
            return true
        }
    }

    /// Multiplies every sample by its alpha, or divides it.
    private func scale(_ frame: UnsafeMutablePointer<AVFrame>, _ mode: AlphaConversion.Mode) {
        for row in 0..<size.height {
            samples.readDeep(frame, row: row, into: scratch.alpha, size.width)
            for plane in 0..<3 {
                let values = (scratch.planes[plane] + row * scratch.stride).assumingMemoryBound(to: UInt16.self)
                let centre: Int64 = plane == 0 ? 16 << 8 : 128 << 8
                let most: Int64 = plane == 0 ? 235 << 8 : 240 << 8
                for x in 0..<size.width {
                    let (value, alpha) = (Int64(values[x]) - centre, Int64(scratch.alpha[x]))
                    let result: Int64
                    switch mode {
                    case .premultiplied: result = centre + Self.divide(value * alpha, by: 65535)
                    case .straight where alpha == 0: result = centre
                    // Within the nominal range: at low alpha rounding alone could lead far beyond it.
                    case .straight: result = min(max(centre + Self.divide(value * 65535, by: alpha), 16 << 8), most)
                    }
                    values[x] = UInt16(clamping: result)
                }
            }
        }
    }

    /// The nearest whole number, halves away from 0.
    private static func divide(_ number: Int64, by divisor: Int64) -> Int64 {
        number >= 0 ? (number + divisor / 2) / divisor : -((divisor / 2 - number) / divisor)
    }

    /// 4:4:4 of 16 bits to 4:2:0 of 8: chroma as [1 2 1] / 4 across, where it lies with the left sample, and [1 1] / 2 down.
    private func subsample(into target: PlaneTarget) {
        let (scratch, width, height) = (scratch, size.width, size.height)
        func row(_ plane: Int, _ number: Int) -> UnsafeMutablePointer<UInt16> {
            (scratch.planes[plane] + number * scratch.stride).assumingMemoryBound(to: UInt16.self)
        }
        for line in 0..<height {
            let values = row(0, line)
            let results = (target.planes[0].base + line * target.planes[0].stride).assumingMemoryBound(to: UInt8.self)
            for x in 0..<width { results[x] = UInt8(clamping: (Int(values[x]) + 128) >> 8) }
        }
        for plane in 1...2 {
            for line in 0..<(height + 1) / 2 {
                let (first, second) = (row(plane, 2 * line), row(plane, min(2 * line + 1, height - 1)))
                let results = (target.planes[plane].base + line * target.planes[plane].stride)
                    .assumingMemoryBound(to: UInt8.self)
                for x in 0..<(width + 1) / 2 {
                    let (left, right) = (max(2 * x - 1, 0), min(2 * x + 1, width - 1))
                    let sum =
                        Int(first[left]) + 2 * Int(first[2 * x]) + Int(first[right])
                        + Int(second[left]) + 2 * Int(second[2 * x]) + Int(second[right])
                    results[x] = UInt8(clamping: (sum + 1024) >> 11)
                }
            }
        }
    }
}

/// Memory that a converter keeps from picture to picture.
private final class AlphaScratch {
    let stride: Int
    let planes: [UnsafeMutableRawPointer]
    /// One row of alpha, 0…65535.
    let alpha: UnsafeMutablePointer<UInt16>

    init(width: Int, rows: Int) {
        let alignment = FrameLayout.rowAlignment
        let stride = (width * 2 + alignment - 1) / alignment * alignment
        self.stride = stride
        planes = (0..<3).map { _ in .allocate(byteCount: max(1, stride * rows), alignment: alignment) }
        alpha = .allocate(capacity: width)
    }

    deinit {
        planes.forEach { $0.deallocate() }
        alpha.deallocate()
    }
}
