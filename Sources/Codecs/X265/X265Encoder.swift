// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import Glibc
public import HWDCoding
internal import HWDHEVC
public import HWDModel
internal import HWDPolicy

/// An `Encoder` that uses libx265, for 8 or 10 bits; used from one thread.
public final class X265Encoder: Encoder {
    private let api: UnsafePointer<x265_api>
    private let encoder: OpaquePointer
    private let picture: UnsafeMutablePointer<x265_picture>
    private let output: UnsafeMutablePointer<x265_picture>
    private let source: PictureSource
    /// Nil where the stream has one temporal level.
    private let levelled: LevelledFrames?
    /// Nil where x265 orders pictures itself.
    private let deep: DeepFrames?
    private let offsets: QuantOffsets?
    /// Nil where pictures have no pic_timing messages, or x265 writes them.
    private var timing: PictureTiming?
    public var decodeTimes: DecodeTimes
    /// x265's parameter sets, as it writes them; the format description has them.
    private let parameterSets: Set<[UInt8]>
    private var isFinished = false
    /// Kept as long as x265 may write to them.
    private let statistics: X265Statistics?
    /// What x265's PSNR is relative to: 255 at every bit depth, scaled as samples are (x265 3.5, Encoder::finishFrameStats);
    /// nil where none is measured.
    private let peak: Double?

    /// The hvcC record of the packets to come.
    public let formatDescription: [UInt8]

    public private(set) var notes: [String] = []

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
        _ configuration: EncoderConfiguration, role: X265Role, statistics: X265Statistics? = nil
    ) throws(SessionError) {
        let depth = configuration.profile.bitDepth
        guard let api = hwd_x265_api(Int32(depth)) else {
            throw SessionError(.couldNotFindVideoEncoder, "this libx265 cannot write \(depth)-bit HEVC")
        }
        let parameters = try X265Parameters(api: api, configuration, role: role)
        self.statistics = statistics
        let encoder = try Self.open(api, parameters, configuration, statistics)
        guard let picture = api.pointee.picture_alloc(), let output = api.pointee.picture_alloc() else {
            api.pointee.encoder_close(encoder)
            throw SessionError(.allocationFailed, "no memory for x265's pictures")
        }
        api.pointee.picture_init(parameters.pointer, picture)
        api.pointee.picture_init(parameters.pointer, output)
        self.api = api
        self.encoder = encoder
        self.picture = picture
        self.output = output
        source = PictureSource(configuration.request)
        peak = configuration.measuresError ? Double(255 << (depth - 8)) : nil
        timing = PictureTiming(configuration)

        do throws(SessionError) {
            let isDeep = parameters.pyramid == .used
            let deepTier = isDeep ? try Self.tier(api: api, configuration) : nil
            deep = isDeep ? try Self.orderFrames(of: encoder, api: api, configuration) : nil
            let units = try Self.headers(api: api, encoder: encoder)
            let headers = try StreamHeaders.describe(units, configuration, deepTier: deepTier)
            formatDescription = headers.record
            parameterSets = Set(units.filter { (try? NALUnitHeader(nal: $0))?.nalUnitType.isParameterSet ?? false })
            let hasLevels = configuration.temporalLevels.count > 1
            levelled = hasLevels ? try LevelledFrames(configuration, parameterSets: units, isDeep: isDeep) : nil
            offsets = configuration.baseLevelFraction.map { _ in QuantOffsets(PaddedSize(configuration.request)) }
            let tick = configuration.request.timeBase.value
            decodeTimes = DecodeTimes(
                reorderDepth: headers.reorderDepth,
                nominalDuration: Int64((1 / (configuration.frameRate.value * tick)).rounded()))
        } catch {
            api.pointee.encoder_close(encoder)
            api.pointee.picture_free(picture)
            api.pointee.picture_free(output)
            throw error
        }
        try noteReferences(configuration)
        if case .refused(let reason) = parameters.pyramid { notes.append(reason) }
    }

    /// Prepares an open encoder for the deep pyramid, before its first frame.
    private static func orderFrames(
        of encoder: OpaquePointer, api: UnsafePointer<x265_api>, _ configuration: EncoderConfiguration
    ) throws(SessionError) -> DeepFrames {
        try DeepPyramid.restrict(encoder, api)
        return DeepFrames(configuration, try readParameters(api, encoder))
    }

    /// Profile, tier and level of a stream of x265's own structure, whose decoder needs as many pictures as the deep
    /// pyramid's, which x265 declares to have no profile.
    private static func tier(
        api: UnsafePointer<x265_api>, _ configuration: EncoderConfiguration
    ) throws(SessionError) -> ProfileTierLevel {
        let parameters = try X265Parameters(api: api, configuration, allowsPyramid: false)
        parameters.pointer.pointee.frameNumThreads = 1
        let encoder = try parameters.openEncoder(configuration)
        defer { api.pointee.encoder_close(encoder) }
        return try StreamHeaders.tier(try headers(api: api, encoder: encoder))
    }

    /// Opens an encoder for a pass over the frames, where there are statistics.
    private static func open(
        _ api: UnsafePointer<x265_api>, _ parameters: X265Parameters, _ configuration: EncoderConfiguration,
        _ statistics: X265Statistics?
    ) throws(SessionError) -> OpaquePointer {
        guard let statistics, let pass = configuration.pass else {
            return try parameters.openEncoder(configuration)
        }
        try parameters.use(statistics, in: pass)
        let encoder = try parameters.openEncoder(configuration)
        guard pass == .final || statistics.isCollecting else {
            api.pointee.encoder_close(encoder)
            throw SessionError(
                .videoEncoderMalfunction, "MultiPassStorage: this libx265 does not write its statistics to memory")
        }
        return encoder
    }

    /// x265 lowers the number of references to what a level allows.
    private func noteReferences(_ configuration: EncoderConfiguration) throws(SessionError) {
        guard let count = configuration.referenceCount else { return }
        let used = Int(try readParameters().maxNumReferences)
        if used < count { notes.append("ReferenceBufferCount \(count): x265 uses \(used)") }
    }

    deinit {
        api.pointee.encoder_close(encoder)
        api.pointee.picture_free(picture)
        api.pointee.picture_free(output)
        // x265's cleanup() frees tables that all encoders of the process share; they are left to the process's end.
    }

    /// Always false: `x265_encoder_reconfig` of x265 3.5 reports success and changes the rate in none of its modes.
    public func change(to configuration: EncoderConfiguration) -> Bool { false }

    /// Encodes a frame and emits the pictures that are ready.
    public func encode(_ input: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        precondition(!isFinished, "encode after finish")
        decodeTimes.frameIn(pts: input.pts)
        guard let levelled else {
            return try submit(input, input.forceKeyFrame ? .keyFrame : .regular, handler)
        }
        if let level = input.temporalLevel {
            levelled.note(level, of: input.frameID)
            return try submit(input, .regular, handler)
        }
        guard let deep else {
            return try levelled.add(input) { (frame, kind) throws(SessionError) in
                try submit(frame, kind, handler)
            }
        }
        try deep.add(input) { (frame, place) throws(SessionError) in
            try submit(frame, place, deep, levelled, handler)
        }
    }

    private func submit(
        _ input: InputPicture, _ place: DeepGroups.Picture, _ deep: DeepFrames, _ levelled: LevelledFrames,
        _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        levelled.note(place.level, of: input.frameID)
        fill(input)
        picture.pointee.sliceType = place.kind.x265Type
        // An explicit BaseFrameQP is absolute.
        deep.fill(picture, place, hasOffsets: input.baseFrameQP == nil)
        _ = try step(picture, handler)
    }

    /// Points `picture` at a frame.
    private func fill(_ input: InputPicture) {
        source.fill(picture, from: input)
        picture.pointee.pts = input.pts
        picture.pointee.userData = UnsafeMutableRawPointer(bitPattern: UInt(input.frameID))
        // x265_picture.forceqp is QP + 1; 0 leaves the QP to rate control.
        picture.pointee.forceqp = input.baseFrameQP.map { Int32($0 + 1) } ?? 0
    }

    private func submit(
        _ input: InputPicture, _ kind: LevelPlanner.Frame.Kind, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        fill(input)
        picture.pointee.sliceType = input.kind?.x265Type ?? kind.x265Type
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
        if let deep, let levelled {
            try deep.finish { (frame, place) throws(SessionError) in
                try submit(frame, place, deep, levelled, handler)
            }
        } else {
            try levelled?.finish { (frame, kind) throws(SessionError) in try submit(frame, kind, handler) }
        }
        while try step(nil, handler) {}
    }

    /// Whether a required key frame is one that no picture refers across, without leading pictures.
    ///
    /// - Throws: `AllocationFailed` without memory for x265's parameters.
    public func startsSequencesOnRequest() throws(SessionError) -> Bool {
        let parameters = try readParameters()
        return parameters.radl == 0 && parameters.bIntraRefresh == 0
    }

    /// The parameters that an alpha layer's encoder must share.
    private func structure() throws(SessionError) -> X265Structure { X265Structure(try readParameters()) }

    /// The parameters that x265 uses, which may differ from those that it was given.
    private func readParameters() throws(SessionError) -> x265_param { try Self.readParameters(api, encoder) }

    private static func readParameters(
        _ api: UnsafePointer<x265_api>, _ encoder: OpaquePointer
    ) throws(SessionError) -> x265_param {
        guard let parameters = api.pointee.param_alloc() else {
            throw SessionError(.allocationFailed, "no memory for x265's parameters")
        }
        defer { api.pointee.param_free(parameters) }
        api.pointee.encoder_parameters(encoder, parameters)
        return parameters.pointee
    }

    /// One call into x265; true when a picture came out.
    private func step(
        _ input: UnsafeMutablePointer<x265_picture>?, _ handler: EncodedPictureHandler
    ) throws(SessionError) -> Bool {
        var nals: UnsafeMutablePointer<x265_nal>?
        var count: UInt32 = 0
        errno = 0
        let result = api.pointee.encoder_encode(encoder, &nals, &count, input, output)
        let isOutOfMemory = errno == ENOMEM
        guard result >= 0 else {
            guard !isOutOfMemory else { throw SessionError(.allocationFailed, "x265 failed while encoding") }
            throw SessionError(.videoEncoderMalfunction, "x265 failed while encoding (\(result))")
        }
        guard result > 0, let nals, count > 0 else { return false }
        // With static HDR metadata x265 repeats its parameter sets in every key frame, which `hvc1` tracks must not have.
        let units = UnsafeBufferPointer(start: nals, count: Int(count)).drop(while: isParameterSet)
        guard let slice = units.first(where: { $0.type < NAL_UNIT_VPS.rawValue }) else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned an access unit without a slice")
        }
        guard let dts = decodeTimes.next() else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned more pictures than it was given")
        }
        let coded = EncodedPicture(
            frameID: UInt64(UInt(bitPattern: output.pointee.userData)), pts: output.pointee.pts, dts: dts,
            nalUnitType: UInt8(slice.type),
            temporalLevel: Self.temporalID(of: slice),
            kind: PictureKind(x265Type: output.pointee.sliceType),
            meanSquaredError: peak.map { MeanSquaredError(output.pointee.frameData, peak: $0) })
        let bytes = try Self.bytes(of: units)
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

    /// Whether a NAL unit is one of the format description's parameter sets.
    private func isParameterSet(_ unit: x265_nal) -> Bool {
        guard [NAL_UNIT_VPS, NAL_UNIT_SPS, NAL_UNIT_PPS].contains(where: { $0.rawValue == unit.type }) else {
            return false
        }
        return parameterSets.contains(Self.contents(of: unit))
    }

    /// A NAL unit without its length.
    private static func contents(of unit: x265_nal) -> [UInt8] {
        Array(UnsafeBufferPointer(start: unit.payload, count: Int(unit.sizeBytes)).dropFirst(lengthBytes))
    }

    /// The bytes of one call's NAL units, which x265 serializes one after the other into one buffer.
    private static func bytes(
        of units: Slice<UnsafeBufferPointer<x265_nal>>
    ) throws(SessionError) -> UnsafeRawBufferPointer {
        guard let start = units.first?.payload else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned a NAL unit without bytes")
        }
        var end = start
        for unit in units {
            guard unit.payload == end else {
                throw SessionError(
                    .videoEncoderMalfunction, "x265 returned NAL units that do not follow one another")
            }
            end += Int(unit.sizeBytes)
        }
        return UnsafeRawBufferPointer(start: start, count: end - start)
    }

    /// TemporalId: nuh_temporal_id_plus1 is the low three bits of the NAL unit header's second byte (H.265 7.3.1.2).
    private static func temporalID(of unit: x265_nal) -> UInt8 {
        let position = lengthBytes + 1
        return unit.sizeBytes > position ? (unit.payload[position] & 7) &- 1 : 0
    }

    /// Bytes of the length before each NAL unit (`bAnnexB` is 0).
    private static let lengthBytes = 4

    /// The parameter sets and SEI messages of an open encoder, as NAL units.
    private static func headers(
        api: UnsafePointer<x265_api>, encoder: OpaquePointer
    ) throws(SessionError) -> [[UInt8]] {
        var nals: UnsafeMutablePointer<x265_nal>?
        var count: UInt32 = 0
        guard api.pointee.encoder_headers(encoder, &nals, &count) > 0, let nals else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned no parameter sets")
        }
        return UnsafeBufferPointer(start: nals, count: Int(count)).map(contents)
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

extension LevelPlanner.Frame.Kind {
    /// x265's value (`X265_TYPE_…`) for a frame whose kind the planner chose.
    fileprivate var x265Type: Int32 {
        switch self {
        case .regular: X265_TYPE_AUTO
        case .between: X265_TYPE_B
        case .anchor: X265_TYPE_P
        case .keyFrame: X265_TYPE_IDR
        }
    }
}
