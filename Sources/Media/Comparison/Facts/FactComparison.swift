// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Compares what two files' headers say.
struct FactComparison {
    let input: FileFacts
    let output: FileFacts
    let asked: AskedChanges
    /// Whether the coded pictures are the input's own.
    let isCopied: Bool

    /// One item for each thing that the input or the output has.
    var items: [ReceiptItem] {
        let shape = [size, aspect, rotation, fields, depth, chroma]
        let hdr = [color, profile, mastering, light, ambient, dolbyVision]
        let descriptions = [projection, boxes(.views), boxes(.colorVolume)]
        return (shape + hdr + descriptions + [alpha, levels] + fileItems).compactMap { $0 }
    }

    private var size: ReceiptItem? {
        let (old, new) = (input.video.shown, output.video.shown)
        let (from, to) = (input.video.shownSize, output.video.shownSize)
        if old == new { return ReceiptItem("size", .kept, to) }
        let padded = ((input.video.width + 1) / 2 * 2, (input.video.height + 1) / 2 * 2)
        if output.container == .pictures, (output.video.width, output.video.height) == padded {
            return ReceiptItem("size", .changed, "\(from) is coded as \(to): the output has no clean aperture")
        }
        let isRequested = asked.names.contains("size") || asked.crop != nil || asked.rotation != 0
        return isRequested
            ? ReceiptItem("size", .changed, "\(from) became \(to), as asked for")
            : ReceiptItem("size", .lost, "\(from) became \(to)")
    }

    private var aspect: ReceiptItem? {
        let square = Rational(1)
        let (old, new) = (input.video.sampleAspectRatio ?? square, output.video.sampleAspectRatio ?? square)
        guard old != square || new != square else { return nil }
        func text(_ ratio: Rational) -> String { "\(ratio.numerator):\(ratio.denominator)" }
        return old == new
            ? ReceiptItem("aspect", .kept, "a sample's sides are \(text(old))")
            : ReceiptItem(
                "aspect", asked.names.contains("aspect") ? .changed : .lost,
                "a sample's sides are \(text(new)), not \(text(old))")
    }

    private var rotation: ReceiptItem? {
        let identity: [Int32] = [1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30]
        let (old, new) = (input.video.displayMatrix ?? identity, output.video.displayMatrix ?? identity)
        guard old != identity || new != identity else { return nil }
        func degrees(_ video: VideoDescription) -> String { "\(DecimalText.text(video.rotation, 0))°" }
        if old == new { return ReceiptItem("rotation", .kept, "turned by \(degrees(input.video))") }
        if old[0..<2] == new[0..<2], old[3..<5] == new[3..<5] {
            return ReceiptItem(
                "rotation", .changed, "turned by \(degrees(input.video)), with another position of the picture")
        }
        return ReceiptItem(
            "rotation", asked.names.contains("rotation") ? .changed : .lost,
            "turned by \(degrees(output.video)), not by \(degrees(input.video))",
            details: ["display matrix \(old) became \(new)"])
    }

    private var fields: ReceiptItem? {
        let (old, new) = (input.video, output.video)
        guard old.isInterlaced || new.isInterlaced else { return nil }
        func text(_ video: VideoDescription) -> String {
            guard video.isInterlaced else { return "progressive" }
            return video.fieldDetail.map { $0.isTopFirst ? "top field first" : "bottom field first" }
                ?? "interlaced"
        }
        return text(old) == text(new)
            ? ReceiptItem("fields", .kept, text(new))
            : ReceiptItem("fields", .lost, "the output is \(text(new)), the input is \(text(old))")
    }

    private var depth: ReceiptItem? {
        let (old, new) = (input.video.sourceBitDepth, output.video.sourceBitDepth)
        let (from, to) = (input.video.sourceFormat, output.video.sourceFormat)
        let sentence = from == to ? "\(new) bits (\(to))" : "\(old) bits (\(from)) became \(new) bits (\(to))"
        if from == to { return ReceiptItem("depth", .kept, sentence) }
        // HEVC with alpha has 8 bits; other pictures are coded with 8 or 10.
        let needed = output.hasAlpha ? 8 : min(old, 10)
        return ReceiptItem("depth", new < needed ? .lost : old == new ? .kept : .changed, sentence)
    }

    private var chroma: ReceiptItem? {
        guard let old = input.track?.chroma, let new = output.track?.chroma else { return nil }
        if old == new { return ReceiptItem("chroma", .kept, new) }
        // Chroma samples for each sample of luma, in eighths.
        let samples = ["4:0:0": 0, "4:2:0": 4, "4:1:1": 4, "4:2:2": 8, "4:4:4": 16, "RGB": 16]
        guard let from = samples[old], let to = samples[new], to < from else {
            return ReceiptItem("chroma", .changed, "\(old) became \(new)")
        }
        var item = ReceiptItem("chroma", .lost, "\(old) became \(new)")
        if new == "4:2:0" { item.expected = "pictures are coded in 4:2:0" }
        return item
    }

    private var profile: ReceiptItem? {
        Self.profile(
            input.video.profile, output.video.profile, varies: input.video.profileVaries && !isCopied)
    }

    /// - Parameter varies: whether the input's pictures have several profiles, or some none, and are coded again.
    static func profile(_ old: [UInt8]?, _ new: [UInt8]?, varies: Bool) -> ReceiptItem? {
        var item = bytes(.profile, "ICC profile", old, new)
        // Only later pictures have one.
        if varies, old == nil, new == nil {
            item = ReceiptItem(FileContent.profile.rawValue, .lost, "the output has no ICC profile")
        }
        if varies, item?.verdict == .lost { item?.expected = "not all of the pictures have it" }
        return item
    }

    private var projection: ReceiptItem? {
        let (old, new) = (Projection.contents(input.video.projection), Projection.contents(output.video.projection))
        return Self.bytes(
            .projection, "projection (\(Self.types(old.isEmpty ? new : old)))",
            old.isEmpty ? nil : old.flatMap(\.bytes), new.isEmpty ? nil : new.flatMap(\.bytes))
    }

    /// Compares the boxes of a row of the table, byte for byte.
    private func boxes(_ content: FileContent) -> ReceiptItem? {
        func found(_ file: FileFacts) -> [Box] {
            file.carriedBoxes.filter { content.boxes.contains($0.type.description) }
                .sorted { $0.type.rawValue < $1.type.rawValue }
        }
        let (old, new) = (found(input), found(output))
        return Self.bytes(
            content, Self.types(old.isEmpty ? new : old), old.isEmpty ? nil : old.flatMap(\.bytes),
            new.isEmpty ? nil : new.flatMap(\.bytes))
    }

    private static func types(_ boxes: [Box]) -> String { boxes.map(\.type.description).joined(separator: ", ") }

    private static func bytes(
        _ content: FileContent, _ title: String, _ old: [UInt8]?, _ new: [UInt8]?
    ) -> ReceiptItem? {
        let name = content.rawValue
        switch (old, new) {
        case (nil, nil): return nil
        case (nil, _?): return ReceiptItem(name, .changed, "\(title) was added")
        case (_?, nil): return ReceiptItem(name, .lost, "the output has no \(title)")
        case (let old?, let new?):
            return old == new
                ? ReceiptItem(name, .kept, "\(title): \(old.count) bytes equal")
                : ReceiptItem(name, .lost, "the output has another \(title)")
        }
    }

    private var alpha: ReceiptItem? {
        switch (input.hasAlpha, output.hasAlpha) {
        case (false, false): nil
        case (true, false): ReceiptItem("alpha", .lost, "the output has no alpha")
        case (false, true): ReceiptItem("alpha", .changed, "alpha was added")
        case (true, true): ReceiptItem("alpha", .kept, "both files have alpha")
        }
    }

    private var levels: ReceiptItem? {
        let (old, new) = (input.track?.levels?.count ?? 1, output.track?.levels?.count ?? 1)
        guard old > 1 || new > 1 else { return nil }
        if old == new { return ReceiptItem("levels", .kept, "\(new) temporal levels") }
        let sentence = "\(ReceiptText.count(old, "temporal level")) became \(new)"
        // The structure belongs to the coded stream: another encoder chooses its own.
        guard isCopied, new < old else { return ReceiptItem("levels", .changed, sentence) }
        return ReceiptItem("levels", .lost, sentence)
    }
}
