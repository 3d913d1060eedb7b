// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel
internal import Synchronization

/// Converts pictures with alpha to `yuva`: color by swscale, alpha read from the picture, in full range.
///
/// Where the alpha mode changes, swscale converts to 16-bit 4:4:4, in which colors are multiplied or divided; they are
/// made 8-bit 4:2:0 only then, so that the colors of transparent samples do not bleed into their neighbors.
final class AlphaConverter: PictureConverter {
    private let color: FrameConverter
    private let mode: AlphaConversion.Mode?
    private let size: (width: Int, height: Int)
    private let samples: AlphaSamples
    // Safe to share: it is used under `lock` only, one picture at a time.
    private nonisolated(unsafe) let scratch: AlphaScratch
    private let lock = Mutex(())

    /// A converter for pictures of `width`×`height`; nil when swscale does not support the format.
    init?(_ conversion: SampleConversion, width: Int, height: Int) {
        guard let alpha = conversion.alpha else { return nil }
        mode = alpha.isConverted(SampleFormats.traits(conversion.source)) ? alpha.target : nil
        let format = mode == nil ? AV_PIX_FMT_YUV420P : AV_PIX_FMT_YUV444P16LE
        guard let color = FrameConverter(conversion, width: width, height: height, to: format),
            let samples = AlphaSamples(conversion.source)
        else { return nil }
        self.color = color
        size = (width, height)
        self.samples = samples
        scratch = AlphaScratch(width: width, rows: mode == nil ? 0 : height)
    }

    func convert(_ frame: UnsafeMutablePointer<AVFrame>, to target: PlaneTarget) -> Bool {
        samples.read(frame, into: target.planes[3].base, target.planes[3].stride, size)
        guard let mode else {
            return color.convert(frame, to: Array(target.planes[..<3]))
        }
        return lock.withLock { _ in
            let planes = scratch.planes.map { MutablePlaneView(base: $0, stride: scratch.stride) }
            guard color.convert(frame, to: planes) else { return false }
            scale(frame, mode)
            subsample(into: target)
            return true
        }
    }

    /// Multiplies every color sample by its alpha, or divides it.
    private func scale(_ frame: UnsafeMutablePointer<AVFrame>, _ mode: AlphaConversion.Mode) {
        for row in 0..<size.height {
            samples.readDeep(frame, row: row, into: scratch.alpha, size.width)
            for plane in 0..<3 {
                let values = scratch.row(row, of: plane)
                // Black level for luma, the zero of color difference for chroma.
                let zero = plane == 0 ? 16 << 8 : 128 << 8
                let nominal = 16 << 8...(plane == 0 ? 235 << 8 : 240 << 8)
                for x in 0..<size.width {
                    values[x] = UInt16(
                        clamping: mode.converted(
                            Int(values[x]), alpha: Int(scratch.alpha[x]), opaque: 65535, zero: zero,
                            nominal: nominal))
                }
            }
        }
    }

    /// Converts 16-bit 4:4:4 to 8-bit 4:2:0 with chroma sited left: filtered by [1 2 1] / 4 across and [1 1] / 2 down.
    private func subsample(into target: PlaneTarget) {
        let (scratch, width, height) = (scratch, size.width, size.height)
        for line in 0..<height {
            let values = scratch.row(line, of: 0)
            let results = (target.planes[0].base + line * target.planes[0].stride).assumingMemoryBound(
                to: UInt8.self)
            for x in 0..<width { results[x] = UInt8(clamping: (Int(values[x]) + 128) >> 8) }
        }
        for plane in 1...2 {
            for line in 0..<(height + 1) / 2 {
                let first = scratch.row(2 * line, of: plane)
                let second = scratch.row(min(2 * line + 1, height - 1), of: plane)
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

/// Intermediate samples of a converter, reused for every picture.
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

    func row(_ number: Int, of plane: Int) -> UnsafeMutablePointer<UInt16> {
        (planes[plane] + number * stride).assumingMemoryBound(to: UInt16.self)
    }

    deinit {
        planes.forEach { $0.deallocate() }
        alpha.deallocate()
    }
}
