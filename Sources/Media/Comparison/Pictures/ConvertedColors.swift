// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The pictures of an output whose colors were converted because the input's color changes within the stream.
struct ConvertedColors {
    /// The number of pictures.
    private(set) var count = 0
    private var start = 0.0
    private var colors: (input: ColorDescription, output: ColorDescription)?
    /// The colors of the first pair, which the file's options decide.
    private var first: (input: ColorDescription, output: ColorDescription)?
    /// Pictures whose light another transfer function describes, and those of them that have the input's samples.
    private var relit = (all: 0, same: 0)
    private var mistaken: (input: ColorDescription, output: ColorDescription)?

    /// The largest distance of pictures with the same samples, and the contrast from which a conversion changes a picture.
    private static let (same, structured) = (1.0, 4.0)

    /// Whether a pair of pictures differs in color from each other otherwise than the first pair does.
    mutating func add(_ time: Double, _ input: ColorDescription, _ output: ColorDescription) -> Bool {
        guard let first else {
            first = (input, output)
            return false
        }
        guard !Self.areEqual(input, output),
            !Self.areEqual(input, first.input) || !Self.areEqual(output, first.output)
        else { return false }
        if count == 0 { (start, colors) = (time, (input, output)) }
        count += 1
        return true
    }

    /// Looks for pictures that got another description and kept their samples.
    mutating func addSamples(
        _ old: PictureSignature, _ new: PictureSignature, _ input: ColorDescription, _ output: ColorDescription
    ) {
        guard input.isHDR != output.isHDR, old.deviation > Self.structured else { return }
        relit.all += 1
        guard old.distance(to: new) < Self.same else { return }
        relit.same += 1
        mistaken = mistaken ?? (input, output)
    }

    /// What the pictures add to the item of the color; nil where nothing was converted.
    var item: ReceiptItem? {
        if let mistaken, relit.same == relit.all {
            return ReceiptItem(
                "color", .lost,
                "\(ReceiptText.count(relit.same, "picture")) of \(ReceiptText.points(mistaken.input)) have the tags "
                    + "\(ReceiptText.points(mistaken.output)) and the same samples: they were not converted")
        }
        guard let colors else { return nil }
        return ReceiptItem(
            "color", .changed,
            "the color changes within the input: \(ReceiptText.count(count, "picture")), the first at "
                + "\(ReceiptText.time(start)), were converted from \(ReceiptText.points(colors.input)) to "
                + ReceiptText.points(colors.output))
    }

    private static func areEqual(_ first: ColorDescription, _ second: ColorDescription) -> Bool {
        (first.primaries, first.transfer, first.matrix) == (second.primaries, second.transfer, second.matrix)
            && first.isFullRange == second.isFullRange
    }
}
