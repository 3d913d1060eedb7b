// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDModel

extension EncodeCommand {
    /// Whether the output is a HEIC file, by its name.
    var isStill: Bool {
        files.count >= 2 && outputs.outputDir == nil && !check
            && [".heic", ".heif", ".heics", ".heifs"].contains { output.lowercased().hasSuffix($0) }
    }

    /// Whether the output is an image sequence, by its name.
    private var isSequence: Bool { isStill && output.lowercased().hasSuffix("s") }

    /// Refuses options of HEIC files for other outputs, and options of videos for HEIC files.
    func validateStill() throws {
        guard isStill else {
            if let option = still.words.first {
                throw ValidationError("\(option.name) is for HEIC files: OUTPUT must be a .heic.")
            }
            return
        }
        let videoOptions: [(String, Bool)] = [
            ("--copy", copy), ("--verify", verify), ("--segment", segment != nil), ("--parallel", parallel != nil),
            ("--bitrate", coding.bitrate != nil), ("--two-pass", coding.twoPass),
            ("--preset-name", coding.exportPreset != nil),
            ("--keyframe-interval", coding.keyframeInterval != nil), ("--max-level", maxLevel != nil),
            ("--base-layer-frame-rate", coding.baseLayerFrameRate != nil),
            ("--expected-frame-rate", coding.expectedFrameRate != nil),
            ("--frame-rate", frameRate != nil && !isSequence), ("--keep-partial", keepPartial),
            ("--retag", coding.retag),
            ("--hdr", coding.hdr != .preserve), ("--start", time.start != nil), ("--to", outputs.to != nil),
        ]
        if let (name, _) = videoOptions.first(where: \.1) {
            throw ValidationError("\(name) is for videos: \(output) is a HEIC file.")
        }
        if let option = picture.words.first {
            throw ValidationError("\(option.name) is for videos: \(output) is a HEIC file.")
        }
        guard !files.contains("-") else {
            throw ValidationError("A HEIC file is made of files, not of standard input.")
        }
        try validateSeveralStills()
    }

    /// Refuses options that do not fit a burst or an image sequence.
    private func validateSeveralStills() throws {
        let count = files.count - 1
        if isSequence {
            let others: [(String, Bool)] = [
                ("--burst", still.burst), ("--tile", still.tile != nil), ("--thumbnail", still.thumbnail != nil),
                ("--exif", still.exif != nil), ("--xmp", still.xmp != nil),
                ("--depth-map", still.depthMap != nil), ("--gain-map", still.gainMap != nil),
                ("--raw-size", still.rawSize != nil),
            ]
            if let (name, _) = others.first(where: \.1) {
                throw ValidationError("\(name) is for pictures: \(output) is an image sequence.")
            }
            if coding.alpha == .premultiplied {
                throw ValidationError("Readers of image sequences take alpha to be straight: use --alpha straight.")
            }
            return
        }
        guard count == 1 || still.burst else {
            throw ValidationError(
                "\(count) pictures in one file are a burst (--burst), or an image sequence (.heics).")
        }
        if still.burst, count < 2 { throw ValidationError("--burst takes two pictures or more.") }
        if let cover = still.cover, cover > count {
            throw ValidationError("--cover is \(cover), but there are \(count) pictures.")
        }
    }

    /// Writes a HEIC file.
    func encodeStill() throws {
        guard try outputs.replacing.writes(FilePair(input: input, output: output)) else {
            return Console.file("\(output): exists, skipped")
        }
        let interruption = try Interruption()
        if isSequence { return try SequenceEncodeJob(request: StillEncodeJob.Request(self)).run(interruption) }
        try StillEncodeJob(request: StillEncodeJob.Request(self)).run(interruption)
    }
}
