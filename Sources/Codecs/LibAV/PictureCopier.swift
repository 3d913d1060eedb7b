// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDCoding
internal import HWDModel

/// Copies pictures into slots of a session's memory, where the decoder could not write them there.
struct PictureCopier {
    let memory: any PictureMemory
    /// The format to convert to; nil keeps the bit depth.
    let target: PixelFormat?
    /// Whether chroma is interleaved where `target` is nil.
    let isSemiPlanar: Bool

    /// The format of pictures with `bits` bits a sample.
    func format(forDepth bits: Int) -> PixelFormat {
        target ?? (isSemiPlanar ? (bits > 8 ? .p010 : .nv12) : (bits > 8 ? .i010 : .yu12))
    }

    /// Copies or converts a picture in main memory.
    func convert(
        _ frame: UnsafePointer<AVFrame>, isHardware: Bool
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        let format = AVPixelFormat(rawValue: frame.pointee.format)
        guard let source = SampleFormats.native(format) else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "the decoder returned a picture of pixel format \(SampleFormats.name(format))")
        }
        let (left, top) = (Int(frame.pointee.crop_left), Int(frame.pointee.crop_top))
        let (width, height) = (Int(frame.pointee.width) - left, Int(frame.pointee.height) - top)
        guard width > 0, height > 0 else {
            throw SessionError(.videoDecoderMalfunction, "the decoder returned an empty picture")
        }
        let planes = Self.window(frame, source, left: left, top: top)
        guard planes.count >= source.planeCount else {
            throw SessionError(.videoDecoderMalfunction, "the decoder returned a picture without samples")
        }
        let wanted = self.format(forDepth: source.bitDepth)
        let packed = FrameLayout.packed(wanted, width: width, height: height)
        let slot = try memory.slotForCopy(byteCount: packed.size)
        let holder = SlotHolder(memory, slot.id)
        SampleConverter(source: source, target: wanted).convert(
            planes, into: packed.layout.mutablePlanes(at: slot.base), width: width, height: height)
        var picture = OutputPicture(frame, wanted, slot: slot.id, packed.layout.moved(by: slot.poolOffset))
        (picture.width, picture.height) = (width, height)
        picture.bitDepth = source.bitDepth
        picture.isHardware = isHardware
        return (picture, holder)
    }

    /// A frame's planes from the first sample of its display window on.
    ///
    /// Copies of surfaces still contain what the window crops on the left and at the top.
    private static func window(
        _ frame: UnsafePointer<AVFrame>, _ format: PixelFormat, left: Int, top: Int
    ) -> [PlaneView] {
        PlaneView.planes(of: frame).enumerated().map { index, plane in
            let across = index == 0 ? left : format.isSemiPlanar ? left / 2 * 2 : left / 2
            let down = index == 0 ? top : top / 2
            return PlaneView(
                base: plane.base + down * plane.stride + across * format.bytesPerSample, stride: plane.stride)
        }
    }

    /// Copies a surface's samples from the device into a slot: directly, or through other memory where they must be converted
    /// or a window begins inside the surface.
    func download(
        _ frame: UnsafeMutablePointer<AVFrame>
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        if let picture = try downloadDirectly(frame) { return picture }
        guard let owner = FrameOwner() else { throw SessionError(.allocationFailed, "no memory for a picture") }
        let copy = owner.pointer
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

extension PictureCopier {
    /// Copies a surface of CUDA's into a slot; nil where other memory is needed, and for VA-API, whose drivers choose the format.
    private func downloadDirectly(
        _ frame: UnsafeMutablePointer<AVFrame>
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable)? {
        guard frame.pointee.format == AV_PIX_FMT_CUDA.rawValue, frame.pointee.crop_left == 0,
            frame.pointee.crop_top == 0, let data = frame.pointee.hw_frames_ctx?.pointee.data
        else { return nil }
        let samples = UnsafeRawPointer(data).load(as: AVHWFramesContext.self).sw_format
        guard let format = SampleFormats.native(samples), format.isSemiPlanar,
            self.format(forDepth: format.bitDepth) == format
        else { return nil }
        let packed = FrameLayout.packed(
            format, width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        let slot = try memory.slotForCopy(byteCount: packed.size)
        let holder = SlotHolder(memory, slot.id)
        guard let owner = FrameOwner() else { throw SessionError(.allocationFailed, "no memory for a picture") }
        let copy = owner.pointer
        (copy.pointee.format, copy.pointee.width, copy.pointee.height) = (
            samples.rawValue, frame.pointee.width, frame.pointee.height
        )
        // The slot outlives this reference to it.
        copy.pointee.buf.0 = av_buffer_create(
            slot.base.assumingMemoryBound(to: UInt8.self), packed.size, { _, _ in }, nil, 0)
        guard copy.pointee.buf.0 != nil else {
            throw SessionError(.allocationFailed, "no memory for a picture")
        }
        let planes: [(UnsafeMutablePointer<UInt8>?, Int32)] = packed.layout.planes.map { plane in
            ((slot.base + Int(plane.offset)).assumingMemoryBound(to: UInt8.self), Int32(plane.stride))
        }
        (copy.pointee.data.0, copy.pointee.linesize.0) = planes[0]
        (copy.pointee.data.1, copy.pointee.linesize.1) = planes[1]
        let code = av_hwframe_transfer_data(copy, frame, 0)
        guard code >= 0 else {
            throw SessionError(
                .videoDecoderMalfunction, LibAVError("a surface cannot be read back", code).description)
        }
        var picture = OutputPicture(frame, format, slot: slot.id, packed.layout.moved(by: slot.poolOffset))
        picture.isHardware = true
        return (picture, holder)
    }
}

extension OutputPicture {
    /// A decoded frame in a slot, whose display window begins at its first sample; not marked as hardware's.
    init(_ frame: UnsafePointer<AVFrame>, _ format: PixelFormat, slot: Int, _ layout: FrameLayout) {
        let isKeyFrame = clibav_is_key_frame(frame) != 0
        let frame = frame.pointee
        self.init(
            sequence: frame.pts, width: Int(frame.width), height: Int(frame.height),
            format: format, bitDepth: format.bitDepth, color: ColorDescription(frame),
            sampleAspectRatio: Rational(positive: frame.sample_aspect_ratio), isKeyFrame: isKeyFrame,
            isDamaged: frame.decode_error_flags != 0 || frame.flags & AV_FRAME_FLAG_CORRUPT != 0,
            isHardware: false, slot: slot, layout: layout)
    }
}
