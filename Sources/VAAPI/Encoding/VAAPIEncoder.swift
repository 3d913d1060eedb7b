// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
public import HWDCoding
internal import HWDHEVC
public import HWDModel
internal import HWDPolicy

/// A VA-API driver's HEVC encoder behind the `Encoder` protocol, used from one thread.
public final class VAAPIEncoder: Encoder {
    /// A frame whose picture was not emitted yet.
    private struct Frame {
        var id: UInt64
        var pts: Int64
        var surface: VASurfaceID
        var qp: Int?
        /// Owner of a surface that is not of the encoder's pool.
        var imported: ImportedSurface?
    }

    private let context: EncodingContext
    private let writer: SurfaceWriter
    private let parameterSets: [[UInt8]]
    private var planner: StructurePlanner
    public var decodeTimes: DecodeTimes
    private var queue: [PlannedPicture] = []
    /// Frames by their number in presentation order.
    private var frames: [Int: Frame] = [:]
    private var nextFrame = 0
    private var reader = AccessUnitReader()

    /// The hvcC record of the packets to come.
    public let formatDescription: [UInt8]

    /// A sentence for each deviation of the driver from the session's request.
    public private(set) var notes: [String] { didSet { descriptionVersion += 1 } }

    public private(set) var descriptionVersion = 0

    /// What the driver can do on the encoder's path.
    public let limits: DriverLimits

    public var continuesAfterFinish: Bool { true }

    /// Whether slices have this module's headers and not the driver's.
    public var writesSliceHeaders: Bool { context.settings.packedHeaders & UInt32(VA_ENC_PACKED_HEADER_SLICE) != 0 }

    /// The driver's vendor string.
    public let driver: String

    /// Opens an encoder on a render node.
    ///
    /// Drivers write the stream's parameter sets, so a gray picture is coded first, in a separate context. That
    /// provides the format description and shows that the driver works at this size.
    ///
    /// - Parameters:
    ///   - file: descriptor of the render node, which must stay open as long as the encoder.
    ///   - timeout: seconds that a picture may take before the driver counts as hung.
    /// - Throws: why it does not open, and whether another attempt may succeed later.
    public init(
        node file: Int32, path: HardwarePath, _ configuration: EncoderConfiguration, timeout: Double = 4
    ) throws(VAAPIFailure) {
        let opened = try Self.open(file, path, configuration, timeout: timeout)
        limits = opened.limits
        context = opened.context
        writer = opened.writer
        parameterSets = opened.parameterSets
        formatDescription = opened.record
        let settings = context.settings
        planner = StructurePlanner(settings.structure)
        decodeTimes = DecodeTimes(reorderDepth: settings.structure.reorderDepth, configuration)
        notes = settings.notes
        driver = context.display.vendor
    }

    /// Applies the rate, the frame rate and the key frame interval of a configuration; false if it differs otherwise.
    public func change(to configuration: EncoderConfiguration) throws(SessionError) -> Bool {
        guard let requested = try? EncoderSettings(configuration, limits),
            let settings = context.settings.changed(to: requested)
        else { return false }
        do throws(VAError) {
            try context.change(to: settings)
        } catch { throw SessionError(error) }
        planner.change(keyFrameInterval: settings.structure.keyFrameInterval)
        notes = settings.notes
        return true
    }

    /// Encodes a frame and emits the pictures that are ready.
    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        guard let surface = context.sources.take() else {
            throw SessionError(
                .videoEncoderMalfunction, "more frames are in the encoder than there are surfaces for")
        }
        do throws(VAError) {
            try writer.write(picture, to: surface)
        } catch { throw SessionError(error) }
        try add(
            Frame(id: picture.frameID, pts: picture.pts, surface: surface, qp: picture.baseFrameQP),
            forceKeyFrame: picture.forceKeyFrame, handler)
    }

    /// Encodes a frame in dma-bufs and emits the pictures that are ready.
    ///
    /// Nothing is copied, so the memory must not change until the picture is emitted, and the frame must have the
    /// surfaces' format and the coded size.
    ///
    /// - Throws: `Parameter` when the description is wrong or the driver refuses it, else as `encode`.
    public func encode(
        importing description: DMABufFrame, frameID: UInt64, pts: Int64, forceKeyFrame: Bool, baseFrameQP: Int?,
        _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        let settings = context.settings
        let format: PixelFormat = settings.fourcc == PixelFormat.p010.fourcc ? .p010 : .nv12
        try description.validate(format, width: settings.size.width, height: settings.size.height)
        let imported: ImportedSurface
        do throws(VAError) {
            imported = try ImportedSurface(context.display, rtFormat: settings.rtFormat, description)
        } catch { throw SessionError(.parameter, error.description) }
        try add(
            Frame(id: frameID, pts: pts, surface: imported.id, qp: baseFrameQP, imported: imported),
            forceKeyFrame: forceKeyFrame, handler)
    }

    private func add(
        _ frame: Frame, forceKeyFrame: Bool, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        if frame.qp != nil, let notice = context.settings.frameQPNotice, !notes.contains(notice) {
            notes.append(notice)
        }
        frames[nextFrame] = frame
        nextFrame += 1
        decodeTimes.frameIn(pts: frame.pts)
        planner.add(forceKeyFrame: forceKeyFrame, to: &queue)
        try submitPlanned(handler)
    }

    /// Emits every picture still inside; frames may follow.
    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {
        planner.finish(into: &queue)
        try submitPlanned(handler)
        while context.picturesInFlight > 0 { try receive(handler) }
    }

    private func submitPlanned(_ handler: EncodedPictureHandler) throws(SessionError) {
        let planned = queue
        queue.removeAll(keepingCapacity: true)
        for picture in planned {
            guard let frame = frames[picture.frame] else { continue }
            try context.submit(picture, source: frame.surface, frameQP: frame.qp)
            // The driver codes the next picture while the previous one is read.
            if context.picturesInFlight >= context.settings.structure.picturesInFlight { try receive(handler) }
        }
    }

    private func receive(_ handler: EncodedPictureHandler) throws(SessionError) {
        var received: PlannedPicture?
        try context.receive { (picture, output) throws(SessionError) in
            try reader.read(output)
            received = picture
        }
        guard let picture = received, let slice = reader.slice,
            let frame = frames.removeValue(forKey: picture.frame)
        else { return }
        try check(slice, picture)
        guard let dts = decodeTimes.next() else {
            throw SessionError(.videoEncoderMalfunction, "the driver returned more pictures than it was given")
        }
        let coded = EncodedPicture(
            frameID: frame.id, pts: frame.pts, dts: dts, nalUnitType: slice.nalUnitType.rawValue,
            temporalLevel: UInt8(slice.temporalID))
        let sample = reader.sample
        try handler(coded, sample.span.bytes)
    }

    /// Checks that the driver coded what was planned.
    private func check(_ slice: NALUnitHeader, _ picture: PlannedPicture) throws(SessionError) {
        guard slice.nalUnitType.isIRAP == picture.isKeyFrame else {
            throw SessionError(
                .videoEncoderMalfunction,
                "the driver coded a picture of type \(slice.nalUnitType), not \(picture.nalUnitType)")
        }
        guard
            context.settings.structure.temporalLevels == 1
                || (slice.nalUnitType == picture.nalUnitType && slice.temporalID == picture.temporalID)
        else {
            throw SessionError(
                .videoEncoderMalfunction,
                "the driver coded \(slice.nalUnitType) at temporal level \(slice.temporalID), not "
                    + "\(picture.nalUnitType) at \(picture.temporalID)")
        }
        guard reader.parameterSets.allSatisfy(parameterSets.contains) else {
            throw SessionError(.videoEncoderMalfunction, "the driver's parameter sets changed in the stream")
        }
    }
}
