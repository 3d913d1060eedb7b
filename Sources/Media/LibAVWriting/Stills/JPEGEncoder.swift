// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDLibAVReading
package import HWDMetadata
package import HWDModel
package import HWImages

/// Writes pictures as JPEG files for sharing: 8 bits, the matrix of BT.601 at full range (JFIF), with Exif and an ICC profile.
public enum JPEGEncoder {
    /// What is written beside the samples.
    public struct Metadata: Sendable {
        /// A TIFF structure; nil without Exif.
        public var exif: [UInt8]?
        /// An ICC profile; nil without one.
        public var profile: [UInt8]?

        public init(exif: [UInt8]? = nil, profile: [UInt8]? = nil) { (self.exif, self.profile) = (exif, profile) }
    }

    /// The most bytes of a segment's contents: its length has 16 bits.
    private static let maxSegment = 65_533
    /// The samples of JFIF: BT.601 at full range.
    package static let jfif = ColorDescription(matrix: 6, isFullRange: true, chromaLocation: 1)
    /// libavcodec's scale of quantizers, 2…31; 2 is the best.
    private static let quantizer: Int32 = 2

    /// Whether Exif fits a file: it has one segment.
    public static func holds(exif: [UInt8]) -> Bool { exif.count + 6 <= maxSegment }

    /// Encodes a picture of Y'CbCr.
    ///
    /// - Parameter color: the matrix and range of its samples.
    /// - Throws: `unsupported` where libavcodec lacks JPEG, or for pictures that are too large for it.
    package static func encode(
        _ canvas: StillCanvas, color: ColorDescription, _ metadata: Metadata
    ) throws(MediaError) -> [UInt8] {
        let failure = MediaError(
            .unsupported, "a picture of \(canvas.width)x\(canvas.height) cannot be written as JPEG")
        guard let encoder = avcodec_find_encoder(AV_CODEC_ID_MJPEG), let codec = CodecContext(encoder),
            let frame = ScratchFrame(AV_PIX_FMT_YUVJ420P, width: canvas.width, height: canvas.height)
        else { throw failure }
        let context = codec.pointer
        context.pointee.width = Int32(canvas.width)
        context.pointee.height = Int32(canvas.height)
        context.pointee.pix_fmt = AV_PIX_FMT_YUVJ420P
        context.pointee.color_range = AVCOL_RANGE_JPEG
        context.pointee.time_base = AVRational(num: 1, den: 25)
        context.pointee.flags |= AV_CODEC_FLAG_QSCALE | Int32(bitPattern: UInt32(AV_CODEC_FLAG_BITEXACT))
        context.pointee.global_quality = quantizer * FF_QP2LAMBDA
        frame.pointer.pointee.quality = quantizer * FF_QP2LAMBDA
        frame.pointer.pointee.color_range = AVCOL_RANGE_JPEG
        canvas.convert(color, to: frame.planes, jfif)
        guard codec.open(encoder) >= 0, let packet = av_packet_alloc() else {
            throw failure
        }
        defer {
            var owned: UnsafeMutablePointer<AVPacket>? = packet
            av_packet_free(&owned)
        }
        guard avcodec_send_frame(context, frame.pointer) >= 0, avcodec_receive_packet(context, packet) >= 0,
            let data = packet.pointee.data
        else { throw failure }
        let file = Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
        return insert(segments(metadata), into: file)
    }

    /// APP1 with Exif (Exif 2.32 4.7.2), then APP2 with parts of the profile (ICC.1 B.4).
    private static func segments(_ metadata: Metadata) -> [UInt8] {
        var bytes: [UInt8] = []
        func append(_ marker: UInt8, _ contents: [UInt8]) {
            let length = contents.count + 2
            bytes += [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)] + contents
        }
        if let exif = metadata.exif, holds(exif: exif) { append(0xE1, Array("Exif".utf8) + [0, 0] + exif) }
        if let profile = metadata.profile, !profile.isEmpty {
            let head = Array("ICC_PROFILE".utf8) + [0]
            let most = maxSegment - head.count - 2
            let count = (profile.count + most - 1) / most
            guard count <= 255 else { return bytes }
            for part in 0..<count {
                let piece = profile[part * most..<min((part + 1) * most, profile.count)]
                append(0xE2, head + [UInt8(part + 1), UInt8(count)] + piece)
            }
        }
        return bytes
    }

    /// Inserts segments behind the first one, JFIF's.
    private static func insert(_ segments: [UInt8], into file: [UInt8]) -> [UInt8] {
        var place = 2
        if file.count > 6, file[2] == 0xFF, file[3] == 0xE0 { place += 2 + Int(file[4]) << 8 + Int(file[5]) }
        place = min(place, file.count)
        return Array(file[..<place]) + segments + file[place...]
    }
}
