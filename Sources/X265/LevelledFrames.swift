// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
internal import HWDModel
internal import HWDSessions

/// What stands between a session and x265 where the stream has temporal levels: frames go in with what they must be,
/// and pictures come out with the level they have.
///
/// Frames of an alpha layer come with both, as the base layer's encoder settled them, and pass at once.
final class LevelledFrames {
    private var planner: LevelPlanner
    private var relabeller: TemporalRelabeller
    private let copies: FrameCopies
    private var share: BaseLevelShare?
    private var settled: [LevelPlanner.Frame] = []
    private var nextFrame = 0
    /// Levels of the frames inside x265, by the client's numbers.
    private var levels: [UInt64: Int] = [:]
    /// The access unit that came out last; its memory is kept.
    private var sample: [UInt8] = []

    /// - Parameter parameterSets: as x265 gave them.
    init(_ configuration: EncoderConfiguration, parameterSets: [[UInt8]]) throws(SessionError) {
        planner = LevelPlanner(
            configuration.temporalLevels, keyFrameInterval: configuration.maxKeyFrameInterval ?? 0,
            isOpenGOP: configuration.allowOpenGOP)
        copies = FrameCopies(configuration.request)
        share = configuration.baseLevelFraction.map {
            BaseLevelShare(
                fraction: $0, baseFrameRate: configuration.temporalLevels.frameRate(through: 0).value)
        }
        do throws(BitstreamError) {
            relabeller = try TemporalRelabeller(parameterSets: parameterSets)
        } catch {
            throw SessionError(.videoEncoderMalfunction, "x265's parameter sets cannot be read: \(error.reason)")
        }
    }

    /// Takes a frame and hands on those that are settled by it, in the order they came in.
    func add(
        _ input: InputPicture, _ submit: (InputPicture, LevelPlanner.Frame.Kind) throws(SessionError) -> Void
    ) throws(SessionError) {
        let number = nextFrame
        nextFrame += 1
        planner.add(forceKeyFrame: input.forceKeyFrame, to: &settled)
        // The last to be settled is the one that has just come, if it is; then it need not be copied.
        if settled.last?.number != number { copies.keep(input, as: number) }
        try handOn(submit, current: (number, input))
    }

    /// Takes down the level of a frame that another encoder has settled, and that goes to x265 next.
    func note(_ level: Int, of frameID: UInt64) { levels[frameID] = level }

    /// The offset to quantise a frame with that goes to x265 now; nil where bits are not divided by levels.
    func quantOffset(of frameID: UInt64) -> Double? { share?.offset(of: frameID, level: levels[frameID] ?? 0) }

    /// Hands on the frames that wait.
    func finish(
        _ submit: (InputPicture, LevelPlanner.Frame.Kind) throws(SessionError) -> Void
    ) throws(SessionError) {
        planner.finish(into: &settled)
        try handOn(submit, current: nil)
    }

    private func handOn(
        _ submit: (InputPicture, LevelPlanner.Frame.Kind) throws(SessionError) -> Void,
        current: (number: Int, picture: InputPicture)?
    ) throws(SessionError) {
        let frames = settled
        settled.removeAll(keepingCapacity: true)
        for frame in frames {
            if let current, current.number == frame.number {
                levels[current.picture.frameID] = frame.level
                try submit(current.picture, frame.kind)
            } else {
                try copies.take(frame.number) { (picture) throws(SessionError) in
                    levels[picture.frameID] = frame.level
                    try submit(picture, frame.kind)
                }
            }
        }
    }

    /// Gives a coded picture its level and hands it on.
    func relabel(
        _ picture: EncodedPicture, _ bytes: UnsafeRawBufferPointer, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        guard let level = levels.removeValue(forKey: picture.frameID) else {
            throw SessionError(.videoEncoderMalfunction, "x265 gave a frame that it did not get")
        }
        var picture = picture
        sample.removeAll(keepingCapacity: true)
        do throws(BitstreamError) {
            let type = try relabeller.relabel(Array(bytes)[...], temporalID: level, into: &sample)
            picture.nalUnitType = type.rawValue
        } catch {
            throw SessionError(
                .videoEncoderMalfunction,
                "x265's picture \(picture.frameID) does not fit temporal level \(level): \(error.reason)")
        }
        picture.temporalLevel = UInt8(level)
        share?.record(picture.frameID, level: level, bits: 8 * sample.count)
        let unit = sample
        try handler(picture, unit.span.bytes)
    }
}
