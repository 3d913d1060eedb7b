// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDSystem

/// The description of a file as human-readable tables.
struct InfoText {
    private let info: MediaInfo
    private let playback: Playback?
    private let alphaExport: AlphaExportInfo?
    /// Whether HDR video can be shown here; nil for other video.
    private let eligibility: String?

    init(_ info: MediaInfo, _ playback: Playback?, _ alphaExport: AlphaExportInfo?, eligibility: String?) {
        self.eligibility = eligibility
        self.info = info
        self.playback = playback
        self.alphaExport = alphaExport
    }

    /// The whole text.
    var text: String {
        var rows = fileRows
        for video in info.video {
            rows += [[""]] + VideoRows(video).rows
            if let alphaExport, alphaExport.stream == video.stream, video.alpha == true {
                rows.append(["  export with alpha", alphaExport.text])
            }
            if let playback, playback.stream == video.stream { rows += playback.rows }
        }
        let tables = [Console.table(rows)] + (info.otherStreams.isEmpty ? [] : [Console.table(otherRows)])
        return tables.joined(separator: "\n\n")
    }

    private var fileRows: [[String]] {
        var rows = [["FILE", FileName.printable(info.file)]]
        rows.append(["container", info.containerName + (info.brand.map { ", brand \($0)" } ?? "")])
        rows.append(["duration", info.duration.map { "\(Progress.decimal($0, 3)) s" } ?? "not known"])
        if let rate = info.bitRate {
            rows.append(["bit rate", "\(Progress.decimal(Double(rate) / 1000, 0)) kbit/s"])
        }
        rows.append(["contains HDR video", info.containsHDRVideo ? "yes" : "no"])
        if let eligibility { rows.append(["eligible for HDR playback", eligibility]) }
        rows.append(["contains alpha", info.containsAlpha ? "yes" : "no"])
        if info.chapters > 0 { rows.append(["chapters", "\(info.chapters)"]) }
        if let photo = info.livePhoto {
            rows.append(["content identifier", FileName.printable(photo.contentIdentifier ?? "none")])
            let time = photo.stillImageTime.map { "\(Progress.decimal($0, 3)) s" }
            rows.append(["still image at", time ?? "not known"])
        }
        return rows
    }

    private var otherRows: [[String]] {
        var rows = [["STREAM", "CONTENT", "CODEC", "TAG", "LANGUAGE", "DETAILS"]]
        for stream in info.otherStreams {
            let details = [
                stream.sampleRate.map { "\($0) Hz" }, stream.channels.map { "\($0) channels" },
                stream.duration.map { "\(Progress.decimal($0, 3)) s" },
            ]
            rows.append([
                "\(stream.stream)", stream.content, stream.codec, stream.tag ?? "-", stream.language ?? "-",
                details.compactMap { $0 }.joined(separator: ", "),
            ])
        }
        return rows
    }
}

/// The rows of one video track.
private struct VideoRows {
    private(set) var rows: [[String]]

    init(_ video: VideoTrackInfo) {
        let tag = video.tag.map { " (\($0))" } ?? ""
        rows = [["STREAM \(video.stream)", "\(video.picture ? "picture" : "video"), \(video.codec)\(tag)"]]
        addPictures(video)
        addColor(video)
        addDynamicMetadata(video)
        addLayers(video)
        addLevels(video)
        add("language", [video.language])
    }

    /// Adds a row, unless all parts are nil.
    private mutating func add(_ name: String, _ parts: [String?]) {
        let text = parts.compactMap { $0 }.joined(separator: ", ")
        if !text.isEmpty { rows.append(["  " + name, text]) }
    }

    private mutating func addPictures(_ video: VideoTrackInfo) {
        if let count = video.sampleEntries, count > 1 { add("sample entries", ["\(count)"]) }
        add("profile", [video.profile, video.level.map { "level \($0)" }, video.tier.map { "\($0) tier" }])
        add("samples", [video.bitDepth.map { "\($0) bit" }, video.chroma, video.pixelFormat])
        add(
            "size",
            [
                "\(video.width)x\(video.height)",
                video.cleanAperture
                    .map { "shown \(Self.decimal($0.width))x\(Self.decimal($0.height)) (clean aperture)" },
                video.pixelAspectRatio.map { "pixel aspect \($0)" },
                video.rotation == 0 ? nil : "turned \(Self.decimal(video.rotation))° clockwise",
                video.interlaced ? "interlaced" + (video.fieldOrder.map { " (\($0) field first)" } ?? "") : nil,
            ])
        let base = video.baseFrameRate == video.averageFrameRate ? nil : video.baseFrameRate
        add(
            "frames",
            [
                video.frames.map { "\($0)" }, video.averageFrameRate.map { "\($0) per second" },
                base.map { "base rate \($0)" }, video.duration.map { "\(Progress.decimal($0, 3)) s" },
            ])
    }

    private mutating func addColor(_ video: VideoTrackInfo) {
        let color = video.color
        add(
            "color",
            [color.primaries, color.transfer, color.matrix].map { "\($0.name) (\($0.code))" }
                + ["\(color.range) range", video.hdr ? "HDR" : nil])
        if let display = video.masteringDisplay {
            func point(_ point: [Double]) -> String { point.map { Progress.decimal($0, 4) }.joined(separator: ",") }
            let (min, max) = (Progress.decimal(display.minLuminance, 4), Self.decimal(display.maxLuminance))
            add(
                "mastering display",
                [
                    "R \(point(display.red))", "G \(point(display.green))", "B \(point(display.blue))",
                    "W \(point(display.white))", "\(min) to \(max) cd/m²",
                ])
        }
        if let light = video.contentLight {
            add("content light", ["MaxCLL \(light.maxContent)", "MaxFALL \(light.maxFrameAverage) cd/m²"])
        }
    }

    private mutating func addDynamicMetadata(_ video: VideoTrackInfo) {
        func count(_ number: Int, _ missing: Int, _ damaged: Int) -> [String?] {
            [
                "\(number) frames", missing > 0 ? "\(missing) frames without" : nil,
                damaged > 0 ? "\(damaged) damaged" : nil,
            ]
        }
        if let vision = video.dolbyVision {
            add(
                "Dolby Vision",
                [
                    vision.profile.map { "profile \($0)" }, vision.level.map { "level \($0)" },
                    vision.compatibility.map { "compatible with \($0)" },
                    vision.hasEnhancementLayer == true ? "enhancement layer" : nil,
                    vision.hasRecord ? nil : "no configuration record",
                ])
            if let frames = vision.rpuFrames {
                add("RPUs", count(frames, vision.missingRPUs ?? 0, vision.damagedRPUs ?? 0))
            }
        }
        if let plus = video.hdr10Plus { add("HDR10+", count(plus.frames, plus.missing, plus.damaged)) }
        if let ambient = video.ambientViewing {
            add(
                "ambient viewing",
                [
                    "\(Self.decimal(ambient.illuminance)) lux",
                    "light " + ambient.light.map { Progress.decimal($0, 4) }.joined(separator: ","),
                ])
        }
        add("captions", [video.captions.map { $0.joined(separator: ", ") }])
        for segment in video.colorSegments ?? [] {
            let color = segment.color
            add(
                "color from frame \(segment.firstFrame)",
                [
                    segment.start.map { "\(Progress.decimal($0, 3)) s" }, "\(segment.frames) frames",
                    [color.primaries, color.transfer, color.matrix].map { "\($0.name) (\($0.code))" }
                        .joined(separator: ", "),
                    "\(color.range) range", segment.hdr ? "HDR" : nil,
                ])
        }
        if let searched = video.searchedFrames, video.picture == false {
            add("searched", ["the first \(searched) frames for dynamic metadata, captions and changes of color"])
        }
    }

    private mutating func addLayers(_ video: VideoTrackInfo) {
        add(
            "layers",
            [
                video.layers.map { "\($0)" }, video.temporalLayers.map { "\($0) temporal" },
                video.alpha.map { $0 ? "alpha" : "no alpha" }, video.alphaMode.map { "\($0) alpha" },
            ])
        if let deviations = video.alphaDeviations {
            add(
                "alpha profile",
                [deviations.isEmpty ? "followed" : "not followed: " + deviations.joined(separator: "; ")])
        }
    }

    private mutating func addLevels(_ video: VideoTrackInfo) {
        for level in video.levels ?? [] {
            add(
                level.level == 0 ? "level 0" : "levels 0 to \(level.level)",
                [
                    level.frameRate.map { "\($0) per second" },
                    level.frames.map { "\($0) frames of level \(level.level)" },
                ])
        }
        add("annotations", [video.annotations.map { $0.joined(separator: " ") }])
        for fault in video.annotationFaults ?? [] { add("wrong annotation", [fault]) }
    }

    /// A number, without a fraction that is zero.
    private static func decimal(_ value: Double) -> String {
        Progress.decimal(value, value == value.rounded() ? 0 : 2)
    }
}
