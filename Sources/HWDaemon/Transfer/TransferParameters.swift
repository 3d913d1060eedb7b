// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion
internal import HWDWire

/// Parses the names in a Create call's parameters; unknown names are refused.
enum TransferParameters {
    /// Names of `video_full_range_flag`'s values.
    private enum SampleRange: String, CaseIterable {
        case video, full
    }

    /// Parses the device: a kind, or a GPU's PCI address.
    ///
    /// - Throws: `Parameter` for any other text.
    static func device(_ text: String, _ start: WorkerStart) throws(SessionError) -> ConverterChoice.Request {
        let hints = start.vulkan
        var request = ConverterChoice.Request(
            preferred: hints.preferred, faults: hints.faults, speeds: hints.speeds)
        if isPCIAddress(text) {
            (request.device, request.required) = (.vulkan, text)
        } else {
            request.device = try ConverterChoice.Device(named: text, "device")
        }
        // The probe may be long ago: a session that names Vulkan tries it, and only that session fails with it.
        let failure = start.failures.first { $0.codecID == VulkanHints.converterID }
        request.avoidReason =
            failure.map { "Vulkan is left alone: \($0.reason)" }
            ?? (request.device == .auto ? hints.avoidReason : nil)
        return request
    }

    /// Whether a text has the form `0000:03:00.0`.
    private static func isPCIAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let last = parts.last?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, last.count == 2 else { return false }
        return zip([parts[0], parts[1], last[0], last[1]], [4, 2, 2, 1]).allSatisfy { part, digits in
            part.count == digits && part.allSatisfy { $0.isASCII && $0.isHexDigit }
        }
    }

    /// Describes the frames of one side.
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
                "\(side): half floats are always extended linear, not \(transfer.prefix(64))")
        }
        let range = try SampleRange(
            named: image.range, "\(side).range", else: signal.isFullRange ? .full : .video)
        return ImageDescription(
            format: format, width: width, height: height,
            signal: SignalDescription(
                primaries: try .init(named: image.primaries, "\(side).primaries", else: signal.primaries),
                transfer: try .init(named: image.transfer, "\(side).transfer", else: signal.transfer),
                matrix: try .init(named: image.matrix, "\(side).matrix", else: signal.matrix),
                isFullRange: range == .full,
                siting: try .init(named: image.siting, "\(side).siting", else: signal.siting)),
            alpha: try .init(named: image.alpha, "\(side).alpha", else: .premultiplied))
    }

    /// The defaults: BT.709 video, BT.601 for small pictures; sRGB for RGB in words; linear Display P3 for half floats.
    private static func assumed(
        _ format: PixelFormat, _ width: Int, _ height: Int
    ) throws(SessionError) -> SignalDescription {
        switch format {
        case .rgba16f: SignalDescription(primaries: .displayP3, transfer: .linear)
        case _ where format.isRGB: SignalDescription(transfer: .sRGB)
        default: try SignalDescription(ColorDescription(), width: width, height: height)
        }
    }

    private static func scaling(_ requested: CreateTransferSession.Options) throws(SessionError) -> ScalingOptions {
        var scaling = try ScalingOptions(
            filter: requested.scalingFilter, light: requested.scalingLight, mode: requested.scalingMode,
            cleanAperture: try PropertyText.rectangle(requested.cleanAperture, "options.clean_aperture"),
            of: "options")
        scaling.flipsHorizontally = requested.flipHorizontal ?? false
        scaling.flipsVertically = requested.flipVertical ?? false
        return scaling
    }

    /// Reads a list of effects and its tables.
    private static func effects(
        _ requested: CreateTransferSession.Options, _ target: SignalDescription
    ) throws(SessionError) -> Effects {
        var effects = Effects()
        effects.exposure = requested.exposure ?? effects.exposure
        effects.saturation = requested.saturation ?? effects.saturation
        effects.sepia = requested.sepia ?? effects.sepia
        let texts = requested.effects ?? []
        let members = [requested.exposure, requested.saturation, requested.sepia]
        guard requested.effects == nil || members == [nil, nil, nil] else {
            throw SessionError(
                .parameter, "options.effects excludes exposure, saturation and sepia, which it can have")
        }
        let (tables, added) = (requested.tables ?? [], requested.addedTables ?? 0)
        let most = EffectList.maxTables
        guard tables.count <= most, (0...most - tables.count).contains(added) else {
            throw SessionError(
                .parameter, "\(tables.count) tables and \(added) added ones are not possible; there may be \(most)")
        }
        effects.list = try list(texts, target, tableCount: tables.count + added)
        for (number, text) in tables.enumerated() {
            do throws(SessionError) { effects.tables.append(try CubeTable(text: Array(text.utf8))) } catch {
                throw SessionError(.parameter, "options.tables[\(number)]: \(error.reason)")
            }
        }
        if let table = effects.unnamedTable {
            throw SessionError(.parameter, "options.tables[\(table)]: no effect lut of options.effects names it")
        }
        // Something that stands for tables that follow; changes of effects may name them later.
        if added > 0 {
            let identity = try CubeTable(text: Array("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n".utf8))
            effects.tables += Array(repeating: identity, count: added)
        }
        return effects
    }

    /// Reads the texts of effects.
    ///
    /// - Throws: `Parameter`, also for a table that there will not be, and one whose coding is not known.
    static func list(
        _ texts: [String], _ target: SignalDescription, tableCount: Int
    ) throws(SessionError) -> EffectList {
        let list = try EffectList(texts: texts, .call)
        let isHDR = target.transfer.isHDR || target.transfer == .linear
        for effect in list.effects where effect.name == .lut {
            guard effect.word("space") != nil || !isHDR else {
                let known = CodingSpace.ofLUT.map(\.rawValue).joined(separator: ", ")
                throw SessionError(
                    .parameter, "the effect lut: with an HDR target, space is needed, which is one of \(known)")
            }
            guard let table = effect.table, table < tableCount else {
                throw SessionError(.parameter, "the effect lut: there is no table \(effect.table ?? 0)")
            }
        }
        return list
    }

    /// Parses the options of the conversion to a target.
    static func options(
        _ requested: CreateTransferSession.Options?, _ target: SignalDescription
    ) throws(SessionError) -> ConversionOptions {
        var options = ConversionOptions()
        guard let requested else { return options }
        options.referenceWhite = requested.referenceWhite ?? options.referenceWhite
        options.hlgPeak = requested.hlgPeak ?? options.hlgPeak
        options.overRange = try .init(named: requested.overRange, "options.over_range", else: options.overRange)
        options.chromaDownsampling = try .init(
            named: requested.chromaDownsampling, "options.chroma_downsampling", else: options.chromaDownsampling)
        options.dither = requested.dither ?? options.dither
        options.targetHeadroom = requested.targetHeadroom
        options.masteringPeak = requested.masteringPeak
        options.effects = try effects(requested, target)
        options.scaling = try scaling(requested)
        return options
    }
}
