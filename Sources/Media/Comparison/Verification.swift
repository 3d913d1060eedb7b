// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
public import HWDLibAVReading
public import HWDMetadata
public import HWDModel

/// Compares an output with the input that it was made from, and writes a receipt.
///
/// Files are read twice: first their packets, then their decoded pictures. Neither is held in memory.
public final class Verification {
    /// Whether both files have alpha, so that their pictures must be decoded with it.
    public let comparesAlpha: Bool
    /// How the output's colors relate to its alpha layer; nil without one.
    public let outputAlphaMode: AlphaChannelMode?

    private let asked: AskedChanges
    private let facts: (input: FileFacts, output: FileFacts)
    private let isCopied: Bool
    private let rules: PictureComparison.Rules
    private let packetItems: [ReceiptItem]
    private var receipt: Receipt

    /// Compares the files' headers and packets.
    ///
    /// - Parameter isInterrupted: polled between packets.
    /// - Throws: errors of reading; `unsupported` for files that are too different to be compared in bounded memory.
    public init(
        _ input: InputFile, _ output: InputFile, _ asked: AskedChanges, isInterrupted: () -> Bool
    ) throws(MediaError) {
        self.asked = asked
        for file in [input, output] where !file.isSeekable && file.kind != .pictures {
            throw MediaError(.usage, "\(file.path) is a pipe: both files are read twice")
        }
        let old = try MediaReader(input, options: Self.options(asked, isInput: true))
        let new = try MediaReader(output, options: Self.options(asked, isInput: false))
        facts = (try FileFacts(input, old), try FileFacts(output, new))
        receipt = Receipt(input: input.path, output: output.path, asked: asked)
        var packets = try PacketComparison(old, new, asked.range)
        try packets.run(isInterrupted: isInterrupted)
        isCopied = packets.pictures.isCopied
        rules = Self.rules(facts.input, facts.output, packets, asked)
        comparesAlpha = facts.input.hasAlpha && facts.output.hasAlpha
        outputAlphaMode = facts.output.video.alphaLayerMode
        packetItems = packets.items(asked)
    }

    /// How a reader opens a file whose packets or pictures are compared.
    public static func options(_ asked: AskedChanges, isInput: Bool) -> MediaReader.Options {
        var options = MediaReader.Options()
        options.decoding = .disabled
        // Also where only pictures are compared: at a jump of timestamps all streams together decide what follows it.
        options.includesOtherStreams = true
        options.scalesToFirstSize = true
        if isInput {
            (options.frameRate, options.maxLevel) = (asked.frameRate, asked.maxLevel)
            options.start = asked.range?.start
        }
        return options
    }

    private static func rules(
        _ input: FileFacts, _ output: FileFacts, _ packets: PacketComparison, _ asked: AskedChanges
    ) -> PictureComparison.Rules {
        var rules = PictureComparison.Rules()
        rules.offset = packets.countsPictures ? 0 : packets.pictures.offset ?? 0
        (rules.isInputUntimed, rules.isOutputUntimed) = packets.isUntimed
        rules.tolerance = packets.tolerance
        rules.rounding = max(input.video.timeBase.value, output.video.timeBase.value) / 2 + 1e-6
        let isResized =
            asked.names.contains("size") && input.video.shown != output.video.shown || asked.crop != nil
            || asked.rotation != 0
        let (old, new) = (input.video.color, output.video.color)
        let isRecolored =
            asked.names.contains("color") && !asked.retags && AskedChanges.ColorChange(old, new) != .none
        let isToned = asked.hdr?.targetTransfer.map { $0 != old.transfer && ($0 != 1 || old.isHDR) } ?? false
        rules.isConverted = isResized || asked.names.contains("pictures") || isRecolored || isToned
        return rules
    }

    /// Compares the decoded pictures and completes the receipt.
    public func compare(_ input: any ComparedPictures, _ output: any ComparedPictures) throws -> Receipt {
        var pictures = PictureComparison(rules)
        try pictures.run(input, output)
        var items = FactComparison(
            input: facts.input, output: facts.output, asked: asked, isCopied: isCopied || asked.isCopy
        ).items
        if let alpha = pictures.alphaItem, let place = items.firstIndex(where: { $0.name == "alpha" }) {
            items[place] = alpha
        }
        addPacketItems(changesColor: pictures.colors.count > 0, changesSize: input.scaledPictures > 0)
        if let changed = pictures.colors.item, let place = items.firstIndex(where: { $0.name == "color" }),
            items[place].verdict != .lost
        {
            items[place] = changed
        }
        add(items)
        if let damage = output.damage {
            add([ReceiptItem("pictures", .lost, "the output is damaged: \(damage)")])
        }
        add(pictures.items(rules, isCopied: isCopied, damage: input.damage))
        receipt.quality = pictures.figures
        let order = FileContent.compared.map(\.rawValue)
        receipt.items.sort { first, second in
            let places = [first, second].map { item in order.firstIndex(of: item.name) ?? order.count }
            return (places[0], first.number ?? 0) < (places[1], second.number ?? 0)
        }
        return receipt
    }

    /// Adds the items of packets; metadata that describe samples do not hold for others, and those of scaled ones are adapted.
    private func addPacketItems(changesColor: Bool, changesSize: Bool) {
        add(
            packetItems.map { item in
                var item = item
                guard item.verdict == .lost, ["rpu", "hdr10+"].contains(item.name) else { return item }
                if changesColor { item.expected = "the color changes within the input" }
                if changesSize { item.expected = "the size changes within the input" }
                return item
            })
    }

    private func add(_ items: [ReceiptItem]) {
        let color = AskedChanges.ColorChange(facts.input.video.color, facts.output.video.color)
        for var item in items {
            if item.verdict == .lost {
                item.expected =
                    item.expected ?? asked.reason(for: item.name, color) ?? cut(item.name) ?? limit(item.name)
            }
            receipt.items.append(item)
        }
    }

    /// Why something that describes the whole picture is not there; nil where it holds for the output's pictures.
    ///
    /// Pictures of another size are the displayed part alone.
    private func cut(_ name: String) -> String? {
        guard asked.names.contains("size"), facts.input.video.cleanAperture != nil,
            [FileContent.projection, .dolbyVision].contains(where: { $0.rawValue == name })
        else { return nil }
        return "requested: size"
    }

    /// What a file whose pictures are not coded cannot hold, beside what a coded stream cannot.
    private static let needsStream: Set<FileContent> = [
        .color, .mastering, .light, .ambient, .rpu, .hdr10Plus, .captions, .levels,
    ]
    /// What `hwctl encode` leaves out with a line where the output's format does not hold it.
    private static let isLeftOut: Set<FileContent> = [.profile, .projection, .views, .colorVolume, .tracks]

    /// Why an output cannot hold something; nil where it can.
    private func limit(_ name: String) -> String? {
        guard let content = FileContent(rawValue: name) else { return nil }
        guard facts.output.container == .pictures else {
            if content == .unknown { return "boxes and side data of unknown types are not copied" }
            if content == .size, facts.output.isUncropped(facts.input) { return "the output cannot crop pictures" }
            guard Self.isLeftOut.contains(content) else { return nil }
            if content.treatment(in: .mov) == .copied, !isCopied { return "it does not describe encoded pictures" }
            return facts.output.format.flatMap { content.isHeld(by: $0) ? nil : "\($0.title) holds none" }
        }
        let isCoded = facts.output.video.codec == "hevc"
        guard !content.isHeld(by: .hevc) || !isCoded && Self.needsStream.contains(content) else { return nil }
        return isCoded ? "a raw HEVC stream holds only pictures" : "the output holds only pictures"
    }
}
