// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDHEIF
internal import HWDLibAVWriting
internal import HWDMetadata
package import HWDModel
package import HWImages

/// A copy of a recorded frame, which becomes a still.
package final class CapturedPicture: @unchecked Sendable {
    package let format: PixelFormat
    package let width: Int
    package let height: Int
    /// Bytes of the frame.
    package let size: Int
    /// How its samples are read.
    package let color: ColorDescription
    /// The samples; nothing writes them any more.
    private let memory: UnsafeMutableRawPointer
    private let layout: FrameLayout

    /// Bytes behind the samples, which swscale may read.
    private static let padding = 64

    /// - Parameter frame: a slot with the frame.
    /// - Returns: nil where there is no memory for it.
    package init?(_ frame: UnsafeRawBufferPointer, _ copy: FrameCopy, _ color: ColorDescription) {
        guard let base = frame.baseAddress, let memory = malloc(copy.slotSize + Self.padding) else { return nil }
        memory.copyMemory(from: base, byteCount: copy.slotSize)
        (self.memory, layout, self.color) = (memory, copy.layout, color)
        (format, width, height, size) = (copy.format, copy.width, copy.height, copy.slotSize)
    }

    deinit { free(memory) }

    /// How the samples of a source's frames are read: where it does not say, as those of video.
    package static func color(of captured: CaptureFormat, _ format: PixelFormat) -> ColorDescription {
        guard format.isYCbCr else { return SourceImage.sRGB }
        func code(_ value: Int?, _ usual: UInt8) -> UInt8 {
            guard let code = value.flatMap({ UInt8(exactly: $0) }), code != ColorDescription.unspecified else {
                return usual
            }
            return code
        }
        var color = ColorDescription(
            primaries: code(captured.primaries, 1), transfer: code(captured.transfer, 1),
            matrix: code(captured.matrix, ColorDescription.unspecified), isFullRange: captured.isFullRange)
        color.matrix = color.conversionMatrix(height: captured.height)
        // The same matrix, by the number that readers of HEIF files expect.
        if color.matrix == 5 { color.matrix = 6 }
        return color
    }

    /// The picture as 4:2:0.
    package func pixels() throws(ImageError) -> StillPixels {
        let planes = layout.planes(at: memory)
        guard format.isYCbCr else {
            return StillPixels(
                canvas: try .converting(format, width: width, height: height, planes[0]), color: color)
        }
        return try SourceImage(
            format, width: width, height: height,
            planes: planes.enumerated().map { index, plane in
                UnsafeRawBufferPointer(
                    start: plane.base, count: plane.stride * format.rows(plane: index, height: height))
            }, strides: planes.map(\.stride), color: color
        ).pixels()
    }

    /// A HEIC file, coded in software by a session of background priority: hardware has one queue, which is the recording's.
    func heic(
        _ daemon: Daemon, exif: [UInt8], isCancelled: @escaping () -> Bool
    ) throws -> [UInt8] {
        var sessions = PictureSessions(daemon: { daemon }, isCancelled: isCancelled)
        sessions.properties = [.priority: .string("background")]
        let encoder = StillEncoder(
            sessions, specification: [.enableHardware: .bool(false)],
            properties: [.qp: .int(StillEncoder.quantizer(ImageWriter.Options().quality))])
        var options = StillComposer.Options()
        // One session for a picture of video's size, so that a burst is soon coded.
        if width * height <= Self.singleTile { (options.tile, options.thumbnail) = (0, 0) }
        var composer = StillComposer(encoder, options) { try $0.averaged(width: $1, height: $2) }
        composer.contents.exif = exif
        _ = try composer.add(pixels(), .upright)
        return try composer.contents.bytes(for: "the still")
    }

    /// The most samples of a picture without tiles: those of level 4.1 (H.265 table A.8), to which phones decode.
    private static let singleTile = 2_228_224

    /// A JPEG file.
    package func jpeg(exif: [UInt8]) throws -> [UInt8] {
        guard !color.isHDR else { throw ImageError(.unsupported, "JPEG holds no HDR picture") }
        return try JPEGEncoder.encode(pixels().canvas, color: color, JPEGEncoder.Metadata(exif: exif))
    }

    /// Exif with a time.
    /// - Parameter time: nanoseconds of CLOCK_REALTIME.
    package static func exif(takenAt time: UInt64) -> [UInt8] {
        var (seconds, parts) = (time_t(time / 1_000_000_000), tm())
        localtime_r(&seconds, &parts)
        func text(_ format: String) -> String {
            var bytes = [CChar](repeating: 0, count: 40)
            let length = strftime(&bytes, bytes.count, format, &parts)
            return String(decoding: bytes[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        // ±hhmm, of which Exif wants ±hh:mm.
        let offset = text("%z")
        var editor = ExifEditor()
        // It is far from any limit.
        try? editor.setDateTaken(
            text("%Y:%m:%d %H:%M:%S"), microseconds: Int(time % 1_000_000_000 / 1000),
            offset: "\(offset.prefix(3)):\(offset.suffix(2))")
        return editor.tiff
    }
}
