// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDModel
internal import HWDSessions

/// Brings pictures that a decoder could not write where they belong into slots of a session's memory.
struct PictureCopier {
    let memory: any PictureMemory
    /// The layout to bring them to; nil leaves them their depth.
    let target: PixelFormat?
    /// Whether chroma is interleaved where `target` does not say.
    let isSemiPlanar: Bool

    /// The layout that pictures of so many bits a sample are brought to.
    func format(ofDepth bits: Int) -> PixelFormat {
        target ?? (isSemiPlanar ? (bits > 8 ? .p010 : .nv12) : (bits > 8 ? .i010 : .yu12))
    }

    /// What is told of a frame; its display window begins at its first sample.
    static func describe(
        _ frame: AVFrame, _ format: PixelFormat, _ slot: Int, _ layout: FrameLayout, _ isHardware: Bool,
        width: Int? = nil, height: Int? = nil, bitDepth: Int? = nil
    ) -> OutputPicture {
        OutputPicture(
            sequence: frame.pts, width: width ?? Int(frame.width), height: height ?? Int(frame.height),
            format: format, bitDepth: bitDepth ?? format.bitDepth, color: ColorDescription(frame),
            sampleAspectRatio: Rational(positive: frame.sample_aspect_ratio), isKeyFrame: frame.key_frame != 0,
            isDamaged: frame.decode_error_flags != 0 || frame.flags & AV_FRAME_FLAG_CORRUPT != 0,
            isHardware: isHardware, slot: slot, layout: layout)
    }

    /// Copies or converts a picture in main memory.
    func convert(
        _ frame: UnsafePointer<AVFrame>, isHardware: Bool
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        let format = AVPixelFormat(rawValue: frame.pointee.format)
        guard let source = SampleFormats.native(format) else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "the decoder gave pictures of pixel format \(SampleFormats.name(format))")
        }
        // What a surface's window cuts off on the left and at the top is still there.
        let left = Int(frame.pointee.crop_left)
        let top = Int(frame.pointee.crop_top)
        let (width, height) = (Int(frame.pointee.width) - left, Int(frame.pointee.height) - top)
        guard width > 0, height > 0 else {
            throw SessionError(.videoDecoderMalfunction, "the decoder gave an empty picture")
        }
        let wanted = self.format(ofDepth: source.bitDepth)
        let packed = FrameLayout.packed(wanted, width: width, height: height)
        let slot = try memory.slotForCopy(byteCount: packed.size)
        let holder = SlotHolder(memory, slot.id)
        let pointers = [frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2]
        let strides = [frame.pointee.linesize.0, frame.pointee.linesize.1, frame.pointee.linesize.2]
        var from = SampleConverter.Planes(data: [], strides: [])
        for plane in 0..<source.planeCount {
            guard let data = pointers[plane] else {
                throw SessionError(.videoDecoderMalfunction, "the decoder gave a picture without samples")
            }
            let across = plane == 0 ? left : source.isSemiPlanar ? left / 2 * 2 : left / 2
            let down = plane == 0 ? top : top / 2
            from.data.append(
                UnsafeMutableRawPointer(data) + down * Int(strides[plane]) + across * source.bytesPerSample)
            from.strides.append(Int(strides[plane]))
        }
        let planes = SampleConverter.Planes(
            data: packed.layout.planes.map { slot.base + Int($0.offset) },
            strides: packed.layout.planes.map { Int($0.stride) })
        SampleConverter(source: source, target: wanted).copy(from, to: planes, width: width, height: height)
        let layout = FrameLayout(
            planes: packed.layout.planes.map { .init(offset: $0.offset + slot.poolOffset, stride: $0.stride) })
        let picture = Self.describe(
            frame.pointee, wanted, slot.id, layout, isHardware, width: width, height: height,
            bitDepth: source.bitDepth)
        return (picture, holder)
    }

    /// Copies a surface's samples out of the device, and on into a slot.
    func download(
        _ frame: UnsafeMutablePointer<AVFrame>
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        var copy = av_frame_alloc()
        defer { av_frame_free(&copy) }
        guard let copy else { throw SessionError(.allocationFailed, "no memory for a picture") }
        let code = av_hwframe_transfer_data(copy, frame, 0)
        guard code >= 0 else {
            throw SessionError(
                .videoDecoderMalfunction, LibAVError("a surface cannot be read back", code).description)
        }
        guard av_frame_copy_props(copy, frame) >= 0 else {
            throw SessionError(.allocationFailed, "no memory for a picture")
        }
        (copy.pointee.crop_left, copy.pointee.crop_top) = (frame.pointee.crop_left, frame.pointee.crop_top)
        copy.pointee.width = min(copy.pointee.width, frame.pointee.width)
        copy.pointee.height = min(copy.pointee.height, frame.pointee.height)
        return try convert(copy, isHardware: true)
    }
}
