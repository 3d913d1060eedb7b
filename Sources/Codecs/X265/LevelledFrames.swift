// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

/// Plans the temporal levels of frames before x265, and writes the levels into x265's pictures.
///
/// Frames of an alpha layer already have the kind and level that the base layer's encoder chose, and are not delayed.
final class LevelledFrames {
    /// Takes a frame and x265's value (`X265_TYPE_…`) for the kind of its picture.
    typealias Submit = (InputPicture, Int32) throws(SessionError) -> Void

    private var planner: LevelPlanner
    /// Whether the kinds of all frames are required, or only of those where x265's pattern would not produce them.
    private let requiresAllKinds: Bool
    private var relabeller: TemporalRelabeller
    private let copies: WaitingFrames
    private var share: BaseLevelShare?
    /// The level whose pictures x265 wrote as references although no picture refers to them; nil for none.
    private let unreferencedLevel: Int?
    private var planned: [LevelPlanner.Frame] = []
    private var nextFrame = 0
    /// Levels of the frames inside x265, by frame ID.
    private var levels: [UInt64: Int] = [:]
    /// The last access unit; its memory is reused.
    private var sample: [UInt8] = []

    /// - Parameters:
    ///   - parameterSets: x265's, as NAL units.
    ///   - isOrdered: whether a `FrameOrder` orders the frames, for which all B pictures are references.
    ///   - build: X265_BUILD of the libx265 that codes.
    init(
        _ configuration: EncoderConfiguration, parameterSets: [[UInt8]], isOrdered: Bool, build: Int
    ) throws(SessionError) {
        requiresAllKinds = X265Library.plansBeforeRequests(build: build)
        unreferencedLevel = isOrdered ? configuration.temporalLevels.count - 1 : nil
        planner = LevelPlanner(
            configuration.temporalLevels, keyFrameInterval: configuration.maxKeyFrameInterval ?? 0,
            isOpenGOP: configuration.allowOpenGOP)
        copies = WaitingFrames(configuration.request)
        share = configuration.baseLevelFraction.map {
            BaseLevelShare(
                fraction: $0, baseFrameRate: configuration.temporalLevels.frameRate(through: 0).value)
        }
        do throws(BitstreamError) {
            relabeller = try TemporalRelabeller(
                parameterSets: parameterSets, refersOnlyToNearest: configuration.temporalLevels.depthOfBase == 0)
        } catch {
            throw SessionError(.videoEncoderMalfunction, "x265's parameter sets cannot be read: \(error.reason)")
        }
    }

    /// Adds a frame and submits those that are planned by now, in presentation order.
    func add(_ input: InputPicture, _ submit: Submit) throws(SessionError) {
        let number = nextFrame
        nextFrame += 1
        planner.add(forceKeyFrame: input.forceKeyFrame, to: &planned)
        // A frame that is planned at once is the last of them, and need not be copied.
        if planned.last?.number != number { copies.keep(input, as: number) }
        try submitPlanned(submit, current: (number, input))
    }

    /// Notes the level that another encoder chose for a frame, before the frame is submitted.
    func note(_ level: Int, of frameID: UInt64) { levels[frameID] = level }

    /// The QP offset of a frame that is about to be submitted; nil where bits are not divided by levels.
    func quantOffset(of frameID: UInt64) -> Double? { share?.offset(of: frameID, level: levels[frameID] ?? 0) }

    /// Submits the frames that still wait.
    func finish(_ submit: Submit) throws(SessionError) {
        planner.finish(into: &planned)
        try submitPlanned(submit, current: nil)
    }

    private func submitPlanned(
        _ submit: Submit, current: (number: Int, picture: InputPicture)?
    ) throws(SessionError) {
        let frames = planned
        planned.removeAll(keepingCapacity: true)
        for frame in frames {
            let type = frame.isRegular && !requiresAllKinds ? X265_TYPE_AUTO : frame.kind.x265Type
            if let current, current.number == frame.number {
                levels[current.picture.frameID] = frame.level
                try submit(current.picture, type)
            } else {
                try copies.take(frame.number) { (picture) throws(SessionError) in
                    levels[picture.frameID] = frame.level
                    try submit(picture, type)
                }
            }
        }
    }

    /// Writes a coded picture's level into its NAL units and emits it.
    func relabel(
        _ picture: EncodedPicture, _ bytes: UnsafeRawBufferPointer, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        guard let level = levels.removeValue(forKey: picture.frameID) else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned a frame that it was not given")
        }
        var picture = picture
        sample.removeAll(keepingCapacity: true)
        do throws(BitstreamError) {
            let type = try relabeller.relabel(Array(bytes)[...], temporalID: level, into: &sample)
            picture.nalUnitType = type.rawValue
            if level == unreferencedLevel { picture.nalUnitType = markUnreferenced() ?? type.rawValue }
        } catch {
            throw SessionError(
                .videoEncoderMalfunction,
                "x265's picture \(picture.frameID) cannot have temporal level \(level): \(error.reason)")
        }
        picture.temporalLevel = UInt8(level)
        share?.record(picture.frameID, level: level, bits: 8 * sample.count)
        let unit = sample
        try handler(picture, unit.span.bytes)
    }

    /// Gives the slices of `sample` the type of a picture that no picture of its sub-layer refers to (H.265 7.4.2.2).
    ///
    /// - Returns: the type; nil where they have it already.
    private func markUnreferenced() -> UInt8? {
        var (place, result) = (0, nil as UInt8?)
        while place + 4 < sample.count {
            let length = sample[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            place += 4
            // The type is in bits 1 to 6 of the first byte; sub-layer reference pictures have the odd ones of 0 to 9.
            let type = sample[place] >> 1 & 63
            if type <= 9, type & 1 == 1 {
                sample[place] -= 2
                result = type - 1
            }
            place += length
        }
        return result
    }
}
