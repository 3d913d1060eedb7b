// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDShaders
internal import HWDWire

/// The words of a Create call as what they stand for; a word without a meaning is refused by name.
enum TransferParameters {
    /// Names of `video_full_range_flag`'s values.
    private enum SampleRange: String, CaseIterable {
        case video, full
    }

    /// One of an enumeration's words.
    ///
    /// - Throws: `Parameter`, naming the field, the word and those that there are.
    static func named<Word: RawRepresentable<String> & CaseIterable>(
        _ text: String, _ field: String
    ) throws(SessionError) -> Word {
        guard let word = Word(rawValue: text) else {
            let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw SessionError(.parameter, "\(field) \(text.prefix(64)) is not one of \(known)")
        }
        return word
    }

    private static func named<Word: RawRepresentable<String> & CaseIterable>(
        _ text: String?, _ field: String, else other: Word
    ) throws(SessionError) -> Word {
        if let text { try named(text, field) } else { other }
    }

    /// Where it is to run: a kind of device, or a GPU by its PCI address.
    ///
    /// - Throws: `Parameter` for what is neither.
    static func device(_ text: String, _ start: WorkerStart) throws(SessionError) -> ConverterChoice.Request {
        let hints = start.vulkan
        var request = ConverterChoice.Request(preferred: hints.preferred, faults: hints.faults)
        if isPCIAddress(text) {
            (request.device, request.required) = (.vulkan, text)
        } else {
            request.device = try named(text, "device")
        }
        // A probe may have been long ago: who asks for Vulkan by name gets it tried, at the cost of this session.
        let failure = start.failures.first { $0.codecID == VulkanHints.converterID }
        request.avoidReason =
            failure.map { "Vulkan is left alone: \($0.reason)" } ?? (request.device == .auto ? hints.avoidReason : nil)
        return request
    }

    /// Whether a text is like `0000:03:00.0`.
    private static func isPCIAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let last = parts.last?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, last.count == 2 else { return false }
        return zip([parts[0], parts[1], last[0], last[1]], [4, 2, 2, 1]).allSatisfy { part, digits in
            part.count == digits && part.allSatisfy { $0.isASCII && $0.isHexDigit }
        }
    }

    /// The frames of one side.
    static func image(
        _ image: CreateTransferSession.Image, _ width: Int, _ height: Int, _ side: String
    ) throws(SessionError) -> ImageDescription {
        guard let format = PixelFormat(rawValue: image.pixelFormat) else {
            let known = PixelFormat.allCases.map(\.rawValue).joined(separator: ", ")
            throw SessionError(
                .parameter, "\(side).pixel_format \(image.pixelFormat.prefix(64)) is not one of \(known)")
        }
        let signal = try assumed(format, width, height)
        if format == .rgba16f, let transfer = image.transfer, transfer != TransferFunction.linear.rawValue {
            throw SessionError(
                .pixelTransferNotSupported,
                "\(side): half floats are extended linear here, not \(transfer.prefix(64))")
        }
        let range: SampleRange = try named(
            image.range, "\(side).range", else: signal.isFullRange ? .full : .video)
        return ImageDescription(
            format: format, width: width, height: height,
            signal: SignalDescription(
                primaries: try named(image.primaries, "\(side).primaries", else: signal.primaries),
                transfer: try named(image.transfer, "\(side).transfer", else: signal.transfer),
                matrix: try named(image.matrix, "\(side).matrix", else: signal.matrix),
                isFullRange: range == .full,
                siting: try named(image.siting, "\(side).siting", else: signal.siting)),
            alpha: try named(image.alpha, "\(side).alpha", else: .premultiplied))
    }

    /// What is not told: BT.709's video, or its 601 where the picture is small; sRGB bytes; half floats of Display P3.
    private static func assumed(
        _ format: PixelFormat, _ width: Int, _ height: Int
    ) throws(SessionError) -> SignalDescription {
        switch format {
        case .rgba16f: SignalDescription(primaries: .displayP3, transfer: .linear)
        case .bgra8, .rgba8: SignalDescription(transfer: .sRGB)
        default: try SignalDescription(ColorDescription(), width: width, height: height)
        }
    }

    /// How it is done.
    static func options(_ wanted: CreateTransferSession.Options?) throws(SessionError) -> ConversionOptions {
        var options = ConversionOptions()
        guard let wanted else { return options }
        options.referenceWhite = wanted.referenceWhite ?? options.referenceWhite
        options.hlgPeak = wanted.hlgPeak ?? options.hlgPeak
        options.overRange = try named(wanted.overRange, "options.over_range", else: options.overRange)
        options.chromaDownsampling = try named(
            wanted.chromaDownsampling, "options.chroma_downsampling", else: options.chromaDownsampling)
        options.dither = wanted.dither ?? options.dither
        options.targetHeadroom = wanted.targetHeadroom
        options.masteringPeak = wanted.masteringPeak
        options.effects.exposure = wanted.exposure ?? options.effects.exposure
        options.effects.saturation = wanted.saturation ?? options.effects.saturation
        options.effects.sepia = wanted.sepia ?? options.effects.sepia
        return options
    }
}
