// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy

extension PropertyValidation {
    /// Refuses properties that exclude several temporal levels.
    ///
    /// - Parameter keyFrameInterval: maximum frames from a key frame to the next.
    static func check(
        _ levels: TemporalLevels, keyFrameInterval: Int, _ request: CompressionRequest, _ properties: PropertyStore
    ) throws(SessionError) {
        guard keyFrameInterval >= levels.groupSize else {
            let key: PropertyKey =
                properties.bool(.allowTemporalCompression) == false
                ? .allowTemporalCompression : .maxKeyFrameInterval
            throw contradict(
                key, "key frames are of the lowest temporal level, which has every \(levels.groupSize)th frame"
            )
        }
        // With VA-API the session chooses references in any order; x265 derives levels from its reordering only.
        guard properties.backend == .x265 else { return }
        for key in [PropertyKey.realTime, .allowFrameReordering]
        where properties.bool(key) == (key == .realTime) {
            throw contradict(key, "x265 has temporal levels only with frame reordering")
        }
        // The encoder of an alpha layer follows that of the base layer, and each gets half of the delay.
        let minDelay = levels.minDelayOfX265 * (request.hasAlpha ? 2 : 1)
        if let delay = properties.integer(.maxFrameDelayCount), delay < minDelay {
            throw contradict(
                .maxFrameDelayCount, "\(levels.count) temporal levels delay up to \(minDelay) frames in x265")
        }
        let options = try X265Options(parsing: properties.string(.x265Params) ?? "")
        if let option = options.structuralOption {
            throw contradict(.x265Params, "with temporal levels the session sets \(option)")
        }
    }

    /// Checks that `BaseLayerBitRateFraction` has several levels and an average bit rate to divide.
    static func checkShare(_ levels: TemporalLevels, _ properties: PropertyStore) throws(SessionError) {
        guard levels.count > 1 else {
            throw SessionError(
                .parameter,
                "BaseLayerBitRateFraction requires several temporal levels: set BaseLayerFrameRate below "
                    + "ExpectedFrameRate before it or with it")
        }
        guard properties.isSet(.averageBitRate) else {
            throw SessionError(
                .parameter,
                "BaseLayerBitRateFraction requires AverageBitRate: set that before it or with it")
        }
    }

    private static func contradict(_ key: PropertyKey, _ reason: String) -> SessionError {
        SessionError(.parameter, "BaseLayerFrameRate and \(key) contradict each other: \(reason)")
    }
}

extension TemporalLevels {
    /// The minimum `MaxFrameDelayCount` with which x265 can order a whole group.
    ///
    /// The sum of a group's B pictures, a look-ahead of one frame more, the 5 further frames that x265 holds according to
    /// measurements, and the frames held before it.
    var minDelayOfX265: Int { 2 * anchorDistance - 1 + 5 + framesHeld }
}
