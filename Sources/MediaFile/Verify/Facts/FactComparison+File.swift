// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension FactComparison {
    /// The items of the files beside the pictures; audio and subtitles are compared by their packets.
    var fileItems: [ReceiptItem?] { [otherStreams, chapters, metadata] }

    private var otherStreams: ReceiptItem? {
        let streams = Self.others(input)
        guard !streams.isEmpty else { return nil }
        var found = Self.others(output).map(\.kind)
        let missing = streams.filter { stream in
            guard let place = found.firstIndex(of: stream.kind) else { return true }
            found.remove(at: place)
            return false
        }
        guard !missing.isEmpty else {
            return ReceiptItem("streams", .kept, "\(ReceiptText.count(streams.count, "other stream"))")
        }
        var item = ReceiptItem(
            "streams", .lost,
            "\(missing.count) of \(ReceiptText.count(streams.count, "other stream")) are not there",
            details: missing.map { "stream \($0.number) (\($0.kind))" })
        item.expected = "only one video stream, audio, subtitles and timecodes are copied"
        return item
    }

    /// The numbers of a file's streams beside the video, audio and subtitles, with contents and codecs.
    private static func others(_ file: FileFacts) -> [(number: Int, kind: String)] {
        let videos = file.info.video.filter { $0.stream != file.video.streamIndex }
        // Titles of chapters belong to those; a timecode is written anew.
        let others = file.info.otherStreams.filter { stream in
            !["audio", "subtitle"].contains(stream.content) && stream.tag != "tmcd"
                && !(file.chapters.count > 0 && stream.codec == "bin_data")
        }
        return videos.map { ($0.stream, "\($0.picture ? "picture" : "video"), \($0.codec)") }
            + others.map { ($0.stream, "\($0.content), \($0.codec)") }
    }

    /// The largest difference of a chapter's times: one tick of a coarse time base.
    private static let chapterTolerance = 0.002

    private var chapters: ReceiptItem? {
        let (old, new) = (input.chapters, output.chapters)
        guard !old.isEmpty || !new.isEmpty else { return nil }
        if old.isEmpty {
            return ReceiptItem("chapters", .changed, "\(ReceiptText.count(new.count, "chapter")) added")
        }
        let missing = old.filter { chapter in
            !new.contains { $0.title == chapter.title && abs($0.start - chapter.start) <= Self.chapterTolerance }
        }
        guard !missing.isEmpty else {
            return ReceiptItem(
                "chapters", .kept, "\(ReceiptText.count(old.count, "chapter")), times and titles equal")
        }
        return ReceiptItem(
            "chapters", .lost,
            "\(missing.count) of \(ReceiptText.count(old.count, "chapter")) are not there as they were",
            details: missing.map { "\"\($0.title)\" at \(ReceiptText.time($0.start))" })
    }

    /// Keys that describe a container or its writer, not the contents.
    private static let technicalKeys: Set = [
        "major_brand", "minor_version", "compatible_brands", "encoder", "timecode", "handler_name", "vendor_id",
        "creation_time", "duration",
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
                + "are not there as they were", details: missing)
    }

    /// Keys in one form: containers have the same key with and without QuickTime's domain or a language.
    private static func canonical(_ metadata: [String: String]) -> [String: String] {
        var result: [String: String] = [:]
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            var name = key.lowercased()
            if name.hasPrefix("com.apple.quicktime.") { name.removeFirst("com.apple.quicktime.".count) }
            if name.hasSuffix(".iso6709") { name.removeLast(".iso6709".count) }
            if name.hasSuffix("-eng") { name.removeLast("-eng".count) }
            guard !technicalKeys.contains(name), !value.isEmpty else { continue }
            result[name] = result[name] ?? value
        }
        return result
    }
}
