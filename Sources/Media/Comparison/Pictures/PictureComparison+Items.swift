// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension PictureComparison {
    /// The items of frames, timestamps and pictures.
    ///
    /// - Parameter damage: why pictures of the input cannot be decoded; nil for an input without damage.
    func items(_ rules: Rules, isCopied: Bool, damage: String?) -> [ReceiptItem] {
        let isDamaged = damage != nil
        return [
            frames(damage), timestamps(rules), duration(rules),
            pictures(rules, isCopied: isCopied, isDamaged: isDamaged),
        ].compactMap { $0 }
    }

    private func frames(_ damage: String?) -> ReceiptItem {
        guard missing.count > 0 || added.count > 0 else {
            let count = ReceiptText.count(counts.input, "frame")
            // Pictures that nobody can decode are in neither file.
            return damage.map { ReceiptItem("frames", .changed, "\(count); the input is damaged: \($0)") }
                ?? ReceiptItem("frames", .kept, count)
        }
        var sentences: [String] = []
        if missing.count > 0 {
            sentences.append(
                "\(missing.count) of \(ReceiptText.count(counts.input, "frame")) \(missing.count == 1 ? "is" : "are") "
                    + "dropped, \(ReceiptText.places(missing.times, count: missing.count))")
        }
        if added.count > 0 {
            let what = added.list.allSatisfy(\.isRepeated) ? "doubled" : "added"
            sentences.append(
                "\(ReceiptText.count(added.count, "frame")) \(added.count == 1 ? "is" : "are") \(what), "
                    + ReceiptText.places(added.list.map(\.time), count: added.count))
        }
        let details =
            missing.times.map { "dropped: the frame at \(ReceiptText.time($0))" }
            + added.list.map { "\($0.isRepeated ? "doubled" : "added"): a frame at \(ReceiptText.time($0.time))" }
        return ReceiptItem("frames", .lost, sentences.joined(separator: "; "), details: details)
    }

    /// The largest difference that counts as rounding: a container with ticks of 1 ms.
    private static let maxRounding = 0.001

    private func timestamps(_ rules: Rules) -> ReceiptItem? {
        guard pairs > 0 else { return nil }
        switch (rules.isInputUntimed, rules.isOutputUntimed) {
        case (true, true): return nil
        case (true, false): return ReceiptItem("timestamps", .changed, "the input stores no times, the output does")
        case (false, true): return ReceiptItem("timestamps", .lost, "the output stores no times")
        case (false, false): break
        }
        guard abs(rules.offset) <= rules.rounding else {
            let direction = rules.offset > 0 ? "later" : "earlier"
            return ReceiptItem(
                "timestamps", .lost, "all frames are \(ReceiptText.milliseconds(rules.offset)) \(direction)")
        }
        if timing.difference <= rules.rounding { return ReceiptItem("timestamps", .kept, "equal") }
        let amount = ReceiptText.milliseconds(timing.difference)
        if timing.difference <= rules.rounding + Self.maxRounding {
            return ReceiptItem("timestamps", .changed, "rounded, by \(amount) at most")
        }
        return ReceiptItem(
            "timestamps", .lost, "moved by up to \(amount), at \(ReceiptText.time(timing.time))")
    }

    private func duration(_ rules: Rules) -> ReceiptItem? {
        guard pairs > 0, !rules.countsPictures else { return nil }
        let (old, new) = (ends.input, ends.output - rules.offset)
        let difference = abs(new - old)
        let sentence = "the last picture ends at \(ReceiptText.time(ends.output))"
        if difference <= rules.rounding + Self.maxRounding { return ReceiptItem("duration", .kept, sentence) }
        let other = "\(sentence), not at \(ReceiptText.time(old + rules.offset))"
        // How long the last picture is shown is often not stored, and derived from the frame rate.
        return ReceiptItem("duration", difference <= 2.5 * rules.tolerance ? .changed : .lost, other)
    }

    private func pictures(_ rules: Rules, isCopied: Bool, isDamaged: Bool) -> ReceiptItem? {
        guard pairs > 0 else { return nil }
        if isCopied, quality.isExact, order.count == 0 {
            return ReceiptItem("pictures", .kept, "the coded pictures are the input's own")
        }
        if isCopied, !isDamaged {
            return ReceiptItem(
                "pictures", .lost,
                "the slices are unchanged but decode to different samples: the parameter sets differ")
        }
        if order.count > 0 { return wrongPictures }
        if let fault = contrast.fault { return ReceiptItem("pictures", .lost, fault) }
        if rules.isConverted {
            return ReceiptItem(
                "pictures", .changed,
                "converted, as requested; each is the one of its time, samples were not compared")
        }
        if differsInAlphaMode {
            return ReceiptItem(
                "pictures", .changed, "colors are multiplied by alpha in one file alone, samples were not compared")
        }
        return figuresItem
    }

    private var figuresItem: ReceiptItem {
        let others = colors.count > 0 ? "; \(colors.count) with converted colors were not compared" : ""
        if quality.isExact {
            return ReceiptItem("pictures", others.isEmpty ? .kept : .changed, "every sample is equal\(others)")
        }
        let names = ["Y", "Cb", "Cr", "alpha"]
        let values = names.indices.compactMap { component -> String? in
            guard let ssim = quality.ssim(component) else { return nil }
            let psnr = quality.psnr(component).map { "\(DecimalText.text($0, 2)) dB" } ?? "exact"
            return "\(names[component]) \(psnr) SSIM \(DecimalText.text(ssim, 4))"
        }
        let details = worst.map {
            ["lowest PSNR of Y: \(DecimalText.text($0.psnr, 2)) dB at \(ReceiptText.time($0.time))"]
        }
        return ReceiptItem(
            "pictures", .changed, "re-encoded: \(values.joined(separator: ", "))\(others)", details: details ?? [])
    }

    private var wrongPictures: ReceiptItem {
        let details = order.faults.map(Self.text)
        let more = order.count > 1 ? "; \(order.count - 1) more" : ""
        return ReceiptItem("pictures", .lost, (details.first ?? "") + more, details: details)
    }

    private static func text(_ fault: PictureOrder.Fault) -> String {
        switch fault {
        case .replaced(let time, let isBlank):
            "the picture at \(ReceiptText.time(time)) is replaced\(isBlank ? " by a uniform area" : "")"
        case .exchanged(let first, let second):
            "the pictures at \(ReceiptText.time(first)) and \(ReceiptText.time(second)) are exchanged"
        case .repeated(let time): "the picture at \(ReceiptText.time(time)) repeats the one before it"
        case .early(let time, let count):
            "\(ReceiptText.count(count, "picture")) from \(ReceiptText.time(time)) on "
                + "\(count == 1 ? "is" : "are") one frame early: a picture is missing"
        case .late(let time, let count):
            "\(ReceiptText.count(count, "picture")) from \(ReceiptText.time(time)) on are one frame late: a picture is "
                + "repeated"
        }
    }

    /// The largest difference of the mean of a cell of alpha that coding makes, in units of an 8-bit sample.
    private static let alphaTolerance: Float = 24

    /// The item of alpha where both files have it.
    var alphaItem: ReceiptItem? {
        guard alpha.pictures > 0 else { return nil }
        let psnr = quality.psnr(3).map { ", PSNR \(DecimalText.text($0, 2)) dB" } ?? ""
        if alpha.lowest.input < 250, alpha.lowest.output > 254 {
            return ReceiptItem("alpha", .lost, "the output is opaque everywhere, the input is not")
        }
        if alpha.difference > Self.alphaTolerance {
            return ReceiptItem("alpha", .lost, "the transparency differs\(psnr)")
        }
        return ReceiptItem("alpha", .kept, "transparency is kept\(psnr)")
    }

    /// The figures of the pictures; nil where no samples were compared.
    var figures: Receipt.Quality? {
        guard quality.pictures > 0 else { return nil }
        return Receipt.Quality(
            pictures: quality.pictures, isExact: quality.isExact, psnrY: quality.psnr(0), psnrCb: quality.psnr(1),
            psnrCr: quality.psnr(2), psnrAlpha: quality.psnr(3), ssimY: quality.ssim(0), ssimCb: quality.ssim(1),
            ssimCr: quality.ssim(2), ssimAlpha: quality.ssim(3), worstPSNRY: worst?.psnr, worstTime: worst?.time)
    }
}
