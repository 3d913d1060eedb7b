// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

/// A driver's open encoder: takes pictures and returns their coded buffers, both in coding order.
final class EncodingContext {
    let display: Display
    private(set) var settings: EncoderSettings
    private let context: Context
    private var keyFrame: KeyFrameBuffers?
    private var idle: [PictureSlot] = []
    private var busy: [PictureSlot] = []
    /// Reconstructions of reference pictures, by PicOrderCntVal.
    private var references: [Int: VASurfaceID] = [:]
    /// Whether the next picture carries the rate to the driver.
    private var mustSendRate = false
    /// Whether the driver's QP bounds are still those of a single picture's BaseFrameQP.
    private var holdsFrameQP = false

    /// Nanoseconds that a picture may take before the driver counts as hung.
    private let timeout: UInt64

    /// The numbers of pictures that surfaces and buffers are allocated for.
    struct Capacity {
        /// Frames that may wait to be submitted.
        var frames: Int
        /// Reference pictures, at most.
        var references: Int
        /// Pictures that may be in flight.
        var slots: Int
    }

    /// - Parameter timeout: seconds that a picture may take.
    init(
        _ display: Display, path: HardwarePath, _ settings: EncoderSettings, _ capacity: Capacity, timeout: Double
    ) throws(VAError) {
        self.timeout = UInt64(max(timeout, 0) * 1e9)
        self.display = display
        self.settings = settings
        context = try Self.open(display, path, settings, capacity)
        keyFrame = try KeyFrameBuffers(display, context.id, settings)
        for _ in 0..<capacity.slots {
            idle.append(try PictureSlot(display, context.id, settings))
        }
    }

    deinit {
        // The driver may still use what is about to be destroyed.
        for slot in busy { try? wait(for: slot) }
        // Drivers look up a buffer's context when the buffer is destroyed, so buffers go first.
        busy = []
        idle = []
        keyFrame = nil
    }

    /// Applies settings of `EncoderSettings.changed` from the next picture on; no picture may be in flight.
    func change(to settings: EncoderSettings) throws(VAError) {
        precondition(busy.isEmpty, "the driver may still use the buffers that are replaced")
        keyFrame = try KeyFrameBuffers(display, context.id, settings)
        self.settings = settings
        mustSendRate = true
    }

    /// Surfaces that frames are written to before they are submitted.
    var sources: SurfacePool { context.sources }

    /// Pictures that were submitted and not received.
    var picturesInFlight: Int { busy.count }

    /// Submits a picture to the driver; there must be an idle slot.
    ///
    /// - Parameters:
    ///   - source: its frame's surface, which is returned to `sources` when the picture is received.
    ///   - frameQP: the frame's BaseFrameQP.
    func submit(_ picture: PlannedPicture, source: VASurfaceID, frameQP: Int?) throws(SessionError) {
        guard let slot = idle.popLast(), let surface = context.reconstructions.take() else {
            throw SessionError(.videoEncoderMalfunction, "more pictures are in flight than there are buffers for")
        }
        (slot.planned, slot.source, slot.reconstruction) = (picture, source, surface)
        // A driver that ignores a picture's QP bounds may apply them later, when its rate control is reset.
        let frameQP = settings.frameQPNotice == nil ? frameQP : nil
        do throws(VAError) {
            try render(picture, slot, header: header(picture, frameQP: frameQP), frameQP: frameQP)
        } catch { throw SessionError(error) }
        busy.append(slot)

        let kept = Set(picture.kept)
        for (poc, id) in references where !kept.contains(poc) {
            context.reconstructions.put(id)
            references[poc] = nil
        }
        if picture.isReference { references[picture.poc] = surface }
    }

    /// Waits for the oldest picture in flight; its coded bytes are valid during the call of `body`.
    func receive(
        _ body: (PlannedPicture, borrowing CodedOutput) throws(SessionError) -> Void
    ) throws(SessionError) {
        guard !busy.isEmpty else { return }
        let slot = busy.removeFirst()
        guard let picture = slot.planned else { return }
        do throws(VAError) {
            try wait(for: slot)
        } catch { throw SessionError(error) }
        context.sources.put(slot.source)
        if !picture.isReference { context.reconstructions.put(slot.reconstruction) }
        let output = try CodedOutput(
            slot.coded, capacity: PictureSlot.codedSize(settings), hasStatus: settings.hasCodedStatus)
        try body(picture, output)
        output.end()
        slot.planned = nil
        idle.append(slot)
    }

    private func header(_ picture: PlannedPicture, frameQP: Int?) -> SliceSegmentHeader {
        settings.syntax.sliceHeader(of: picture, qp: settings.rate.qp(of: picture, base: frameQP))
    }

    /// Renders a picture's buffers in the order sequence, picture, miscellaneous parameters, packed headers, slice.
    ///
    /// Drivers parse one buffer after the other: Intel's and Mesa's overwrite rates and the decoder's buffer with a
    /// sequence's defaults, and Intel's clears the QP bounds with each picture.
    private func render(
        _ picture: PlannedPicture, _ slot: PictureSlot, header: SliceSegmentHeader, frameQP: Int?
    ) throws(VAError) {
        let kept = picture.kept.compactMap { poc in reference(poc, of: picture) }
        try slot.picture.write(
            VAEncPictureParameterBufferHEVC(
                picture, settings, surface: slot.reconstruction, references: kept, coded: slot.coded.id))
        try slot.slice.write(
            VAEncSliceParameterBufferHEVC(
                header, settings, list0: picture.list0.compactMap { reference($0, of: picture) },
                list1: picture.list1.compactMap { reference($0, of: picture) }))

        var ids: [VABufferID] = []
        if picture.isKeyFrame, let keyFrame { ids.append(keyFrame.parameters) }
        ids.append(slot.picture.id)
        ids += try miscellaneous(picture, slot, frameQP: frameQP)
        if picture.isKeyFrame { ids += keyFrame?.headers ?? [] }
        try packSliceHeader(header, slot)
        ids += slot.sliceHeader?.ids ?? []
        ids.append(slot.slice.id)

        try display.check(vaBeginPicture(display.handle, context.id, slot.source), "vaBeginPicture")
        let status = vaRenderPicture(display.handle, context.id, &ids, Int32(ids.count))
        // vaBeginPicture must be followed by vaEndPicture, even after an error.
        let ended = vaEndPicture(display.handle, context.id)
        try display.check(status, "vaRenderPicture")
        try display.check(ended, "vaEndPicture")
    }

    /// The miscellaneous parameters of a picture: whole with a key frame or a changed rate, and rate control with its
    /// buffer where the bounds of a single picture begin or end.
    private func miscellaneous(
        _ picture: PlannedPicture, _ slot: PictureSlot, frameQP: Int?
    ) throws(VAError) -> [VABufferID] {
        var ids: [VABufferID] = []
        let isWhole = picture.isKeyFrame || mustSendRate
        let boundsQP = !settings.rate.isConstantQP && frameQP != nil
        if !settings.rate.isConstantQP, isWhole || boundsQP || holdsFrameQP {
            try slot.rateControl.write(VAEncMiscParameterRateControl(settings.rate, frameQP: frameQP))
            ids.append(slot.rateControl.id)
            // Mesa derives a buffer from each rate.
            if let buffer = keyFrame?.decoderBuffer { ids.insert(buffer, at: settings.sendsBufferFirst ? 0 : 1) }
            holdsFrameQP = boundsQP
        }
        if isWhole { ids += keyFrame?.others ?? [] }
        mustSendRate = false
        return ids
    }

    /// A reference picture, with its part in the reference picture set of `picture`.
    private func reference(_ poc: Int, of picture: PlannedPicture) -> VAPictureHEVC? {
        guard let surface = references[poc] else { return nil }
        var flags: Int32 = 0
        if picture.list0.contains(poc) || picture.list1.contains(poc) {
            flags = poc < picture.poc ? VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE : VA_PICTURE_HEVC_RPS_ST_CURR_AFTER
        }
        return VAPictureHEVC(surface, poc: poc, flags: flags)
    }

    private func packSliceHeader(_ header: SliceSegmentHeader, _ slot: PictureSlot) throws(VAError) {
        guard settings.packedHeaders & UInt32(VA_ENC_PACKED_HEADER_SLICE) != 0 else { return }
        let unit: [UInt8]
        do throws(BitstreamError) {
            unit = try settings.syntax.nalUnitStart(header)
        } catch {
            throw VAError(VA_STATUS_ERROR_INVALID_PARAMETER, "a slice header", message: error.reason)
        }
        // The slot was idle, so the driver has finished with its last header.
        if let last = slot.sliceHeader, try last.replace(nalUnit: unit) { return }
        slot.sliceHeader = try PackedHeader(display, context.id, VAEncPackedHeaderSlice, nalUnit: unit)
    }

    private func wait(for slot: PictureSlot) throws(VAError) {
        var status = vaSyncBuffer(display.handle, slot.coded.id, timeout)
        if status == VA_STATUS_ERROR_UNIMPLEMENTED {
            status = vaSyncSurface2(display.handle, slot.source, timeout)
        }
        // Older drivers can only wait without a timeout; the worker's watchdog bounds that.
        if status == VA_STATUS_ERROR_UNIMPLEMENTED { status = vaSyncSurface(display.handle, slot.source) }
        try display.check(status, "the wait for a picture")
    }
}

extension SessionError {
    /// A call to libva that failed in an open encoder.
    init(_ error: VAError) { self.init(.videoEncoderMalfunction, error.description) }
}
