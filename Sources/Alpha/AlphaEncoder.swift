// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel
public import HWDSessions

/// Two encoders of one layer each behind the `Encoder` protocol: a stream of a base layer and an alpha layer.
///
/// Both must code the same structure. An encoder that looks ahead decides it by what it sees, so the alpha layer's is
/// not asked: it gets a frame once the base's picture of it came out, and with it what the picture must become. Encoders
/// that plan without looking get both at once. A picture has one temporal level in both layers, told or planned in the
/// same way. Every access unit is checked before it is given out.
public final class AlphaEncoder: Encoder {
    /// A frame whose alpha waits until the base's picture is there.
    private struct Waiting {
        var plane: SamplePlane
        var frameID: UInt64
        var pts: Int64
        var forceKeyFrame: Bool
    }

    /// An access unit of one layer.
    private struct Unit {
        var picture: EncodedPicture
        var bytes: [UInt8]
    }

    private let base: any Encoder
    private let alpha: any Encoder
    private let splitter: any AlphaSplitter
    private let followsBase: Bool
    private var muxer: AlphaLayerMuxer
    private let neutral: SamplePlane
    private let size: (width: Int, height: Int)

    private var waiting: [Waiting] = []
    private var unused: [SamplePlane] = []
    /// What the base made of frames that wait, and at which temporal level, by presentation time.
    private var kinds: [Int64: (kind: PictureKind, level: Int)] = [:]
    private var baseUnits: [Unit] = []
    private var alphaUnits: [Unit] = []
    private var sample: [UInt8] = []
    private var isFinished = false

    /// The hvcC record of the packets to come, with the parameter sets of both layers.
    public let formatDescription: [UInt8]

    /// Joins two open encoders.
    ///
    /// - Parameters:
    ///   - base: takes the colour planes that `splitter` gives.
    ///   - alpha: takes `YU12` frames whose luma is alpha.
    ///   - splitter: takes frames apart.
    ///   - mode: what the stream says of its colours.
    ///   - size: of the frames, in luma samples.
    ///   - followsBase: whether `alpha` must be told what pictures to make, and `base` tells it.
    /// - Throws: `VideoEncoderMalfunction` when their parameter sets cannot be those of one stream.
    public init(
        base: any Encoder, alpha: any Encoder, splitter: any AlphaSplitter, mode: AlphaChannelMode,
        size: (width: Int, height: Int), followsBase: Bool
    ) throws(SessionError) {
        do throws(BitstreamError) {
            muxer = try AlphaLayerMuxer(
                base: try DecoderConfigurationRecord(bytes: base.formatDescription).nalUnits,
                alpha: try DecoderConfigurationRecord(bytes: alpha.formatDescription).nalUnits,
                info: AlphaChannelInfo(alphaChannelUseIdc: mode.useIdc))
            formatDescription = try muxer.record.bytes()
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "the two layers' parameter sets do not go together: \(error.reason)")
        }
        self.base = base
        self.alpha = alpha
        self.splitter = splitter
        self.size = size
        self.followsBase = followsBase
        neutral = SamplePlane(width: (size.width + 1) / 2, height: (size.height + 1) / 2)
        neutral.fill(128)
    }

    /// Takes a frame and gives the pictures that both layers have.
    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        precondition(!isFinished, "encode after finish")
        let plane = unused.popLast() ?? SamplePlane(width: size.width, height: size.height)
        let colour = try splitter.split(picture, alpha: plane)
        waiting.append(
            Waiting(
                plane: plane, frameID: picture.frameID, pts: picture.pts, forceKeyFrame: picture.forceKeyFrame))
        try base.encode(
            InputPicture(
                planes: colour, frameID: picture.frameID, pts: picture.pts, forceKeyFrame: picture.forceKeyFrame,
                baseFrameQP: picture.baseFrameQP)
        ) { (coded, bytes) throws(SessionError) in takeBase(coded, bytes) }
        try feedAlpha()
        try give(handler)
    }

    /// Gives every picture still inside.
    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {
        guard !isFinished else { return }
        isFinished = true
        try base.finish { (coded, bytes) throws(SessionError) in takeBase(coded, bytes) }
        try feedAlpha()
        guard waiting.isEmpty else {
            throw SessionError(.videoEncoderMalfunction, "the base layer lacks \(waiting.count) pictures")
        }
        try alpha.finish { (coded, bytes) throws(SessionError) in takeAlpha(coded, bytes) }
        try give(handler)
        guard baseUnits.isEmpty, alphaUnits.isEmpty else {
            throw SessionError(.videoEncoderMalfunction, "the layers do not have the same number of pictures")
        }
    }

    private func takeBase(_ coded: EncodedPicture, _ bytes: RawSpan) {
        if followsBase { kinds[coded.pts] = coded.kind.map { ($0, Int(coded.temporalLevel)) } }
        baseUnits.append(Unit(picture: coded, bytes: bytes.withUnsafeBytes { Array($0) }))
    }

    private func takeAlpha(_ coded: EncodedPicture, _ bytes: RawSpan) {
        alphaUnits.append(Unit(picture: coded, bytes: bytes.withUnsafeBytes { Array($0) }))
    }

    /// Hands the alpha encoder the frames it may have, in the order they are shown.
    private func feedAlpha() throws(SessionError) {
        while let next = waiting.first {
            var told: (kind: PictureKind, level: Int)?
            if followsBase {
                told = kinds.removeValue(forKey: next.pts)
                if told == nil { return }
            }
            waiting.removeFirst()
            try alpha.encode(
                InputPicture(
                    planes: [next.plane.input, neutral.input, neutral.input], frameID: next.frameID, pts: next.pts,
                    forceKeyFrame: next.forceKeyFrame, baseFrameQP: nil, kind: told?.kind,
                    temporalLevel: told?.level)
            ) { (coded, bytes) throws(SessionError) in takeAlpha(coded, bytes) }
            unused.append(next.plane)
        }
    }

    /// Gives the access units that both layers have.
    private func give(_ handler: EncodedPictureHandler) throws(SessionError) {
        let count = min(baseUnits.count, alphaUnits.count)
        for index in 0..<count {
            let (mine, theirs) = (baseUnits[index], alphaUnits[index])
            guard mine.picture.pts == theirs.picture.pts else {
                throw SessionError(.videoEncoderMalfunction, "the layers' pictures come in different orders")
            }
            sample.removeAll(keepingCapacity: true)
            do throws(BitstreamError) {
                try muxer.merge(base: mine.bytes[...], alpha: theirs.bytes[...], into: &sample)
            } catch {
                throw SessionError(.videoEncoderMalfunction, "the two layers do not go together: \(error.reason)")
            }
            let joined = sample
            try handler(mine.picture, joined.span.bytes)
        }
        baseUnits.removeFirst(count)
        alphaUnits.removeFirst(count)
    }
}
