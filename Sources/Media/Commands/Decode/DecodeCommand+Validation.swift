// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDEdits
internal import HWDModel

extension DecodeCommand {
    private var isRGB: Bool { picture.format.map { !$0.pixelFormat.isYCbCr } ?? false }
    private var isPNG: Bool { output.lowercased().hasSuffix(".png") }
    /// Whether the output holds samples without a header.
    private var isRaw: Bool { output.lowercased().hasSuffix(".yuv") || output.lowercased().hasSuffix(".raw") }

    func validate() throws {
        if hardware == .require { SessionRequest.requiresHardware = true }
        try OptionCheck.maxLevel(maxLevel)
        try OptionCheck.json(json, output: output)
        try OptionCheck.rate("--frame-rate", frameRate)
        if picture.primaries != nil || picture.referenceWhite != nil || picture.device != nil, !isRGB {
            throw ValidationError(
                "--primaries, --reference-white and --device require --format rgba16f, bgra8 or rgba8.")
        }
        if let referenceWhite = picture.referenceWhite, !(1...10000).contains(referenceWhite) {
            throw ValidationError("--reference-white takes 1 to 10000 cd/m², not \(referenceWhite).")
        }
        if picture.rawColor, !isPNG {
            throw ValidationError("--raw-color requires .png: other outputs are never tone-mapped.")
        }
        try validateTimes()
        if picture.appliesRPU, !isRGB,
            !isPNG || picture.rawColor || picture.format != nil || picture.background != nil
        {
            throw ValidationError(
                "--apply-rpu requires --format rgba16f, bgra8 or rgba8, or .png without --raw-color and --format.")
        }
        try validateAlpha()
        if !effects.effects.isEmpty, picture.appliesRPU || picture.background != nil || picture.format == .yuva {
            throw ValidationError("--effect excludes --apply-rpu, --background and --format yuva.")
        }
        if let format = picture.format, format.pixelFormat.isSemiPlanar || isRGB, !isRaw {
            throw ValidationError("--format \(format.rawValue) requires .yuv or .raw; other files are planar.")
        }
    }

    private func validateTimes() throws {
        guard let at else { return }
        guard let times, !times.isEmpty, times.count <= 1000 else {
            throw ValidationError(
                "--at takes up to 1000 times in seconds or h:m:s, such as 12.5 or 1:02:03.5,2:00, not '\(at)'.")
        }
        guard isPNG else { throw ValidationError("--at requires .png.") }
        guard times.count == 1 || output.contains("%") else {
            throw ValidationError("--at with several times requires a series such as picture-%02d.png.")
        }
        guard times == times.sorted(), Set(times).count == times.count else {
            throw ValidationError("--at takes times in ascending order.")
        }
    }

    private func validateAlpha() throws {
        if let background = picture.background {
            guard BackgroundCompositor.RGB(text: background) != nil else {
                throw ValidationError("--background takes a color as six hexadecimal digits, not '\(background)'.")
            }
            guard picture.format == nil || picture.format == .i420, picture.alpha == nil else {
                throw ValidationError(
                    "--background writes i420 without alpha: it excludes other formats and --alpha.")
            }
        }
        if picture.alpha != nil, !isRGB, picture.format != .yuva || !isPNG {
            throw ValidationError(
                "--alpha requires rgba16f, bgra8 or rgba8, or .png with yuva; raw yuva is as the file codes it.")
        }
        if picture.format == .yuva, !isRaw, !isPNG {
            throw ValidationError("--format yuva requires .yuv, .raw or .png; Y4M holds no alpha.")
        }
    }
}
