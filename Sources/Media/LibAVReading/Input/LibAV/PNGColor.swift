// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDModel

/// The color that a PNG file states by its chunk `cICP` (PNG 3rd edition 11.3.2.6), which libavcodec 5.1 does not read.
///
/// It goes before an ICC profile and `sRGB`.
struct PNGColor: Equatable {
    private let primaries: UInt8
    private let transfer: UInt8
    private let isFullRange: Bool

    /// The color of the file that a packet holds; nil where it states none.
    init?(_ packet: AVPacket) {
        guard let data = packet.data, packet.size > 0 else { return nil }
        self.init(UnsafeRawBufferPointer(start: data, count: Int(packet.size)))
    }

    /// The color of a file by its first bytes; nil where it states none.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var place = 8
        while place + 16 <= bytes.count {
            let length = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
            let type = bytes[place + 4..<place + 8]
            if type.elementsEqual("IDAT".utf8) { return nil }
            // Code points of H.273, the matrix of RGB, and the range.
            if type.elementsEqual("cICP".utf8), length == 4, bytes[place + 10] == 0, bytes[place + 11] <= 1 {
                (primaries, transfer) = (bytes[place + 8], bytes[place + 9])
                isFullRange = bytes[place + 11] == 1
                return
            }
            place += length + 12
        }
        return nil
    }

    /// Describes a decoded picture, whose ICC profile no longer counts; samples of narrow range get the full one.
    func write(to frame: UnsafeMutablePointer<AVFrame>) {
        frame.pointee.color_primaries = AVColorPrimaries(rawValue: UInt32(primaries))
        frame.pointee.color_trc = AVColorTransferCharacteristic(rawValue: UInt32(transfer))
        av_frame_remove_side_data(frame, AV_FRAME_DATA_ICC_PROFILE)
        if !isFullRange { Self.expand(frame) }
    }

    /// Expands R, G and B, or gray, of 8 or 16 bits from narrow range (H.273 8.3): libswscale takes RGB to be full.
    private static func expand(_ frame: UnsafeMutablePointer<AVFrame>) {
        let format = AVPixelFormat(rawValue: frame.pointee.format)
        guard let descriptor = av_pix_fmt_desc_get(format)?.pointee, av_frame_make_writable(frame) >= 0 else {
            return
        }
        func has(_ flag: Int32) -> Bool { descriptor.flags & UInt64(flag) != 0 }
        if has(AV_PIX_FMT_FLAG_PAL) {
            // 256 colors of 32 bits in native order, alpha highest.
            guard let palette = frame.pointee.data.1 else { return }
            for index in 0..<1024 where index % 4 != 3 { palette[index] = UInt8(full(Int(palette[index]), 8)) }
            return
        }
        let (depth, step) = (Int(descriptor.comp.0.depth), Int(descriptor.comp.0.step))
        guard depth == 8 || depth == 16, let base = frame.pointee.data.0, !has(AV_PIX_FMT_FLAG_PLANAR) else {
            return
        }
        let table = (0..<1 << depth).map { UInt16(full($0, depth)) }
        let colors = Int(descriptor.nb_components) - (has(AV_PIX_FMT_FLAG_ALPHA) ? 1 : 0)
        for row in 0..<Int(frame.pointee.height) {
            let line = UnsafeMutableRawPointer(base + row * Int(frame.pointee.linesize.0))
            for column in 0..<Int(frame.pointee.width) {
                let sample = line + column * step
                for color in 0..<colors {
                    if depth == 8 {
                        let value = sample.load(fromByteOffset: color, as: UInt8.self)
                        sample.storeBytes(of: UInt8(table[Int(value)]), toByteOffset: color, as: UInt8.self)
                    } else {
                        let value = UInt16(bigEndian: sample.load(fromByteOffset: 2 * color, as: UInt16.self))
                        sample.storeBytes(
                            of: table[Int(value)].bigEndian, toByteOffset: 2 * color, as: UInt16.self)
                    }
                }
            }
        }
    }

    /// A sample of narrow range at full range.
    private static func full(_ value: Int, _ depth: Int) -> Int {
        let (black, span, most) = (16 << (depth - 8), 219 << (depth - 8), (1 << depth) - 1)
        return min(max(((value - black) * most + span / 2) / span, 0), most)
    }
}
