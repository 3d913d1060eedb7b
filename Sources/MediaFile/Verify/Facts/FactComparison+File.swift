// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension FactComparison {
    /// The items of the files beside the pictures; audio and subtitles are compared by their packets.
    var fileItems: [ReceiptItem?] { [otherStreams, chapters, metadata] }

    private var otherStreams: ReceiptItem? {
        let copied: Set = ["audio", "subtitle"]
        let videos = input.info.video.filter { $0.stream != input.video.streamIndex }
        // Titles of chapters and a timecode are compared as such.
        let others = input.info.otherStreams.filter { stream in
            !copied.contains(stream.content) && !(input.chapters.count > 0 && stream.codec == "bin_data")
                && stream.tag != "tmcd"
        }
        let names =
            videos.map { "stream \($0.stream) (\($0.picture ? "picture" : "video"), \($0.codec))" }
            + others.map { "stream \($0.stream) (\($0.content), \($0.codec))" }
        guard !names.isEmpty else { return nil }
        let kept = output.info.video.count - 1 + output.info.otherStreams.count { !copied.contains($0.content) }
        guard kept < names.count else {
            return ReceiptItem("streams", .kept, "\(ReceiptText.count(names.count, "other stream"))")
        }
        var item = ReceiptItem(
            "streams", .lost,
            "\(names.count - kept) of \(ReceiptText.count(names.count, "other stream")) are not there",
            details: names)
        item.expected = "only one video stream, audio, subtitles and timecodes are copied"
        return item
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
