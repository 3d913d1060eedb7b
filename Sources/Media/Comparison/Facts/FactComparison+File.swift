// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

extension FactComparison {
    /// The items of the files beside the pictures; audio and subtitles are compared by their packets.
    var fileItems: [ReceiptItem?] { [timecode, otherStreams, chapters, metadata, unknown] }

    private var timecode: ReceiptItem? {
        switch (input.timecode, output.timecode) {
        case (nil, nil): nil
        case (nil, let new?): ReceiptItem("timecode", .changed, "a timecode was added: \(new)")
        case (let old?, let new) where old == new: ReceiptItem("timecode", .kept, old)
        case (let old?, let new?): ReceiptItem("timecode", .lost, "the first frame is \(new), not \(old)")
        case (let old?, nil): ReceiptItem("timecode", .lost, "the output has no timecode; the input's is \(old)")
        }
    }

    private var otherStreams: ReceiptItem? {
        let streams = Self.others(input)
        guard !streams.isEmpty else { return nil }
        var found = Self.others(output).map(\.kind)
        let missing = streams.filter { stream in
            guard let index = found.firstIndex(of: stream.kind) else { return true }
            found.remove(at: index)
            return false
        }
        guard !missing.isEmpty else {
            return ReceiptItem("streams", .kept, "\(ReceiptText.count(streams.count, "other stream"))")
        }
        var item = ReceiptItem(
            "streams", .lost,
            "\(missing.count) of \(ReceiptText.count(streams.count, "other stream")) are not there",
            details: missing.map { "stream \($0.number) (\($0.kind))" })
        item.expected = FileContent.copiedStreams
        return item
    }

    /// The numbers of a file's streams beside the video, audio and subtitles, with contents and codecs.
    private static func others(_ file: FileFacts) -> [(number: Int, kind: String)] {
        let videos = file.info.video.filter { $0.stream != file.video.streamIndex }
        // Titles of chapters belong to those; a timecode is regenerated.
        let others = file.info.otherStreams.filter { stream in
            !["audio", "subtitle"].contains(stream.content) && stream.tag != "tmcd"
                && !(file.chapters.count > 0 && stream.codec == "bin_data")
        }
        return videos.map { ($0.stream, "\($0.picture ? "picture" : "video"), \($0.codec)") }
            + others.map { ($0.stream, "\($0.content), \($0.codec)") }
    }

    /// What the input has and nothing here knows.
    private var unknown: ReceiptItem? {
        let missing = input.unknownContents.filter { !output.unknownContents.contains($0) }
        guard !input.unknownContents.isEmpty else { return nil }
        guard !missing.isEmpty else {
            return ReceiptItem("boxes", .kept, ReceiptText.count(input.unknownContents.count, "unknown type"))
        }
        return ReceiptItem(
            "boxes", .lost, "\(ReceiptText.count(missing.count, "unknown type")) of contents: the output has none",
            details: missing)
    }

    /// The largest difference of a chapter's times: one tick of a coarse time base.
    private static let chapterTolerance = 0.002

    private var chapters: ReceiptItem? {
        let (old, new) = (input.chapters, output.chapters)
        guard !old.isEmpty || !new.isEmpty else { return nil }
        if old.isEmpty {
            return ReceiptItem("chapters", .changed, "\(ReceiptText.count(new.count, "chapter")) added")
        }
        var left = new
        let missing = old.filter { chapter in
            let index = left.firstIndex {
                $0.title == chapter.title && abs($0.start - chapter.start) <= Self.chapterTolerance
            }
            if let index { left.remove(at: index) }
            return index == nil
        }
        guard !missing.isEmpty else {
            return ReceiptItem(
                "chapters", .kept, "\(ReceiptText.count(old.count, "chapter")), times and titles equal")
        }
        return ReceiptItem(
            "chapters", .lost,
            "\(missing.count) of \(ReceiptText.count(old.count, "chapter")) are missing or differ",
            details: missing.map { "\"\($0.title)\" at \(ReceiptText.time($0.start))" })
    }

    /// Keys that describe a container or its writer, not the contents.
    private static let technicalKeys: Set = [
        "major_brand", "minor_version", "compatible_brands", "encoder", "timecode", "handler_name", "vendor_id",
        "duration",
    ]

    private var metadata: ReceiptItem? {
        let (old, new) = (Self.canonical(input.info.metadata), Self.canonical(output.info.metadata))
        var missing = old.keys.sorted().filter { old[$0] != new[$0] }.map { key in
            new[key].map { "\(key): \"\($0)\", not \"\(old[key] ?? "")\"" } ?? "\(key): \"\(old[key] ?? "")\""
        }
        let (from, to) = (input.track?.language, output.track?.language)
        if let from, from != "und", from != to {
            missing.append("language of the video: \(to ?? "none"), not \(from)")
        }
        guard !old.isEmpty || !missing.isEmpty else { return nil }
        guard !missing.isEmpty else {
            return ReceiptItem("metadata", .kept, "\(ReceiptText.count(old.count, "key")), values equal")
        }
        return ReceiptItem(
            "metadata", .lost,
            "\(missing.count) of \(ReceiptText.count(max(old.count, missing.count), "key")) "
                + "are missing or differ", details: missing)
    }

    /// Keys in one form: containers have the same key with and without QuickTime's domain or a language.
    private static func canonical(_ metadata: [String: String]) -> [String: String] {
        var result: [String: String] = [:]
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            var name = key.lowercased()
            if name.hasPrefix("com.apple.quicktime.") { name.removeFirst("com.apple.quicktime.".count) }
            if name.hasSuffix(".iso6709") { name.removeLast(".iso6709".count) }
            if name.hasSuffix("-eng") { name.removeLast("-eng".count) }
            // libavformat names itself in the keys of some formats.
            guard !technicalKeys.contains(name), !value.isEmpty, !value.hasPrefix("Lavf") else { continue }
            guard name == "creation_time" else {
                result[name] = result[name] ?? value
                continue
            }
            // Formats write a time with different delimiters; the zero of their clocks is no time.
            let digits = String(value.filter(\.isNumber).prefix(14))
            if !digits.hasPrefix("19700101000000"), !digits.hasPrefix("1904") { result[name] = digits }
        }
        return result
    }
}
