// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel
internal import HWDSessions

extension EncodeCommand {
    /// Whether the output is a HEIC file, by its name.
    var isStill: Bool {
        files.count == 2 && outputs.outputDir == nil && !check
            && [".heic", ".heif"].contains { output.lowercased().hasSuffix($0) }
    }

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
            ("--bitrate", bitrate != nil), ("--two-pass", twoPass), ("--preset-name", presetName != nil),
            ("--keyframe-interval", keyframeInterval != nil), ("--max-level", maxLevel != nil),
            ("--base-layer-frame-rate", baseLayerFrameRate != nil),
            ("--expected-frame-rate", expectedFrameRate != nil),
            ("--frame-rate", frameRate != nil), ("--keep-partial", keepPartial), ("--retag", retag),
            ("--hdr", hdr != .preserve), ("--start", time.start != nil), ("--to", outputs.to != nil),
        ]
        if let (name, _) = videoOptions.first(where: \.1) {
            throw ValidationError("\(name) is for videos: \(output) is a HEIC file.")
        }
        if let option = picture.words.first {
            throw ValidationError("\(option.name) is for videos: \(output) is a HEIC file.")
        }
        guard input != "-" else { throw ValidationError("A HEIC file is made of a file, not of standard input.") }
    }

    /// Writes a HEIC file.
    func encodeStill() throws {
        let file = FilePair(input: input, output: output)
        guard try outputs.replacing.writes(file) else { return Console.file("\(output): exists, skipped") }
        try StillEncodeJob(request: stillRequest(file)).run(try Interruption())
    }

    private func stillRequest(_ file: FilePair) -> StillEncodeJob.Request {
        var request = StillEncodeJob.Request(file: file)
        request.specification = specification
        // Quality as of a rate factor would give every tile another quantizer, and seams.
        var properties = properties
        for key in [PropertyKey.quality, .alphaChannelMode, .targetQualityForAlpha, .profileLevel] {
            properties[key] = nil
        }
        if properties[.qp] == nil {
            properties[.qp] = .int(Self.quantizer(quality ?? PropertyTable.defaultQuality))
        }
        request.properties = properties
        request.alphaQP = alphaQuality.map(Self.quantizer)
        request.source.bitDepth = profile.map { $0 == .main10 ? 10 : 8 }
        request.source.primaries = still.primaries?.code
        request.source.alpha = alpha.map { $0 == .premultiplied ? .premultiplied : .straight }
        (request.tile, request.thumbnail) = (still.tile, still.thumbnail ?? request.thumbnail)
        (request.exif, request.xmp, request.icc) = (still.exif, still.xmp, still.icc)
        (request.depthMap, request.gainMap, request.json) = (still.depthMap, still.gainMap, json)
        if case .int(let transfer)? = properties[.transferFunction] {
            request.source.transfer = UInt8(exactly: transfer)
        }
        return request
    }

    /// The quantizer of a quality, by the scale that videos have.
    private static func quantizer(_ quality: Double) -> Int64 {
        Int64(min(max((40 - 38 * quality).rounded(), 0), 51))
    }
}
