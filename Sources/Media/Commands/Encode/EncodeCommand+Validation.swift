// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDLibAVReading
internal import HWDModel

extension EncodeCommand {
    func validate() throws {
        try validateFiles()
        try validateStill()
        try validateTwoPass()
        try validatePicture()
        try OptionCheck.maxLevel(maxLevel)
        if copy, let option = coding.words.first ?? picture.words.first ?? sessions.words.first {
            throw ValidationError("--copy does not encode: \(option.name) has no effect with it.")
        }
        try validateSegments()
        if time.exact, !copy || time.start == nil {
            throw ValidationError("--exact is for --copy with --start: encoding is always exact.")
        }
        if outputs.outputDir == nil, !check { try OptionCheck.json(json, output: output) }
        try validateVerify()
        try OptionCheck.rate("--frame-rate", frameRate)
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
                files.count == 1
                    ? "There is no OUTPUT: write hwctl encode \(files[0]) OUTPUT, or --output-dir DIR."
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

    private func validateTwoPass() throws {
        guard coding.hasTwoPasses else { return }
        let name = coding.twoPass ? "--two-pass" : PropertyKey.multiPassStorage.rawValue
        if coding.setting(.averageBitRate) == nil, coding.exportPreset?.usesRate != true {
            throw ValidationError("\(name) requires --bitrate: two passes distribute the bits of a rate.")
        }
        if coding.hardware == .require {
            throw ValidationError("\(name) is for software: leave --hardware require out.")
        }
        if coding.keepsAlpha {
            throw ValidationError("\(name) and --alpha contradict each other: two layers have one pass.")
        }
        if coding.baseLayerFrameRate != nil {
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
        if picture.background != nil, coding.keepsAlpha {
            throw ValidationError(
                "--background leaves alpha out, and --alpha or the preset keeps it: use one of them.")
        }
        if let option = picture.filterWords.first, !picture.scales, coding.exportPreset?.maxSize == nil {
            throw ValidationError("\(option.name) is for --size, --max-height or a preset that scales.")
        }
    }

    private func validateVerify() throws {
        guard verify else { return }
        for input in outputs.outputDir == nil ? [input] : files {
            if input == "-" {
                throw ValidationError("--verify reads the input twice, which standard input cannot.")
            }
            if InputFile.isReadOnce(input) {
                throw ValidationError("--verify reads the input twice, and \(input) can be read only once.")
            }
        }
        guard outputs.outputDir == nil else { return }
        if output == "-" { throw ValidationError("--verify reads the output, which standard output cannot.") }
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
