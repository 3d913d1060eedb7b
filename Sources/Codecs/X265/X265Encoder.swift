// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import Glibc
public import HWDCoding
internal import HWDHEVC
public import HWDModel
internal import HWDPolicy

/// An `Encoder` that uses libx265, for 8 or 10 bits; used from one thread.
public final class X265Encoder: Encoder {
    private let handle: X265Handle
    private let source: PictureSource
    /// Nil where the stream has one temporal level.
    private let levelled: LevelledFrames?
    /// Nil where x265 orders pictures itself.
    private let order: (any FrameOrder)?
    private let offsets: QuantOffsets?
    /// Nil where pictures have no pic_timing messages, or x265 writes them.
    private var timing: PictureTiming?
    public var decodeTimes: DecodeTimes
    /// x265's parameter sets, as it writes them; the format description has them.
    private let parameterSets: Set<[UInt8]>
    private var isFinished = false
    /// What x265's PSNR is relative to: 255 at every bit depth, scaled as samples are (x265 3.5, Encoder::finishFrameStats);
    /// nil where none is measured.
    private let peak: Double?

    /// The hvcC record of the packets to come.
    public let formatDescription: [UInt8]

    public private(set) var notes: [String] = []

    /// Both are complete when it is open.
    public var descriptionVersion: Int { 0 }

    /// libx265 takes no frames after a flush.
    public var continuesAfterFinish: Bool { false }

    /// Opens an encoder, which takes milliseconds at 1080p and memory for a dozen pictures.
    ///
    /// - Parameter statistics: of two passes, for the configuration's pass; nil codes the frames once.
    /// - Throws: `Parameter` when x265 refuses the size or an option, `CouldNotFindVideoEncoder` when libx265
    ///   was built without the bit depth, `VideoEncoderMalfunction` when its parameter sets cannot be read.
    public convenience init(
        _ configuration: EncoderConfiguration, statistics: X265Statistics? = nil
    ) throws(SessionError) {
        try self.init(configuration, role: .alone, statistics: statistics)
    }

    /// Opens the encoder of an alpha layer; each picture is coded with its frame's `kind`.
    ///
    /// Frames are `YU12` with alpha as luma and neutral chroma.
    /// - Parameters:
    ///   - configuration: `EncoderConfiguration.alphaLayer` of the session's.
    ///   - base: the base layer's encoder, opened by `init(leadingAlpha:)`.
    /// - Throws: as `init(_:)`.
    public convenience init(
        alpha configuration: EncoderConfiguration, following base: X265Encoder
    ) throws(SessionError) {
        var layer = configuration
        if case .quality(let quality) = layer.rateControl {
            layer.rateControl = .constantQP(X265Role.alphaQP(quality: quality))
        }
        try self.init(layer, role: .follower(try base.structure()))
    }

    /// Opens the encoder of a base layer whose structure an alpha layer follows.
    ///
    /// - Throws: as `init(_:)`.
    public convenience init(leadingAlpha configuration: EncoderConfiguration) throws(SessionError) {
        try self.init(configuration, role: .leader)
    }

    init(
        _ configuration: EncoderConfiguration, role: X265Role, statistics: X265Statistics? = nil,
        build: Int = X265Library.build
    ) throws(SessionError) {
        let depth = configuration.profile.bitDepth
        guard let api = hwd_x265_api(Int32(depth)) else {
            throw SessionError(.couldNotFindVideoEncoder, "this libx265 cannot write \(depth)-bit HEVC")
        }
        let parameters = try X265Parameters(api: api, configuration, role: role, build: build)
        handle = try X265Handle(api, parameters, configuration, statistics)
        source = PictureSource(configuration.request)
        peak = configuration.measuresError ? Double(255 << (depth - 8)) : nil
        timing = PictureTiming(configuration)

        var groups: (ordering: [SubLayerOrdering], tier: ProfileTierLevel)?
        if let structure = parameters.groups.structure {
            groups = (structure.ordering, try Self.tier(api: api, configuration))
            order = try structure.start(handle, configuration)
        } else {
            order = nil
        }
        let units = try handle.headers()
        let headers = try StreamHeaders.describe(units, configuration, groups: groups)
        formatDescription = headers.record
        parameterSets = Set(units.filter { (try? NALUnitHeader(nal: $0))?.nalUnitType.isParameterSet ?? false })
        let hasLevels = configuration.temporalLevels.count > 1
        levelled =
            hasLevels
            ? try LevelledFrames(configuration, parameterSets: units, isOrdered: groups != nil, build: build) : nil
        offsets = configuration.baseLevelFraction.map { _ in QuantOffsets(PaddedSize(configuration.request)) }
        decodeTimes = DecodeTimes(reorderDepth: headers.reorderDepth, configuration)
        try noteReferences(configuration)
        if case .refused(let reason) = parameters.groups { notes.append(reason) }
    }

    /// Profile, tier and level of a stream of x265's own groups, whose decoder needs as many pictures as that of a
    /// `GroupStructure`, which x265 declares to have no profile.
    private static func tier(
        api: UnsafePointer<x265_api>, _ configuration: EncoderConfiguration
    ) throws(SessionError) -> ProfileTierLevel {
        let parameters = try X265Parameters(api: api, configuration, build: nil)
        parameters.pointer.pointee.frameNumThreads = 1
        return try StreamHeaders.tier(try X265Handle(api, parameters, configuration).headers())
    }

    /// x265 lowers the number of references to what a level allows.
    private func noteReferences(_ configuration: EncoderConfiguration) throws(SessionError) {
        guard let count = configuration.referenceCount else { return }
        let used = Int(try handle.parameters().maxNumReferences)
        if used < count { notes.append("ReferenceBufferCount \(count): x265 uses \(used)") }
    }

    /// Always false: `x265_encoder_reconfig` of x265 3.5 reports success and changes the rate in none of its modes.
    public func change(to configuration: EncoderConfiguration) -> Bool { false }

    /// Encodes a frame and emits the pictures that are ready.
    public func encode(_ input: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        precondition(!isFinished, "encode after finish")
        decodeTimes.frameIn(pts: input.pts)
        guard let levelled else {
            return try submit(input, input.forceKeyFrame ? X265_TYPE_IDR : X265_TYPE_AUTO, handler)
        }
        if let level = input.temporalLevel {
            levelled.note(level, of: input.frameID)
            return try submit(input, X265_TYPE_AUTO, handler)
        }
        guard let order else {
            return try levelled.add(input) { (frame, type) throws(SessionError) in
                try submit(frame, type, handler)
            }
        }
        try order.add(input) { (frame, member) throws(SessionError) in
            try submit(frame, member, levelled, handler)
        }
    }

    private func submit(
        _ input: InputPicture, _ member: GroupMember, _ levelled: LevelledFrames, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        levelled.note(member.level, of: input.frameID)
        let picture = fill(input)
        picture.pointee.sliceType = member.kind.x265Type
        member.fill(picture)
        _ = try step(picture, handler)
    }

    /// The picture that the next call reads, pointed at a frame.
    private func fill(_ input: InputPicture) -> UnsafeMutablePointer<x265_picture> {
        let picture = handle.picture
        source.fill(picture, from: input)
        picture.pointee.pts = input.pts
        picture.pointee.userData = UnsafeMutableRawPointer(bitPattern: UInt(input.frameID))
        // x265_picture.forceqp is QP + 1; 0 leaves the QP to rate control.
        picture.pointee.forceqp = input.baseFrameQP.map { Int32($0 + 1) } ?? 0
        return picture
    }

    /// - Parameter type: x265's value (`X265_TYPE_…`), where the frame itself requires no kind.
    private func submit(
        _ input: InputPicture, _ type: Int32, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        let picture = fill(input)
        picture.pointee.sliceType = input.kind?.x265Type ?? type
        // An explicit BaseFrameQP is absolute; the level's offset must not shift it.
        if let offset = levelled?.quantOffset(of: input.frameID) {
            offsets?.set(input.baseFrameQP == nil ? offset : 0, of: picture)
        }
        _ = try step(picture, handler)
    }

    /// Emits every picture still inside.
    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {
        guard !isFinished else { return }
        isFinished = true
        if let order, let levelled {
            try order.finish { (frame, member) throws(SessionError) in
                try submit(frame, member, levelled, handler)
            }
        } else {
            try levelled?.finish { (frame, type) throws(SessionError) in try submit(frame, type, handler) }
        }
        while try step(nil, handler) {}
    }

    /// Whether a required key frame is one that no picture refers across, without leading pictures.
    ///
    /// - Throws: `AllocationFailed` without memory for x265's parameters.
    public func startsSequencesOnRequest() throws(SessionError) -> Bool {
        let parameters = try handle.parameters()
        return parameters.radl == 0 && parameters.bIntraRefresh == 0
    }

    /// The parameters that an alpha layer's encoder must share.
    private func structure() throws(SessionError) -> X265Structure { X265Structure(try handle.parameters()) }

    /// One call into x265; true when a picture came out.
    private func step(
        _ input: UnsafeMutablePointer<x265_picture>?, _ handler: EncodedPictureHandler
    ) throws(SessionError) -> Bool {
        guard let unit = try handle.encode(input, without: parameterSets) else { return false }
        guard let dts = decodeTimes.next() else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned more pictures than it was given")
        }
        let output = handle.output
        let coded = EncodedPicture(
            frameID: UInt64(UInt(bitPattern: output.pointee.userData)), pts: output.pointee.pts, dts: dts,
            nalUnitType: UInt8(unit.slice.type),
            temporalLevel: unit.temporalID,
            kind: PictureKind(x265Type: output.pointee.sliceType),
            meanSquaredError: peak.map { MeanSquaredError(output.pointee.frameData, peak: $0) })
        let bytes = try unit.bytes()
        func emit(_ picture: EncodedPicture, _ bytes: RawSpan) throws(SessionError) {
            guard timing != nil else { return try handler(picture, bytes) }
            try timing?.emit(picture, bytes, handler)
        }
        if let levelled {
            try levelled.relabel(coded, bytes, emit)
        } else {
            try emit(coded, bytes.bytes)
        }
        return true
    }
}

extension MeanSquaredError {
    /// The errors that x265's PSNRs stand for; `peak` is the sample value that they are relative to.
    fileprivate init(_ statistics: x265_frame_stats, peak: Double) {
        // 99.99 is x265's number for identical samples.
        func error(_ decibels: Double) -> Double {
            decibels == 99.99 ? 0 : peak * peak / pow(10, decibels / 10)
        }
        self.init(
            luma: error(statistics.psnrY), chromaBlue: error(statistics.psnrU), chromaRed: error(statistics.psnrV))
    }
}
