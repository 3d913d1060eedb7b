// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDLibAVReading
internal import HWDModel

extension EncodeCommand {
    func validate() throws {
        try validateForeign()
        try validateFiles()
        // Before anything reads the properties.
        for text in property where !text.contains("=") || text.hasPrefix("=") {
            throw ValidationError("--property takes KEY=VALUE, not '\(text)'.")
        }
        if [bitrate != nil, quality != nil, qp != nil].count(where: { $0 }) > 1 {
            throw ValidationError("--bitrate, --quality and --qp contradict each other: use one of them.")
        }
        try validateStill()
        try validateRate()
        try validateTwoPass()
        if alphaQuality != nil, alpha == nil {
            throw ValidationError("--alpha-quality requires --alpha.")
        }
        try validatePicture()
        if let alphaQuality, !(0...1).contains(alphaQuality) {
            throw ValidationError("--alpha-quality takes a number from 0.0 to 1.0, not \(alphaQuality).")
        }
        try OptionCheck.maxLevel(maxLevel)
        if copy, let option = encoderWords.first ?? picture.words.first ?? sessions.words.first {
            throw ValidationError("--copy does not encode: \(option.name) has no effect with it.")
        }
        try validateSegments()
        if time.exact, !copy || time.start == nil {
            throw ValidationError("--exact is for --copy with --start: encoding is always exact.")
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
        if outputs.outputDir == nil, !check { try OptionCheck.json(json, output: output) }
        try validateVerify()
        try OptionCheck.rate("--frame-rate", frameRate)
        try OptionCheck.rate("--base-layer-frame-rate", baseLayerFrameRate)
        try OptionCheck.rate("--expected-frame-rate", expectedFrameRate)
    }

    private func validateFiles() throws {
        let isBatch = outputs.outputDir != nil
        if check {
            guard files.count == 1, files[0] != "-" else {
                throw ValidationError("--check takes one file, and no OUTPUT.")
            }
            return
        }
        guard isBatch ? !files.isEmpty : files.count == 2 || isStill else {
            throw ValidationError(
                files.count < 2
                    ? "Missing expected argument: an INPUT and an OUTPUT."
                    : "INPUT and OUTPUT are expected, not \(files.count) names: several inputs require --output-dir."
            )
        }
        if isBatch, files.contains("-") {
            throw ValidationError("--output-dir names outputs after files, not after -.")
        }
        guard let to = outputs.to else { return }
        if to == "y4m" {
            throw ValidationError("--to y4m is not HEVC: hwctl decode INPUT - writes Y4M to standard output.")
        }
        guard let format = outputs.format, outputs.formats.contains(format) else {
            let all = outputs.formats.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--to takes one of \(all), not '\(to)'.")
        }
        guard isBatch || output == "-" else {
            throw ValidationError("--to is for standard output (-): the extension of \(output) selects its format.")
        }
    }

    /// Options of other programs.
    private func validateForeign() throws {
        if let crf {
            let quality = Double(crf).map { max(0, min(1, (40 - $0) / 38)) }
            let example = quality.map { ": CRF \(crf) is --quality \(Progress.decimal($0, 2))" } ?? ""
            throw ValidationError("--crf is --quality here (CRF = 40 - 38 · quality)\(example).")
        }
        if codec != nil { throw ValidationError("--codec is not needed: the output is always HEVC.") }
    }

    /// Whether the frames are coded twice, by `--two-pass`, a property or the preset.
    var hasTwoPasses: Bool { (setting(.multiPassStorage) ?? .null) != .null }

    /// A property's value by the options, or else by the preset.
    private func setting(_ key: PropertyKey) -> PropertyValue? {
        properties[key] ?? exportPreset?.properties[key.rawValue]
    }

    private func validateTwoPass() throws {
        guard hasTwoPasses else { return }
        let name = twoPass ? "--two-pass" : PropertyKey.multiPassStorage.rawValue
        if setting(.averageBitRate) == nil, exportPreset?.usesRate != true {
            throw ValidationError("\(name) requires --bitrate: two passes distribute the bits of a rate.")
        }
        if hardware == .require {
            throw ValidationError("\(name) is for software: leave --hardware require out.")
        }
        if alpha != nil || exportPreset?.alpha ?? false {
            throw ValidationError("\(name) and --alpha contradict each other: two layers have one pass.")
        }
        if baseLayerFrameRate != nil {
            throw ValidationError("\(name) and --base-layer-frame-rate contradict each other: use one of them.")
        }
        if outputs.outputDir == nil, input == "-" {
            throw ValidationError("\(name) reads INPUT twice, and standard input can be read once.")
        }
        if let pipe = (outputs.outputDir == nil ? [input] : files).first(where: InputFile.isReadOnce) {
            throw ValidationError("\(name) reads INPUT twice, and \(pipe) can be read only once.")
        }
    }

    private func validatePicture() throws {
        if picture.background != nil, alpha != nil || exportPreset?.alpha ?? false {
            throw ValidationError(
                "--background leaves alpha out, and --alpha or the preset keeps it: use one of them.")
        }
        if let option = picture.filterWords.first, !picture.scales, exportPreset?.maxSize == nil {
            throw ValidationError("\(option.name) is for --size, --max-height or a preset that scales.")
        }
    }

    private func validateRate() throws {
        if let bitrate {
            guard let bits = Self.bits(bitrate) else {
                throw ValidationError("--bitrate takes a number such as 800k or 6M, not '\(bitrate)'.")
            }
            if bits < 1000 {
                throw ValidationError("--bitrate \(bitrate) is \(bits) bits a second: did you mean \(bitrate)M?")
            }
        }
        if let quality, !(0...1).contains(quality) {
            let crf =
                (1...51).contains(quality)
                ? "; CRF \(Int(quality)) is --quality \(Progress.decimal(max(0, (40 - quality) / 38), 2))" : ""
            throw ValidationError("--quality takes a number from 0.0 to 1.0, not \(quality)\(crf).")
        }
        if let presetName {
            do { _ = try PresetFiles.preset(presetName) } catch let failure as CommandFailure {
                throw ValidationError(failure.reason + ".")
            }
        }
        if speed != nil, preset != nil {
            throw ValidationError("--speed and --preset contradict each other: --preset is for software alone.")
        }
        if hardware == .require, setting(.x265Preset) != nil {
            let name = preset == nil ? PropertyKey.x265Preset.rawValue : "--preset"
            throw ValidationError(
                "\(name) is for software: with --hardware require leave it out (--speed works for both).")
        }
    }
}

/// Checks of options that several commands have.
enum OptionCheck {
    /// Refuses a temporal level that HEVC does not have (TemporalId, H.265 7.4.2.2).
    static func maxLevel(_ level: Int?) throws {
        guard let level, !(0...6).contains(level) else { return }
        throw ValidationError("--max-level takes a temporal level from 0 to 6, not \(level).")
    }

    /// Refuses a frame rate that a session would refuse.
    static func rate(_ option: String, _ text: String?) throws {
        guard let text, Rational(text: text).map({ $0.value < 0.001 || $0.value > 1000 }) ?? true else { return }
        throw ValidationError(
            "\(option) takes a rate from 0.001 to 1000, such as 25 or 30000/1001, not '\(text)'.")
    }

    /// Refuses two uses of standard output.
    static func json(_ json: Bool, output: String) throws {
        if json, output == "-" {
            throw ValidationError("--json and the output - would both use standard output.")
        }
    }
}
