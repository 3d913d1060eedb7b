// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDHEVC
public import HWDModel
public import HWDSessions

/// A VA-API driver's HEVC encoder behind the `Encoder` protocol, used from one thread.
public final class VAAPIEncoder: Encoder {
    /// A frame that went in and did not come out.
    private struct Frame {
        var id: UInt64
        var pts: Int64
        var surface: VASurfaceID
        var qp: Int?
        /// What keeps the surface alive where it is no copy.
        var imported: ImportedSurface?
    }

    private let context: EncodingContext
    private let writer: SurfaceWriter
    private let parameterSets: [[UInt8]]
    private var planner: StructurePlanner
    private var decodeTimes: DecodeTimes
    private var queue: [PlannedPicture] = []
    /// By their numbers in the order they came in.
    private var frames: [Int: Frame] = [:]
    private var nextFrame = 0
    private var reader = AccessUnitReader()
    private var isFinished = false

    /// The hvcC record of the packets to come.
    public let formatDescription: [UInt8]

    /// What the driver does not do exactly as the session asked, a sentence each.
    public let notes: [String]

    /// Whether slices have the headers that this module wrote, and not some of the driver's own.
    public var writesSliceHeaders: Bool { context.settings.packedHeaders & UInt32(VA_ENC_PACKED_HEADER_SLICE) != 0 }

    /// What the driver calls itself.
    public let driver: String

    /// Opens an encoder on a render node.
    ///
    /// The parameter sets of the stream are the driver's, so a grey picture is coded first, in a context of its own:
    /// afterwards the format description is known, and that the driver works at this size.
    ///
    /// - Parameters:
    ///   - file: descriptor of the opened render node, kept open by the caller for the encoder's life.
    ///   - timeout: seconds a picture may take before the driver counts as hung.
    /// - Throws: why it does not open, and whether it may later.
    public init(
        node file: Int32, path: HardwarePath, _ configuration: EncoderConfiguration, timeout: Double = 4
    ) throws(VAAPIFailure) {
        let opened = try Self.open(file, path, configuration, timeout: timeout)
        context = opened.context
        writer = opened.writer
        parameterSets = opened.parameterSets
        formatDescription = opened.record
        let settings = context.settings
        planner = StructurePlanner(settings.structure)
        let tick = configuration.request.timeBase.value
        decodeTimes = DecodeTimes(
            reorderDepth: settings.structure.reorderDepth,
            nominalDuration: Int64((1 / (configuration.frameRate.value * tick)).rounded()))
        notes = settings.notes
        driver = context.display.vendor
    }

    /// Takes a frame and gives the pictures that are ready.
    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        precondition(!isFinished, "encode after finish")
        guard let surface = context.sources.take() else {
            throw SessionError(.videoEncoderMalfunction, "more frames in the encoder than there are surfaces for")
        }
        do throws(VAError) {
            try writer.write(picture, to: surface)
        } catch { throw SessionError(error) }
        try take(
            Frame(id: picture.frameID, pts: picture.pts, surface: surface, qp: picture.baseFrameQP),
            forceKeyFrame: picture.forceKeyFrame, handler)
    }

    /// Takes a frame in dma-bufs, which must not change until its picture was given, and gives what is ready.
    ///
    /// Nothing is copied, so the frame must have the surfaces' format and the coded size.
    /// - Throws: `Parameter` when the description is wrong or the driver does not take it, else as `encode`.
    public func encode(
        importing description: DMABufFrame, frameID: UInt64, pts: Int64, forceKeyFrame: Bool, baseFrameQP: Int?,
        _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        precondition(!isFinished, "encode after finish")
        let settings = context.settings
        let format: PixelFormat = settings.fourcc == PixelFormat.p010.fourcc ? .p010 : .nv12
        try description.validate(format, width: settings.size.width, height: settings.size.height)
        let imported: ImportedSurface
        do throws(VAError) {
            imported = try ImportedSurface(context.display, rtFormat: settings.rtFormat, description)
        } catch { throw SessionError(.parameter, error.description) }
        try take(
            Frame(id: frameID, pts: pts, surface: imported.id, qp: baseFrameQP, imported: imported),
            forceKeyFrame: forceKeyFrame, handler)
    }

    private func take(
        _ frame: Frame, forceKeyFrame: Bool, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        frames[nextFrame] = frame
        nextFrame += 1
        decodeTimes.frameIn(pts: frame.pts)
        planner.add(forceKeyFrame: forceKeyFrame, to: &queue)
        try submitPlanned(handler)
    }

    /// Gives every picture still inside.
    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {
        guard !isFinished else { return }
        isFinished = true
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
            // The driver works on the next picture while the one before is taken out.
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
        guard let dts = decodeTimes.next() else {
            throw SessionError(.videoEncoderMalfunction, "the driver gave more pictures than it got")
        }
        let coded = EncodedPicture(
            frameID: frame.id, pts: frame.pts, dts: dts, nalUnitType: slice.nalUnitType.rawValue,
            temporalLevel: UInt8(slice.temporalID))
        let sample = reader.sample
        try handler(coded, sample.span.bytes)
    }
}
