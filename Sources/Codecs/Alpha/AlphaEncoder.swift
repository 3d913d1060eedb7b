// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDCoding
internal import HWDHEVC
public import HWDModel

/// An `Encoder` of streams with a base layer and an alpha layer, made of one encoder for each.
///
/// Both must code the same structure. An encoder that looks ahead derives it from the content, so the alpha layer's
/// encoder receives each frame only after the base layer's picture, together with that picture's kind and temporal
/// level. Encoders whose structure does not depend on content receive a frame's color and alpha at once. Every access
/// unit is checked before it is emitted.
///
/// Flat alpha needs no encoder (`FlatAlphaPlan`): its pictures are written with the base layer's structure.
public final class AlphaEncoder: Encoder {
    /// A frame whose alpha waits for the base layer's picture.
    private struct Waiting {
        var plane: SamplePlane
        /// The frame as the alpha layer's encoder gets it, except that its planes are set only then.
        var picture: InputPicture
    }

    /// An access unit of one layer.
    private struct Unit {
        var picture: EncodedPicture
        var bytes: [UInt8]
    }

    private let base: any Encoder
    private let openAlpha: () throws(SessionError) -> any Encoder
    /// Nil while alpha is flat, if the previous encoder takes no frames after `finish`.
    private var alpha: (any Encoder)?
    private var alphaHasFrames = false
    private let alphaDescription: [UInt8]
    private let splitter: any AlphaSplitter
    private let followsBase: Bool
    private var muxer: AlphaLayerMuxer
    private let neutral: SamplePlane
    private let size: (width: Int, height: Int)

    private var waiting: [Waiting] = []
    private var unused: [SamplePlane] = []
    /// Kind and temporal level of the base layer's pictures whose alpha waits, by presentation time.
    private var kinds: [Int64: (kind: PictureKind, level: Int)] = [:]
    private var baseUnits: [Unit] = []
    private var alphaUnits: [Unit] = []
    private var plan = FlatAlphaPlan()
    private let writesFlatAlpha: Bool
    /// The alpha of flat frames whose base layer's picture was not emitted, by presentation time.
    private var flatValues: [Int64: UInt8] = [:]
    private var sample: [UInt8] = []
    private var isFinished = false

    /// The hvcC record of the packets to come, with the parameter sets of both layers.
    public let formatDescription: [UInt8]

    /// The format of each layer's frames.
    public static let layerFormat = PixelFormat.yu12

    /// The base layer's; the alpha layer has no properties of its own but its quality.
    public var notes: [String] { base.notes }

    public var descriptionVersion: Int { base.descriptionVersion }

    /// The base layer's.
    public var decodeTimes: DecodeTimes {
        get { base.decodeTimes }
        set { base.decodeTimes = newValue }
    }

    public let continuesAfterFinish: Bool

    /// Joins two open encoders.
    ///
    /// - Parameters:
    ///   - base: takes the color planes that `splitter` returns.
    ///   - alpha: opens the encoder of `YU12` frames whose luma is alpha; evaluated again where alpha stops being flat, if
    ///     the previous encoder takes no frames after `finish`.
    ///   - splitter: separates alpha from color.
    ///   - mode: the alpha mode that the stream declares.
    ///   - size: of the frames, in luma samples.
    ///   - followsBase: whether `alpha` needs the kinds of pictures that `base` chose.
    ///   - writesFlatAlpha: whether flat alpha is written without `alpha`; requires that key frames which `base` is asked
    ///     for have no leading pictures.
    /// - Throws: `VideoEncoderMalfunction` when the parameter sets cannot be combined.
    public init(
        base: any Encoder, alpha open: @autoclosure @escaping () throws(SessionError) -> any Encoder,
        splitter: any AlphaSplitter, mode: AlphaChannelMode, size: (width: Int, height: Int), followsBase: Bool,
        writesFlatAlpha: Bool = true
    ) throws(SessionError) {
        let alpha = try open()
        do throws(BitstreamError) {
            muxer = try AlphaLayerMuxer(
                base: try DecoderConfigurationRecord(bytes: base.formatDescription).nalUnits,
                alpha: try DecoderConfigurationRecord(bytes: alpha.formatDescription).nalUnits,
                info: AlphaChannelInfo(alphaChannelUseIdc: mode.useIdc))
            formatDescription = try muxer.record.bytes()
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "the parameter sets of the two layers cannot be combined: \(error.reason)"
            )
        }
        self.base = base
        self.alpha = alpha
        openAlpha = open
        alphaDescription = alpha.formatDescription
        continuesAfterFinish = base.continuesAfterFinish && alpha.continuesAfterFinish
        self.writesFlatAlpha = writesFlatAlpha && muxer.canWriteFlatAlpha
        self.splitter = splitter
        self.size = size
        self.followsBase = followsBase
        neutral = SamplePlane(width: (size.width + 1) / 2, height: (size.height + 1) / 2)
        neutral.fill(128)
    }

    public func change(to configuration: EncoderConfiguration) throws(SessionError) -> Bool {
        guard try base.change(to: configuration.baseLayer(Self.layerFormat)) else { return false }
        return try alpha?.change(to: configuration.alphaLayer(Self.layerFormat)) ?? false
    }

    /// Encodes a frame and emits the pictures that both layers have.
    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        precondition(!isFinished, "encode after finish")
        let plane = unused.popLast() ?? SamplePlane(width: size.width, height: size.height)
        let color = try splitter.split(picture, alpha: plane)
        let isKeyFrame = plan.add(
            value: writesFlatAlpha ? plane.flatValue : nil, forceKeyFrame: picture.forceKeyFrame)
        var layer = picture
        (layer.planes, layer.forceKeyFrame, layer.alphaMode) = (color, isKeyFrame, nil)
        var alpha = layer
        (alpha.planes, alpha.baseFrameQP) = ([], nil)
        waiting.append(Waiting(plane: plane, picture: alpha))
        try base.encode(layer) { (coded, bytes) throws(SessionError) in takeBase(coded, bytes) }
        try feedAlpha()
        try emit(handler)
    }

    /// Emits every picture still inside.
    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {
        guard !isFinished else { return }
        isFinished = !continuesAfterFinish
        try base.finish { (coded, bytes) throws(SessionError) in takeBase(coded, bytes) }
        try feedAlpha()
        guard waiting.isEmpty else {
            throw SessionError(
                .videoEncoderMalfunction, "the base layer's encoder dropped \(waiting.count) pictures")
        }
        try finishAlpha()
        try emit(handler)
        guard baseUnits.isEmpty, alphaUnits.isEmpty, flatValues.isEmpty else {
            throw SessionError(.videoEncoderMalfunction, "the two layers have different numbers of pictures")
        }
    }

    private func takeBase(_ coded: EncodedPicture, _ bytes: RawSpan) {
        if followsBase { kinds[coded.pts] = coded.kind.map { ($0, Int(coded.temporalLevel)) } }
        baseUnits.append(Unit(picture: coded, bytes: bytes.withUnsafeBytes { Array($0) }))
    }

    private func takeAlpha(_ coded: EncodedPicture, _ bytes: RawSpan) {
        alphaUnits.append(Unit(picture: coded, bytes: bytes.withUnsafeBytes { Array($0) }))
    }

    /// Submits the alpha of frames that need not wait, in presentation order.
    private func feedAlpha() throws(SessionError) {
        while var next = waiting.first {
            if followsBase {
                guard let base = kinds.removeValue(forKey: next.picture.pts) else { return }
                (next.picture.kind, next.picture.temporalLevel) = (base.kind, base.level)
            }
            waiting.removeFirst()
            switch plan.next(isIDR: next.picture.kind == .idr) {
            case .flat(let value):
                try finishAlpha()
                flatValues[next.picture.pts] = value
            case .encoded:
                next.picture.planes = [next.plane.input, neutral.input, neutral.input]
                try currentAlpha().encode(next.picture) { (coded, bytes) throws(SessionError) in
                    takeAlpha(coded, bytes)
                }
            }
            unused.append(next.plane)
        }
    }

    /// The alpha layer's encoder; another one after a flush, if the last takes no more frames.
    private func currentAlpha() throws(SessionError) -> any Encoder {
        alphaHasFrames = true
        if let alpha { return alpha }
        let opened = try openAlpha()
        guard opened.formatDescription == alphaDescription else {
            throw SessionError(.videoEncoderMalfunction, "the alpha layer's parameter sets changed in the stream")
        }
        alpha = opened
        return opened
    }

    /// Takes the pictures that the alpha layer's encoder still has, where alpha becomes flat.
    private func finishAlpha() throws(SessionError) {
        guard alphaHasFrames, let encoder = alpha else { return }
        alphaHasFrames = false
        try encoder.finish { (coded, bytes) throws(SessionError) in takeAlpha(coded, bytes) }
        if !encoder.continuesAfterFinish { alpha = nil }
    }

    /// Emits the access units that both layers have.
    private func emit(_ handler: EncodedPictureHandler) throws(SessionError) {
        while let base = baseUnits.first {
            let flat = flatValues.removeValue(forKey: base.picture.pts)
            if flat == nil, alphaUnits.isEmpty || waiting.contains(where: { $0.picture.pts == base.picture.pts }) {
                return
            }
            sample.removeAll(keepingCapacity: true)
            try join(base, flat)
            baseUnits.removeFirst()
            let joined = sample
            try handler(base.picture, joined.span.bytes)
        }
    }

    /// Appends an access unit to `sample`, with flat alpha or the next picture of the alpha layer's encoder.
    private func join(_ base: Unit, _ flat: UInt8?) throws(SessionError) {
        do throws(BitstreamError) {
            if let flat { return try muxer.merge(base: base.bytes[...], flat: flat, into: &sample) }
            let alpha = alphaUnits.removeFirst()
            guard base.picture.pts == alpha.picture.pts else {
                throw BitstreamError(.malformed, "they code pictures in different orders")
            }
            try muxer.merge(base: base.bytes[...], alpha: alpha.bytes[...], into: &sample)
        } catch {
            throw SessionError(.videoEncoderMalfunction, "the two layers cannot be merged: \(error.reason)")
        }
    }
}
