// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV

/// Reads the alpha of pictures in a libavutil pixel format as 8 or 16 bits.
struct AlphaSamples {
    private let plane: Int
    private let step: Int
    private let offset: Int
    private let shift: Int
    private let maxValue: Int
    private let isWide: Bool
    private let isBigEndian: Bool
    private let isPalette: Bool
    /// Every value scaled to 8 bits.
    private let table: [UInt8]

    /// A reader for pictures of a format; nil where it has no alpha, or alpha that is not addressable by sample.
    init?(_ format: AVPixelFormat) {
        guard SampleFormats.traits(format).hasAlpha, let descriptor = av_pix_fmt_desc_get(format)?.pointee else {
            return nil
        }
        let refused = UInt64(AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL)
        guard descriptor.flags & refused == 0 else { return nil }
        isPalette = descriptor.flags & UInt64(AV_PIX_FMT_FLAG_PAL) != 0
        isBigEndian = descriptor.flags & UInt64(AV_PIX_FMT_FLAG_BE) != 0
        let components = [descriptor.comp.0, descriptor.comp.1, descriptor.comp.2, descriptor.comp.3]
        // Alpha is the last component (libavutil's pixdesc.h).
        let component = components[max(0, Int(descriptor.nb_components) - 1)]
        let depth = isPalette ? 8 : Int(component.depth)
        guard (1...16).contains(depth) else { return nil }
        (plane, step, offset) = (Int(component.plane), Int(component.step), Int(component.offset))
        shift = Int(component.shift)
        isWide = depth + shift > 8
        let maxValue = (1 << depth) - 1
        self.maxValue = maxValue
        table = (0...maxValue).map { UInt8(($0 * 255 + maxValue / 2) / maxValue) }
    }

    /// Writes a picture's alpha, 0…255.
    func read(
        _ frame: UnsafeMutablePointer<AVFrame>, into target: UnsafeMutableRawPointer, _ stride: Int,
        _ size: (width: Int, height: Int)
    ) {
        let isPlane = !isPalette && !isWide && maxValue == 255 && (step, offset, shift) == (1, 0, 0)
        for row in 0..<size.height {
            if isPlane, let line = line(frame, row) {
                (target + row * stride).copyMemory(from: line, byteCount: size.width)
                continue
            }
            let results = (target + row * stride).assumingMemoryBound(to: UInt8.self)
            each(frame, row, size.width) { x, value in results[x] = table[value] }
        }
    }

    /// Writes a row's alpha, 0…65535.
    func readDeep(
        _ frame: UnsafeMutablePointer<AVFrame>, row: Int, into target: UnsafeMutablePointer<UInt16>, _ width: Int
    ) {
        each(frame, row, width) { x, value in target[x] = UInt16((value * 65535 + maxValue / 2) / maxValue) }
    }

    /// The start of a row of the plane that has alpha.
    private func line(_ frame: UnsafeMutablePointer<AVFrame>, _ row: Int) -> UnsafeRawPointer? {
        let data = frame.pointee.data
        let strides = frame.pointee.linesize
        let (start, stride): (UnsafeMutablePointer<UInt8>?, Int32) =
            switch plane {
            case 0: (data.0, strides.0)
            case 1: (data.1, strides.1)
            case 2: (data.2, strides.2)
            default: (data.3, strides.3)
            }
        return start.map { UnsafeRawPointer($0) + row * Int(stride) }
    }

    private func each(
        _ frame: UnsafeMutablePointer<AVFrame>, _ row: Int, _ width: Int, _ body: (Int, Int) -> Void
    ) {
        guard let line = line(frame, row) else { return }
        if isPalette {
            guard let palette = frame.pointee.data.1 else { return }
            let colors = UnsafeRawPointer(palette)
            for x in 0..<width {
                // Entries are ARGB in a word of native byte order.
                let entry = colors.loadUnaligned(
                    fromByteOffset: 4 * Int(line.load(fromByteOffset: x, as: UInt8.self)), as: UInt32.self)
                body(x, Int(entry >> 24))
            }
            return
        }
        for x in 0..<width {
            let position = offset + x * step
            var value: Int
            if isWide {
                let word = line.loadUnaligned(fromByteOffset: position, as: UInt16.self)
                value = Int(isBigEndian ? UInt16(bigEndian: word) : UInt16(littleEndian: word))
            } else {
                value = Int(line.load(fromByteOffset: position, as: UInt8.self))
            }
            value = (value >> shift) & maxValue
            body(x, value)
        }
    }
}
