// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDModel

/// The color that a PNG file states by its chunk `cICP` (PNG 3rd edition 11.3.2.6), which libavcodec 5.1 does not read.
///
/// It goes before an ICC profile and `sRGB`.
struct PNGColor: Equatable {
    private let primaries: UInt8
    private let transfer: UInt8

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
            if type.elementsEqual("cICP".utf8), length == 4, bytes[place + 10] == 0 {
                (primaries, transfer) = (bytes[place + 8], bytes[place + 9])
                return
            }
            place += length + 12
        }
        return nil
    }

    /// Describes a decoded picture, whose ICC profile no longer counts.
    func write(to frame: UnsafeMutablePointer<AVFrame>) {
        frame.pointee.color_primaries = AVColorPrimaries(rawValue: UInt32(primaries))
        frame.pointee.color_trc = AVColorTransferCharacteristic(rawValue: UInt32(transfer))
        av_frame_remove_side_data(frame, AV_FRAME_DATA_ICC_PROFILE)
    }
}
