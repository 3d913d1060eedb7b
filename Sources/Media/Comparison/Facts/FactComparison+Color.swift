// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDHEVC
internal import HWDMetadata
internal import HWDModel

extension FactComparison {
    var color: ReceiptItem? {
        let (old, new) = (input.video.color, output.video.color)
        let (from, to) = (ReceiptText.color(old), ReceiptText.color(new))
        if output.contradictsItself, !input.contradictsItself, let box = output.boxColor,
            let stream = output.streamColor
        {
            return ReceiptItem(
                "color", .lost,
                "the output's sample entry says \(ReceiptText.points(box)) and its coded stream says "
                    + "\(ReceiptText.points(stream)); the input is \(from)")
        }
        // SDR stays as it is where SDR is requested.
        if let target = asked.hdr?.targetTransfer, target != old.transfer, asked.hdr != .sdr || old.isHDR {
            let points: UInt8 = target == 1 ? 1 : 9
            return (new.primaries, new.transfer, new.matrix) == (points, target, points)
                ? ReceiptItem("color", .changed, "\(from) was converted to \(to), as asked for")
                : ReceiptItem("color", .lost, "\(to), and \(points)/\(target)/\(points) was asked for")
        }
        if matches(old, new) { return ReceiptItem("color", .kept, to) }
        guard old.isSpecified || old.isFullRange != new.isFullRange else {
            return Self.hasLookOfUntagged(new)
                ? ReceiptItem("color", .changed, "the tags \(to) were added")
                : ReceiptItem("color", .lost, "\(to) was added, which is shown otherwise than \(from)")
        }
        return ReceiptItem("color", .lost, "\(to), not \(from)")
    }

    /// Whether players show such tags as they show none: as SDR with the primaries and matrices of BT.601 and BT.709.
    private static func hasLookOfUntagged(_ color: ColorDescription) -> Bool {
        [1, 2, 5, 6, 7].contains(color.primaries) && [1, 2, 4, 5, 6, 7, 13, 14, 15].contains(color.transfer)
            && [0, 1, 2, 5, 6, 7].contains(color.matrix)
    }

    /// Whether the tags are those of the same colors; a preferred transfer function counts as the one that it replaces.
    private func matches(_ first: ColorDescription, _ second: ColorDescription) -> Bool {
        let isSameTransfer =
            first.transfer == second.transfer
            || first.transfer == input.video.color.transfer && second.transfer == output.video.color.transfer
                && input.transfer == output.transfer
        return first.primaries == second.primaries && first.matrix == second.matrix && isSameTransfer
            && first.isFullRange == second.isFullRange
    }

    var mastering: ReceiptItem? {
        messages("mastering", "mastering display") {
            $0.video.masteringDisplay
        } stream: {
            $0.streamMastering
        }
    }

    var light: ReceiptItem? {
        messages("light", "content light levels") {
            $0.video.contentLight
        } stream: {
            $0.streamLight
        }
    }

    /// Compares what the container or, without it there, the first picture says, and what the coded stream says.
    private func messages(
        _ name: String, _ title: String, _ value: (FileFacts) -> [UInt8]?, stream: (FileFacts) -> [UInt8]?
    ) -> ReceiptItem? {
        let coded = stream(output)
        switch (value(input), value(output)) {
        case (nil, nil): return nil
        case (nil, _?): return ReceiptItem(name, .changed, "\(title) added")
        case (let old?, nil):
            return ReceiptItem(name, .lost, "the output has no \(title)", details: [hexadecimal("input", old)])
        case (let old?, let new?):
            guard old == new else {
                return ReceiptItem(
                    name, .lost, "the output has other \(title) values",
                    details: [hexadecimal("input", old), hexadecimal("output", new)])
            }
            if let coded, coded != new, stream(input) != coded {
                return ReceiptItem(
                    name, .lost, "the output's coded stream has other \(title) values than its boxes",
                    details: [hexadecimal("boxes", new), hexadecimal("stream", coded)])
            }
            return ReceiptItem(name, .kept, "\(title): \(old.count) bytes equal")
        }
    }

    private func hexadecimal(_ name: String, _ bytes: [UInt8]) -> String { "\(name): \(Hexadecimal.text(bytes))" }

    var ambient: ReceiptItem? {
        switch (input.video.ambientViewing, output.video.ambientViewing) {
        case (nil, nil): nil
        case (nil, _?): ReceiptItem("ambient", .changed, "an ambient viewing environment was added")
        case (let old?, let new) where old == new:
            ReceiptItem("ambient", .kept, "ambient viewing environment: \(old.count) bytes equal")
        case (_?, nil): ReceiptItem("ambient", .lost, "the output has no ambient viewing environment")
        case (let old?, let new?):
            ReceiptItem(
                "ambient", .lost, "the output has another ambient viewing environment",
                details: [hexadecimal("input", old), hexadecimal("output", new)])
        }
    }

    var dolbyVision: ReceiptItem? {
        switch (input.video.dolbyVision, output.video.dolbyVision) {
        case (nil, nil): nil
        case (nil, let new?): ReceiptItem("dolby-vision", .changed, "a configuration was added: \(profile(new))")
        case (let old?, nil):
            ReceiptItem("dolby-vision", .lost, "the output has no Dolby Vision configuration (\(profile(old)))")
        case (let old?, let new?) where old == new: ReceiptItem("dolby-vision", .kept, profile(old))
        case (let old?, let new?):
            // The level follows from size and rate; profile and compatibility say how pictures are shown.
            ReceiptItem(
                "dolby-vision", profile(old) == profile(new) ? .changed : .lost,
                "the configuration is \(profile(new)), not \(profile(old))",
                details: [hexadecimal("input", old), hexadecimal("output", new)])
        }
    }

    /// `profile 8.4`, from a configuration record.
    private func profile(_ record: [UInt8]) -> String {
        (try? DolbyVisionConfiguration(bytes: record)).map { "profile \($0.profileName)" } ?? "damaged"
    }
}
