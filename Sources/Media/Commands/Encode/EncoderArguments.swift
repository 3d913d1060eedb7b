// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDModel
internal import HWDPolicy

/// The options of `hwctl encode` about the encoder and what it codes, and the sessions' properties that they stand for.
struct EncoderArguments: ParsableArguments {
    enum ProfileName: String, ExpressibleByArgument, CaseIterable {
        case main, main10

        /// The value of `ProfileLevel`.
        var property: PropertyValue { .string(self == .main ? "HEVC_Main_AutoLevel" : "HEVC_Main10_AutoLevel") }
    }

    enum AlphaMode: String, ExpressibleByArgument, CaseIterable { case premultiplied, straight }
    enum Speed: String, ExpressibleByArgument, CaseIterable { case fast, balanced, best }
    enum Hardware: String, ExpressibleByArgument, CaseIterable { case prefer, require, off }

    @Option(help: "The HEVC profile; by default the one for the source's bit depth.")
    var profile: ProfileName?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Average bit rate in bits per second, with suffix k or M.", valueName: "rate"))
    var bitrate: String?

    @Flag(
        help: """
            Code the video twice, so that every scene gets the share of --bitrate that it needs; in software, from a file.
            """)
    var twoPass = false

    @Option(parsing: .unconditional, help: ArgumentHelp("Constant quality from 0.0 to 1.0.", valueName: "0.0-1.0"))
    var quality: Double?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Constant quantization parameter from 0 to 51.", valueName: "n")
    )
    var qp: Int?

    @Option(
        help: ArgumentHelp(
            "Settings under a name, such as hevc-1080p; hwctl presets lists them. Other options override them.",
            valueName: "name"), completion: .shellCommand("hwctl presets --names"))
    var presetName: String?

    @Option(help: "Speed against compression, in hardware and software alike; balanced by default.")
    var speed: Speed?

    @Option(
        help: ArgumentHelp(
            "The x265 preset, such as fast; hardware is then not used. --speed is for both. Other names are --preset-name.",
            valueName: "name"), completion: .list(PropertyTable.x265Presets))
    var preset: String?

    @Option(
        help: """
            Keep the input's alpha in a second layer (HEVC with alpha), and write colors premultiplied by alpha or \
            straight. An input without alpha is refused.
            """)
    var alpha: AlphaMode?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Quality of the alpha layer from 0.0 to 1.0.", valueName: "0.0-1.0"))
    var alphaQuality: Double?

    @Option(
        help: """
            HDR metadata and colors: preserve keeps the source's metadata, regenerate writes new dynamic metadata, drop \
            writes none; sdr, pq and hlg convert the colors.
            """)
    var hdr = HDRMode.preserve

    @Flag(
        help: """
            Let --property ColorPrimaries, TransferFunction, YCbCrMatrix, FullRangeVideo and ChromaSampleLocType change the \
            description of the colors alone; without it the samples are converted.
            """)
    var retag = false

    @Option(help: "Whether hardware is preferred, required or off.")
    var hardware = Hardware.prefer

    @Option(
        help: ArgumentHelp(
            "The render node, or the PCI address of the GPU, to encode on if hardware encodes.", valueName: "node"))
    var device: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Maximum number of frames from one key frame to the next.", valueName: "n"))
    var keyframeInterval: Int?

    @Option(
        help: ArgumentHelp(
            """
            Frames per second of the lowest temporal level, which players can decode alone; each level above it \
            doubles the rate, up to --expected-frame-rate.
            """, valueName: "rate"))
    var baseLayerFrameRate: String?

    @Option(
        help: ArgumentHelp(
            "Frames per second that rate control assumes, such as 240 or 30000/1001; by default the source's rate.",
            valueName: "rate"))
    var expectedFrameRate: String?

    @Option(
        help: ArgumentHelp(
            "Set a session property, named as in VideoToolbox; may be repeated.", valueName: "key=value"))
    var property: [String] = []

    func validate() throws {
        if hardware == .require { SessionRequest.requiresHardware = true }
        // Before anything reads the properties.
        for text in property where !text.contains("=") || text.hasPrefix("=") {
            throw ValidationError("--property takes KEY=VALUE, not '\(text)'.")
        }
        if [bitrate != nil, quality != nil, qp != nil].count(where: { $0 }) > 1 {
            throw ValidationError("--bitrate, --quality and --qp contradict each other: use one of them.")
        }
        try validateRate()
        if alphaQuality != nil, alpha == nil {
            throw ValidationError("--alpha-quality requires --alpha.")
        }
        if let alphaQuality, !(0...1).contains(alphaQuality) {
            throw ValidationError("--alpha-quality takes a number from 0.0 to 1.0, not \(alphaQuality).")
        }
        if device != nil, hardware == .off {
            throw ValidationError("--device selects hardware, which --hardware off excludes.")
        }
        if retag {
            guard !hdr.converts else {
                throw ValidationError(
                    "--retag changes the description alone, --hdr \(hdr.rawValue) the samples too.")
            }
            guard ColorProperties.keys.contains(where: { properties[$0] != nil }) else {
                let keys = ColorProperties.keys.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--retag requires --property with one of \(keys).")
            }
        }
        try OptionCheck.rate("--base-layer-frame-rate", baseLayerFrameRate)
        try OptionCheck.rate("--expected-frame-rate", expectedFrameRate)
    }

    private func validateRate() throws {
        if let bitrate {
            guard let bits = Self.bits(bitrate) else {
                throw ValidationError("--bitrate takes a number such as 800k or 6M, not '\(bitrate)'.")
            }
            if bits < 1000 {
                throw ValidationError(
                    "--bitrate \(bitrate) is \(bits) bits a second: did you mean \(bitrate)\(bits < 100 ? "M" : "k")?"
                )
            }
        }
        if let quality, !(0...1).contains(quality) {
            let crf =
                (1...51).contains(quality)
                ? "; CRF \(Int(quality)) is --quality \(Progress.decimal(max(0, (40 - quality) / 38), 2))" : ""
            throw ValidationError("--quality takes a number from 0.0 to 1.0, not \(quality)\(crf).")
        }
        if let presetName, isPresetOfSettings {
            throw ValidationError(
                "--preset-name \(presetName) and --preset \(preset ?? "") are both settings: use one of them.")
        }
        if let presetName {
            do { _ = try PresetFiles.preset(presetName) } catch let failure as CommandFailure {
                throw ValidationError(failure.reason + ".")
            }
        }
        if let x265Preset, !PropertyTable.x265Presets.contains(x265Preset) {
            throw ValidationError(
                "there is no preset '\(x265Preset)': x265 has \(PropertyTable.x265Presets.joined(separator: ", ")), "
                    + "and hwctl presets lists names of settings.")
        }
        if speed != nil, x265Preset != nil {
            throw ValidationError("--speed and --preset contradict each other: --preset is for software alone.")
        }
        if hardware == .require, setting(.x265Preset) != nil {
            let name = x265Preset == nil ? PropertyKey.x265Preset.rawValue : "--preset"
            throw ValidationError(
                "\(name) is for software: with --hardware require leave it out (--speed works for both).")
        }
    }

    /// Whether the frames are coded twice, by `--two-pass`, a property or the preset.
    var hasTwoPasses: Bool { (setting(.multiPassStorage) ?? .null) != .null }

    /// A property's value by the options, or else by the preset.
    func setting(_ key: PropertyKey) -> PropertyValue? {
        properties[key] ?? exportPreset?.properties[key.rawValue]
    }

    /// The preset of `--preset-name`, or of `--preset`; nil without.
    var exportPreset: ExportPreset? { (presetName ?? preset).flatMap(Self.settings) }

    /// Whether `--preset` has a name of `hwctl presets`.
    private var isPresetOfSettings: Bool { preset.flatMap(Self.settings) != nil }

    /// The x265 preset of `--preset`; nil where that names settings.
    private var x265Preset: String? { isPresetOfSettings ? nil : preset }

    /// The settings of a name that x265 has no preset of.
    private static func settings(_ name: String) -> ExportPreset? {
        PropertyTable.x265Presets.contains(name) ? nil : PresetFiles.catalogue.preset(name)
    }

    /// Whether alpha is coded.
    var keepsAlpha: Bool { alpha != nil || exportPreset?.alpha ?? false }

    /// The given options of the encoder.
    var words: [OptionWord] {
        let words: [OptionWord?] = [
            OptionWord("--profile", profile?.rawValue), OptionWord("--bitrate", bitrate),
            OptionWord("--quality", quality), OptionWord("--qp", qp), OptionWord("--two-pass", isGiven: twoPass),
            OptionWord("--preset", preset),
            OptionWord("--speed", speed?.rawValue), OptionWord("--preset-name", presetName),
            OptionWord("--hardware", hardware == .prefer ? nil : hardware.rawValue), OptionWord("--device", device),
            OptionWord("--keyframe-interval", keyframeInterval),
            OptionWord("--base-layer-frame-rate", baseLayerFrameRate),
            OptionWord("--expected-frame-rate", expectedFrameRate),
        ]
        let others: [OptionWord?] = [
            OptionWord("--alpha", alpha?.rawValue), OptionWord("--alpha-quality", alphaQuality),
            OptionWord("--hdr", hdr == .preserve ? nil : hdr.rawValue), OptionWord("--retag", isGiven: retag),
        ]
        return (words + property.map { OptionWord("--property", $0) } + others).compactMap { $0 }
    }

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
        if let x265Preset { properties[.x265Preset] = .string(x265Preset) }
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
        ScaledNumber.whole(text).flatMap { $0 < 1_000_000_000_000 ? $0 : nil }
    }
}
