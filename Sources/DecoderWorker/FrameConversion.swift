// SPDX-License-Identifier: GPL-2.0-or-later
internal import Color
internal import LibAV
internal import Model
internal import Sessions
internal import Shaders
internal import Transport
internal import Wire

/// Brings decoded pictures to the RGB that a session asked for, into memory that its client reads.
final class FrameConversion {
    private let wanted: ColorWish
    private let format: PixelFormat
    private let decoded: PictureStore
    private let output: PictureStore
    /// The last conversion: streams seldom change their colour.
    private var last: (conversion: Conversion, converter: any PixelConverter)?
    /// What is known of Vulkan; its GPU to prefer is the one that decodes.
    private let vulkan: VulkanHints
    /// What converts and why, told when it is made.
    private let onChoice: (ConverterChoice.Chosen) -> Void

    /// A conversion of pictures that lie in one store to another.
    init(
        _ wanted: ColorWish, to format: PixelFormat, from decoded: PictureStore, into output: PictureStore,
        vulkan: VulkanHints, onChoice: @escaping (ConverterChoice.Chosen) -> Void
    ) {
        self.vulkan = vulkan
        self.wanted = wanted
        self.format = format
        self.decoded = decoded
        self.output = output
        self.onChoice = onChoice
    }

    /// Gives a slot back when it goes.
    private final class Holder: Sendable {
        let store: PictureStore
        let slot: Int
        init(_ store: PictureStore, _ slot: Int) { (self.store, self.slot) = (store, slot) }
        deinit { store.free(slot) }
    }

    /// A picture's double in RGB, and what keeps it where it is.
    ///
    /// - Parameters:
    ///   - color: what the picture's values mean.
    ///   - mode: whether its colours are to be multiplied by alpha; nil leaves them as they are.
    /// - Throws: `PixelTransferNotSupported` for a colour that is not converted; what waiting for the client throws.
    func convert(
        _ picture: OutputPicture, _ color: ColorDescription, alpha mode: AlphaChannelMode?
    ) throws(SessionError) -> (OutputPicture, ColorDescription, any AnyObject & Sendable) {
        let (width, height) = (picture.width, picture.height)
        // What is opaque has one mode only.
        var (from, to) = (AlphaMode.premultiplied, AlphaMode.premultiplied)
        if case .present(let coded) = picture.alpha {
            from = coded == .straight ? .straight : .premultiplied
            to = (mode ?? coded) == .straight ? .straight : .premultiplied
        }
        let target = ImageDescription(
            format: format, width: width, height: height, signal: wanted.target, alpha: to)
        let conversion = Conversion(
            source: ImageDescription(
                format: picture.format, width: width, height: height,
                signal: try SignalDescription(color, width: width, height: height), alpha: from),
            target: target, options: wanted.options)
        let converter = try converter(for: conversion)

        let packed = FrameLayout.packed(format, width: width, height: height)
        let slot = try output.slotForCopy(byteCount: packed.size)
        let holder = Holder(output, slot.id)
        guard let memory = decoded.memory(of: picture.slot), let source = memory.bytes.baseAddress else {
            throw SessionError(.videoDecoderMalfunction, "a picture lies in memory that is not there")
        }
        try picture.layout.validate(
            picture.format, width: width, height: height, poolSize: UInt64(memory.size))
        try converter.convert(
            picture.layout.planes.map { PlaneView(base: source + Int($0.offset), stride: Int($0.stride)) },
            into: packed.layout.planes.map {
                MutablePlaneView(base: slot.base + Int($0.offset), stride: Int($0.stride))
            }
        )
        var result = picture
        result.format = format
        if case .present(let coded) = picture.alpha { result.alpha = .present(mode ?? coded) }
        result.slot = slot.id
        result.layout = FrameLayout.packed(format, width: width, height: height, base: Int(slot.poolOffset)).layout
        return (result, wanted.targetCodePoints, holder)
    }

    private func converter(for conversion: Conversion) throws(SessionError) -> any PixelConverter {
        if let last, last.conversion == conversion { return last.converter }
        let chosen = try ConverterChoice.choose(
            for: conversion,
            ConverterChoice.Wish(
                wanted.device, preferred: vulkan.preferred, faults: vulkan.faults, danger: vulkan.danger))
        last = (conversion, chosen.converter)
        onChoice(chosen)
        return chosen.converter
    }
}
