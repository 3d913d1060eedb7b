// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension EncodeCommand {
    /// How the encoder is chosen.
    var specification: [PropertyKey: PropertyValue] {
        var specification: [PropertyKey: PropertyValue]
        switch hardware {
        case .prefer: specification = [.enableHardware: .bool(true)]
        case .require: specification = [.requireHardware: .bool(true)]
        case .off: specification = [.enableHardware: .bool(false)]
        }
        if let device {
            specification[hardware == .require ? .requiredGPU : .preferredGPU] = .string(device)
        }
        return specification
    }

    /// The session properties from the options; `--property` overrides the others.
    var properties: [PropertyKey: PropertyValue] {
        var properties: [PropertyKey: PropertyValue] = [:]
        properties[.profileLevel] = profile?.property
        if let bits = bitrate.flatMap(Self.bits) { properties[.averageBitRate] = .int(bits) }
        if twoPass { properties[.multiPassStorage] = .string("FirstPass") }
        if let quality { properties[.quality] = .double(quality) }
        if let qp { properties[.qp] = .int(Int64(qp)) }
        if let alpha { properties[.alphaChannelMode] = .string(alpha.rawValue) }
        if let alphaQuality { properties[.targetQualityForAlpha] = .double(alphaQuality) }
        if let speed, speed != .balanced { properties[.prioritizeSpeed] = .bool(speed == .fast) }
        if let preset { properties[.x265Preset] = .string(preset) }
        if let keyframeInterval { properties[.maxKeyFrameInterval] = .int(Int64(keyframeInterval)) }
        for (key, rate) in [
            (PropertyKey.baseLayerFrameRate, baseLayerFrameRate), (.expectedFrameRate, expectedFrameRate),
        ] {
            if let rate = rate.flatMap({ Rational(text: $0) }) { properties[key] = .string(rate.description) }
        }
        for text in property {
            let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            properties[PropertyKey(rawValue: String(pair[0]))] = Self.value(String(pair[1]))
        }
        return properties
    }

    /// Parses a property's value: JSON for a list or an object, else as `PropertyValue` does.
    private static func value(_ text: String) -> PropertyValue {
        if text.hasPrefix("[") || text.hasPrefix("{"),
            let value = try? JSON.decode(PropertyValue.self, from: Array(text.utf8))
        {
            return value
        }
        return PropertyValue(commandLine: text)
    }

    /// Parses bits per second such as `6M`, `800k` or `1500000`; nil for other text.
    static func bits(_ text: String) -> Int64? {
        let scale: Double
        switch text.last {
        case "k", "K": scale = 1e3
        case "m", "M": scale = 1e6
        default: scale = 1
        }
        guard let number = Double(scale == 1 ? text : String(text.dropLast())), number >= 0, number * scale < 1e12
        else { return nil }
        return Int64((number * scale).rounded())
    }
}
