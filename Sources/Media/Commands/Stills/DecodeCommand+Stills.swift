// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDModel
internal import HWImages

extension DecodeCommand {
    /// The HEIC file to decode a picture of; nil for a video, and for an image sequence without options for pictures.
    func stillInput() throws -> StillInput? {
        let found = try StillInput.open(input)
        if let found, !found.isSequence || still.given != nil {
            try checkStillOptions()
            return try still.frame.map { try found.picture(ofSequence: $0) } ?? found
        }
        if let option = still.given {
            throw CommandFailure(.usage, "\(option) is for HEIC and HEIF files, which \(input) is not")
        }
        guard !StillDecodeJob.isJPEG(output) else {
            throw CommandFailure(.usage, "\(output): .jpg is written of HEIC and HEIF files; of videos, .png")
        }
        return nil
    }

    /// Refuses options that are for videos.
    private func checkStillOptions() throws {
        let videoOptions: [(String, Bool)] = [
            ("--at", at != nil), ("--max-level", maxLevel != nil), ("--frame-rate", frameRate != nil),
            ("--apply-rpu", picture.appliesRPU), ("--keep-partial", keepPartial),
            ("--primaries", picture.primaries != nil),
            ("--reference-white", picture.referenceWhite != nil), ("--device", picture.device != nil),
            ("--raw-color", picture.rawColor),
            ("--effect", !effects.effects.isEmpty),
        ]
        if let (name, _) = videoOptions.first(where: \.1) {
            throw CommandFailure(.usage, "\(name) is for videos, and \(input) is a HEIC file")
        }
        guard picture.format == nil || picture.format == .yuva else {
            throw CommandFailure(.usage, "--format of a HEIC picture takes yuva alone: samples are planar")
        }
    }

    /// The request for a picture of a HEIC file.
    func stillRequest(_ specification: [PropertyKey: PropertyValue]) -> StillDecodeJob.Request {
        StillDecodeJob.Request(
            output: output, replaces: replacing.replaces, specification: specification,
            format: picture.format?.pixelFormat, alphaMode: picture.alpha?.mode ?? .straight,
            background: picture.background.flatMap { BackgroundCompositor.RGB(text: $0) }, item: still.item,
            region: still.rect, thumbnail: still.thumbnail, auxiliary: still.aux, exif: still.exif, json: json)
    }
}
