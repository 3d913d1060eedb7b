// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension PropertyValidation {
    /// What cannot hold together with several temporal levels.
    ///
    /// - Parameter keyFrameInterval: frames from a key frame to the next, at most.
    static func check(
        _ levels: TemporalLevels, keyFrameInterval: Int, _ request: CompressionRequest, _ properties: PropertyStore
    ) throws(SessionError) {
        guard keyFrameInterval >= levels.groupSize else {
            let key: PropertyKey =
                properties.bool(.allowTemporalCompression) == false
                ? .allowTemporalCompression : .maxKeyFrameInterval
            throw contradict(
                key, "a key frame belongs to the lowest temporal level, which has every \(levels.groupSize)th frame"
            )
        }
        // A VA-API driver is told what to refer to, in whatever order; x265 has levels by its order alone.
        guard properties.backend == .x265 else { return }
        for key in [PropertyKey.realTime, .allowFrameReordering]
        where properties.bool(key) == (key == .realTime) {
            throw contradict(key, "x265 has temporal levels only by coding frames in another order than shown")
        }
        // An alpha layer's encoder begins where the base's has ended, and the delay is shared by halves.
        let least = levels.leastDelayOfX265 * (request.hasAlpha ? 2 : 1)
        if let delay = properties.integer(.maxFrameDelayCount), delay < least {
            throw contradict(
                .maxFrameDelayCount, "\(levels.count) temporal levels hold back up to \(least) frames in x265")
        }
        let options = try X265Options(parsing: properties.string(.x265Params) ?? "")
        if let option = options.structuralOption {
            throw contradict(.x265Params, "with temporal levels the session owns \(option)")
        }
    }

    /// What `BaseLayerBitRateFraction` needs: levels to divide bits between, and a rate control that counts them.
    static func checkShare(_ levels: TemporalLevels, _ properties: PropertyStore) throws(SessionError) {
        guard levels.count > 1 else {
            throw SessionError(
                .parameter,
                "BaseLayerBitRateFraction divides bits between temporal levels: set BaseLayerFrameRate below "
                    + "ExpectedFrameRate too, before or with it")
        }
        guard properties.isSet(.averageBitRate) else {
            throw SessionError(
                .parameter,
                "BaseLayerBitRateFraction is a part of AverageBitRate: set that too, before or with it")
        }
    }

    private static func contradict(_ key: PropertyKey, _ reason: String) -> SessionError {
        SessionError(.parameter, "BaseLayerFrameRate and \(key) contradict each other: \(reason)")
    }
}

extension TemporalLevels {
    /// The least `MaxFrameDelayCount` with which x265 can order a whole group.
    ///
    /// A group's B pictures, a look-ahead of one frame more, the 5 frames besides that x265 was measured to hold, and
    /// those that wait in front of it.
    var leastDelayOfX265: Int { 2 * groupSize - 1 + 5 + framesHeld }
}
