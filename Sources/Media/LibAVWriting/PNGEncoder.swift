// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDHEIF
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWImages

/// Encodes pictures as PNG, 4:2:0 ones after conversion to RGB: 8 bits per sample, or 16 for pictures with more than 8.
///
/// A picture of Y'CbCr with alpha becomes RGBA in the description's `wantedAlphaMode`; PNG defines alpha to be straight.
/// The alpha of a picture of RGB is left out.
final class PNGEncoder {
    let description: FrameWriter.Description
    private var scaler: OpaquePointer?
    private let codec: CodecContext
    /// The picture as it is stored, and as it is shown: the same unless an orientation turns it.
    private let stored: ScratchFrame
    private let frame: ScratchFrame
    private let pixelBytes: Int
    private var packet: UnsafeMutablePointer<AVPacket>?

    init(_ description: FrameWriter.Description) throws(MediaError) {
        self.description = description
        let target: AVPixelFormat
        (target, pixelBytes) =
            description.format == .yuva
            ? (AV_PIX_FMT_RGBA, 4)
            : description.format.bitDepth > 8 ? (AV_PIX_FMT_RGB48BE, 6) : (AV_PIX_FMT_RGB24, 3)
        let (width, height) = (Int32(description.width), Int32(description.height))
        guard let encoder = avcodec_find_encoder(AV_CODEC_ID_PNG) else {
            throw MediaError(.unsupported, "this libavcodec has no PNG encoder")
        }
        guard let codec = CodecContext(encoder) else { throw MediaError(.io, "out of memory for a PNG encoder") }
        self.codec = codec
        let crop = description.crop
        let shown =
            crop.map { (width: $0.width, height: $0.height) }
            ?? description.orientation.shown(width: description.width, height: description.height)
        guard let stored = ScratchFrame(target, width: description.width, height: description.height),
            let turned = shown == (description.width, description.height) && description.orientation == .init()
                ? stored : ScratchFrame(target, width: shown.width, height: shown.height)
        else { throw MediaError(.io, "out of memory for a picture of \(width)x\(height)") }
        (self.stored, frame) = (stored, turned)
        // Every property has a value from here on, so that deinit frees these where init throws.
        packet = av_packet_alloc()
        scaler = sws_getContext(
            width, height, SampleFormats.libAV(description.format), width, height, target,
            Int32(SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT), nil, nil, nil)
        guard packet != nil, let scaler else {
            throw MediaError(.io, "out of memory for a picture of \(width)x\(height)")
        }
        Self.setColors(scaler, description)
        if description.format.isRGB {
            // What a color conversion for PNG writes: libavcodec declares it in the file.
            frame.pointer.pointee.color_primaries = AVCOL_PRI_BT709
            frame.pointer.pointee.color_trc = AVCOL_TRC_IEC61966_2_1
        }
        Self.add(description.profile, to: frame)
        Self.configure(codec, target, width: shown.width, height: shown.height)
        guard codec.open(encoder) >= 0 else {
            throw MediaError(.unsupported, "pictures of \(width)x\(height) cannot be written as PNG")
        }
    }

    private static func setColors(_ scaler: OpaquePointer, _ description: FrameWriter.Description) {
        guard description.format.isYCbCr else { return }
        // swscale numbers its tables by matrix_coefficients (swscale.h SWS_CS_*).
        let matrix = description.color.conversionMatrix(height: description.height)
        let (table, rgb) = (sws_getCoefficients(Int32(matrix)), sws_getCoefficients(SWS_CS_DEFAULT))
        let one: Int32 = 1 << 16
        _ = sws_setColorspaceDetails(
            scaler, table, description.color.isFullRange ? 1 : 0, rgb, 1, 0, one, one)
    }

    deinit {
        sws_freeContext(scaler)
        av_packet_free(&packet)
    }

    /// Encodes a picture of RGB with alpha as a PNG file.
    ///
    /// - Parameters:
    ///   - bits: of a sample, 8 or 16.
    ///   - hasAlpha: whether the file has the alpha of the samples.
    static func encode(
        _ canvas: RGBCanvas, bits: Int, hasAlpha: Bool, profile: [UInt8]?
    ) throws(MediaError) -> [UInt8] {
        let (wide, components) = (bits > 8, hasAlpha ? 4 : 3)
        let format =
            hasAlpha
            ? wide ? AV_PIX_FMT_RGBA64BE : AV_PIX_FMT_RGBA : wide ? AV_PIX_FMT_RGB48BE : AV_PIX_FMT_RGB24
        let failure = MediaError(
            .unsupported, "pictures of \(canvas.width)x\(canvas.height) cannot be written as PNG")
        guard let encoder = avcodec_find_encoder(AV_CODEC_ID_PNG), let codec = CodecContext(encoder),
            let frame = ScratchFrame(format, width: canvas.width, height: canvas.height),
            let plane = frame.planes.first
        else { throw failure }
        let samples = canvas.samples
        for row in 0..<canvas.height {
            let line = plane.base + row * plane.stride
            for column in 0..<canvas.width {
                for component in 0..<components {
                    let value = samples[4 * (row * canvas.width + column) + component]
                    let place = column * components + component
                    if wide {
                        line.storeBytes(of: value.bigEndian, toByteOffset: 2 * place, as: UInt16.self)
                    } else {
                        let code = UInt8((Int(value) * 255 + 32767) / 65535)
                        line.storeBytes(of: code, toByteOffset: place, as: UInt8.self)
                    }
                }
            }
        }
        add(profile, to: frame)
        configure(codec, format, width: canvas.width, height: canvas.height)
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard codec.open(encoder) >= 0, let packet, avcodec_send_frame(codec.pointer, frame.pointer) >= 0,
            avcodec_receive_packet(codec.pointer, packet) >= 0
        else { throw failure }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    private static func add(_ profile: [UInt8]?, to frame: ScratchFrame) {
        guard let profile,
            let data = av_frame_new_side_data(frame.pointer, AV_FRAME_DATA_ICC_PROFILE, profile.count)
        else { return }
        UnsafeMutableRawPointer(data.pointee.data).copyMemory(from: profile, byteCount: profile.count)
    }

    private static func configure(_ codec: CodecContext, _ format: AVPixelFormat, width: Int, height: Int) {
        codec.pointer.pointee.width = Int32(width)
        codec.pointer.pointee.height = Int32(height)
        codec.pointer.pointee.pix_fmt = format
        codec.pointer.pointee.time_base = AVRational(num: 1, den: 25)
    }

    /// Encodes a picture as a PNG file.
    func encode(_ picture: PictureView) throws(MediaError) -> [UInt8] {
        guard let packet, av_frame_make_writable(stored.pointer) >= 0, av_frame_make_writable(frame.pointer) >= 0
        else { throw MediaError(.io, "out of memory for a picture") }
        var sources: [UnsafePointer<UInt8>?] = []
        var strides: [Int32] = []
        for number in 0..<4 {
            let plane = number < picture.format.planeCount ? picture.plane(number) : nil
            sources.append(plane?.base.assumingMemoryBound(to: UInt8.self))
            strides.append(Int32(plane?.stride ?? 0))
        }
        let targets: [UnsafeMutablePointer<UInt8>?] = [stored.pointer.pointee.data.0, nil, nil, nil]
        let rows = sws_scale(
            scaler, sources, strides, 0, Int32(picture.part.height), targets,
            [stored.pointer.pointee.linesize.0, 0, 0, 0])
        changeAlphaMode()
        turn()
        guard rows == Int32(picture.part.height), avcodec_send_frame(codec.pointer, frame.pointer) >= 0,
            avcodec_receive_packet(codec.pointer, packet) >= 0
        else { throw MediaError(.io, "a picture cannot be written as PNG") }
        defer { av_packet_unref(packet) }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    /// Writes the picture as it is shown, or its part.
    private func turn() {
        let (from, to) = (stored.pointer.pointee, frame.pointer.pointee)
        guard stored !== frame, let read = from.data.0, let written = to.data.0 else { return }
        if let crop = description.crop {
            for row in 0..<crop.height {
                UnsafeMutableRawPointer(written + row * Int(to.linesize.0)).copyMemory(
                    from: read + (crop.y + row) * Int(from.linesize.0) + crop.x * pixelBytes,
                    byteCount: crop.width * pixelBytes)
            }
            return
        }
        description.orientation.copy(
            PictureOrientation.Pixels(base: read, stride: Int(from.linesize.0)),
            to: PictureOrientation.Pixels(base: written, stride: Int(to.linesize.0)), width: description.width,
            height: description.height, pixelBytes: pixelBytes)
    }

    /// Divides or multiplies colors by alpha where the picture's mode differs from `wantedAlphaMode`.
    private func changeAlphaMode() {
        guard description.format == .yuva, let mode = description.alphaMode, mode != description.wantedAlphaMode,
            let start = stored.pointer.pointee.data.0
        else { return }
        for line in 0..<description.height {
            let row = start + line * Int(stored.pointer.pointee.linesize.0)
            for x in 0..<description.width {
                let pixel = row + 4 * x
                let alpha = Int(pixel[3])
                for component in 0..<3 {
                    let value = Int(pixel[component])
                    // The color of a transparent premultiplied sample is lost.
                    pixel[component] =
                        description.wantedAlphaMode == .premultiplied
                        ? UInt8((value * alpha + 127) / 255)
                        : alpha == 0 ? 0 : UInt8(min(255, (value * 255 + alpha / 2) / alpha))
                }
            }
        }
    }
}
