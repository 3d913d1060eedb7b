// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Refuses contradicting properties, naming them; none is resolved by a guess.
public enum PropertyValidation {
    /// Checks the properties of a compression session.
    ///
    /// - Throws: `Parameter` when they contradict each other or the request; the reason names them.
    public static func check(request: CompressionRequest, properties: PropertyStore) throws(SessionError) {
        try checkProfile(request, properties)
        try checkRate(properties)
        try checkStructure(properties)
        try checkPasses(request, properties)
        if properties.integer(.fieldCount) == 1, properties.isSet(.fieldCount), properties.isSet(.fieldDetail) {
            throw SessionError(.parameter, "FieldCount 1 and FieldDetail contradict each other: set one")
        }
        if request.source != nil, properties.integer(.fieldCount) == 2 || properties.isSet(.fieldDetail) {
            throw SessionError(.parameter, "frames with two fields, whose lines alternate, cannot be scaled")
        }
        if let text = properties.string(.cleanAperture), let part = PropertyText.aperture(text) {
            guard part.x + part.width <= request.width, part.y + part.height <= request.height else {
                throw SessionError(
                    .parameter, "CleanAperture \(text) exceeds the \(request.width)x\(request.height) frame")
            }
        }
    }

    private static func checkProfile(
        _ request: CompressionRequest, _ properties: PropertyStore
    ) throws(SessionError) {
        let depth = request.bitDepth
        let requested = properties.string(.profileLevel).flatMap(ProfileLevel.init(name:))
        if request.hasAlpha {
            // Players support one form of alpha: both layers Main, the base layer in video range.
            if let requested, requested.profile != .main {
                throw SessionError(
                    .parameter, "ProfileLevel \(requested.name): streams with alpha are 8-bit Main")
            }
            if properties.bool(.fullRangeVideo) == true {
                throw SessionError(
                    .parameter, "FullRangeVideo: the base layer of streams with alpha is video range")
            }
        }
        // RGB is converted to the profile's depth.
        guard request.pixelFormat.isYCbCr, let requested, requested.profile.bitDepth < depth else { return }
        throw SessionError(
            .parameter,
            "\(requested.name) does not allow the \(depth)-bit samples of \(request.pixelFormat.rawValue); "
                + "use \(ProfileLevel(Profile(holding: depth)).name) or 8-bit frames")
    }

    private static func checkRate(_ properties: PropertyStore) throws(SessionError) {
        let options = try X265Options(parsing: properties.string(.x265Params) ?? "")
        var rates = [PropertyKey.averageBitRate, .quality, .qp, .constantBitRate].filter(properties.isSet)
            .map(\.rawValue)
        if let option = options.rateOption { rates.append("X265Params (\(option))") }
        guard rates.count <= 1 else {
            throw SessionError(.parameter, rates.joined(separator: " and ") + " contradict each other: set one")
        }
        for alone in [PropertyKey.qp, .constantBitRate] {
            for other in [PropertyKey.dataRateLimits, .minAllowedFrameQP, .maxAllowedFrameQP] {
                if alone == .constantBitRate, other != .dataRateLimits { continue }
                try refuse(alone, other, properties)
            }
        }
        if let low = properties.integer(.minAllowedFrameQP), let high = properties.integer(.maxAllowedFrameQP),
            low > high
        {
            throw SessionError(
                .parameter, "MinAllowedFrameQP \(low) and MaxAllowedFrameQP \(high) contradict each other")
        }
        if let limit = properties.value(.dataRateLimits).flatMap(PropertyText.dataRateLimits),
            let average = properties.integer(.averageBitRate),
            Double(limit.bytes) * 8 / limit.seconds < Double(average)
        {
            throw SessionError(
                .parameter, "AverageBitRate \(average) and DataRateLimits contradict each other: the limit is lower"
            )
        }
    }

    /// Refuses two passes where there are no bits to distribute, or where x265 codes no two passes of one structure.
    private static func checkPasses(_ request: CompressionRequest, _ properties: PropertyStore) throws(SessionError)
    {
        guard properties.isSet(.multiPassStorage) else { return }
        guard properties.isSet(.averageBitRate) else {
            throw SessionError(.parameter, "MultiPassStorage requires AverageBitRate, whose bits it distributes")
        }
        guard !request.hasAlpha else {
            throw SessionError(
                .parameter, "MultiPassStorage and alpha contradict each other: two layers have one pass")
        }
        if properties.bool(.realTime) == true { try refuse(.multiPassStorage, .realTime, properties) }
        try refuse(.multiPassStorage, .baseLayerFrameRate, properties)
    }

    private static func checkStructure(_ properties: PropertyStore) throws(SessionError) {
        if properties.bool(.realTime) == true {
            for other in [PropertyKey.maxFrameDelayCount, .suggestedLookAheadFrameCount] {
                try refuse(.realTime, other, properties)
            }
            if properties.isSet(.allowFrameReordering), properties.bool(.allowFrameReordering) == true {
                try refuse(.realTime, .allowFrameReordering, properties)
            }
        }
        if properties.bool(.allowTemporalCompression) == false,
            let interval = properties.integer(.maxKeyFrameInterval),
            interval > 1
        {
            try refuse(.allowTemporalCompression, .maxKeyFrameInterval, properties)
        }
        if properties.bool(.prioritizeSpeed) == true { try refuse(.prioritizeSpeed, .x265Preset, properties) }
        try refuse(.referenceBufferCount, .baseLayerFrameRate, properties)
        let options = try X265Options(parsing: properties.string(.x265Params) ?? "")
        for (key, names) in [
            (PropertyKey.referenceBufferCount, ["ref"]), (.spatialAdaptiveQPLevel, ["aq-mode", "aq-strength"]),
            (.calculateMeanSquaredError, ["psnr"]),
        ] where properties.isSet(key) {
            guard let option = options.options.first(where: { names.contains($0.plainName) }) else { continue }
            throw SessionError(.parameter, "\(key) and X265Params (\(option.name)) contradict each other: set one")
        }
    }

    private static func refuse(
        _ one: PropertyKey, _ other: PropertyKey, _ properties: PropertyStore
    ) throws(SessionError) {
        guard properties.isSet(one), properties.isSet(other) else { return }
        throw SessionError(.parameter, "\(one) and \(other) contradict each other: set one")
    }
}
