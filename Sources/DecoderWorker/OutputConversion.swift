// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDLibAV
internal import HWDModel
internal import HWDSessions
internal import HWDShaders
internal import HWDTransport
internal import HWDWire

/// Brings decoded pictures to the RGB that a session asked for, into memory that its client reads.
final class OutputConversion {
    private let wanted: OutputColorRequest
    private let format: PixelFormat
    private let decoded: PictureStore
    private let output: PictureStore
    private let gpu = SharedGPU()
    /// The GPU that decodes, by its PCI address; nil when it is not known.
    private let decoder: String?
    /// Why surfaces are copied out of the decoder's device instead of read there; nil as long as they need not be.
    private var copyReason: String?
    /// The arenas that the GPU uses: what was decoded last, and converted.
    private var arenas: (decoded: SharedMemory?, output: SharedMemory?) = (nil, nil)
    /// The last conversion: streams seldom change their colour.
    private var last: (conversion: Conversion, chosen: ConverterChoice.Chosen)?
    /// What is known of Vulkan; its GPU to prefer is the one that decodes.
    private let vulkan: VulkanHints
    /// What converts and why, told when it is made; and why surfaces are copied first, when that is known.
    private let onChoice: (ConverterChoice.Chosen, String?) -> Void

    /// A conversion of pictures that lie in one store to another.
    init(
        _ wanted: OutputColorRequest, to format: PixelFormat, from decoded: PictureStore, into output: PictureStore,
        decodedOn decoder: String?, vulkan: VulkanHints,
        onChoice: @escaping (ConverterChoice.Chosen, String?) -> Void
    ) {
        self.vulkan = vulkan
        self.wanted = wanted
        self.format = format
        self.decoded = decoded
        self.output = output
        self.onChoice = onChoice
        self.decoder = decoder
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
    ///   - owner: what keeps the picture where it is: a surface, or what holds its slot.
    ///   - color: what the picture's values mean.
    ///   - mode: whether its colours are to be multiplied by alpha; nil leaves them as they are.
    /// - Throws: `PixelTransferNotSupported` for a colour that is not converted; what waiting for the client throws.
    func convert(
        _ picture: OutputPicture, _ owner: any AnyObject & Sendable, _ color: ColorDescription,
        alpha mode: AlphaChannelMode?
    ) throws(SessionError) -> (OutputPicture, ColorDescription, any AnyObject & Sendable) {
        if let surface = owner as? DecodedSurface {
            if let done = try convert(surface, color) { return done }
            let (copy, holder) = try surface.download()
            return try convert(copy, holder, color, alpha: mode)
        }
        let (width, height) = (picture.width, picture.height)
        // What is opaque has one mode only.
        var (from, to) = (AlphaMode.premultiplied, AlphaMode.premultiplied)
        if case .present(let coded) = picture.alpha {
            from = coded == .straight ? .straight : .premultiplied
            to = (mode ?? coded) == .straight ? .straight : .premultiplied
        }
        let converter = try converter(for: try conversion(of: picture, color, alpha: (from, to)))

        let packed = FrameLayout.packed(format, width: width, height: height)
        let slot = try output.slotForCopy(byteCount: packed.size)
        let holder = Holder(output, slot.id)
        guard let read = decoded.place(of: picture.slot), let written = output.place(of: slot.id),
            let source = read.memory.bytes.baseAddress
        else { throw SessionError(.videoDecoderMalfunction, "a picture lies in memory that is not there") }
        try picture.layout.validate(
            picture.format, width: width, height: height, poolSize: UInt64(read.memory.size))
        arenas = (use(read, insteadOf: arenas.decoded), use(written, insteadOf: arenas.output))
        try converter.convert(
            picture.layout.planes(at: source), into: packed.layout.mutablePlanes(at: slot.base))
        var result = described(picture, in: slot)
        if case .present(let coded) = picture.alpha { result.alpha = .present(mode ?? coded) }
        return (result, wanted.targetCodePoints, holder)
    }

    /// A surface's double, read by the GPU that decoded it; nil where it has to be copied out first.
    private func convert(
        _ surface: DecodedSurface, _ color: ColorDescription
    ) throws(SessionError) -> (OutputPicture, ColorDescription, any AnyObject & Sendable)? {
        guard copyReason == nil else { return nil }
        let picture = surface.picture
        let opaque = (AlphaMode.premultiplied, AlphaMode.premultiplied)
        let converter = try converter(for: try conversion(of: picture, color, alpha: opaque))
        guard let address = gpu.pciAddress, address == decoder?.lowercased() else {
            copyReason = "the decoder's device is not the one that converts"
            return nil
        }
        let packed = FrameLayout.packed(format, width: picture.width, height: picture.height)
        let slot = try output.slotForCopy(byteCount: packed.size)
        let holder = Holder(output, slot.id)
        if let written = output.place(of: slot.id) { arenas.output = use(written, insteadOf: arenas.output) }
        do throws(SessionError) {
            let export = try surface.export()
            try converter.convert(
                DMABufPicture(
                    format: picture.format, width: export.width, height: export.height, objects: export.objects,
                    planes: export.planes.map {
                        DMABufPicture.Plane(
                            object: $0.object, offset: $0.offset, pitch: $0.pitch, modifier: $0.modifier)
                    }),
                into: packed.layout.mutablePlanes(at: slot.base))
            return (described(picture, in: slot), wanted.targetCodePoints, holder)
        } catch {
            // What did not work once is not tried with every picture.
            copyReason = "surfaces are copied before they are converted: \(error.reason)"
            if let last { onChoice(last.chosen, copyReason) }
            return nil
        }
    }

    private func conversion(
        of picture: OutputPicture, _ color: ColorDescription, alpha: (from: AlphaMode, to: AlphaMode)
    ) throws(SessionError) -> Conversion {
        let (width, height) = (picture.width, picture.height)
        return Conversion(
            source: ImageDescription(
                format: picture.format, width: width, height: height,
                signal: try SignalDescription(color, width: width, height: height), alpha: alpha.from),
            target: ImageDescription(
                format: format, width: width, height: height, signal: wanted.target, alpha: alpha.to),
            options: wanted.options)
    }

    /// What is told of a picture's double in a slot.
    private func described(_ picture: OutputPicture, in slot: FrameSlot) -> OutputPicture {
        var result = picture
        result.format = format
        result.slot = slot.id
        result.layout =
            FrameLayout.packed(
                format, width: picture.width, height: picture.height, base: Int(slot.poolOffset)
            ).layout
        return result
    }

    /// Has the GPU use a slot in place, and let go of the arena before.
    ///
    /// Slot by slot, because a driver touches all of what it is given, and few slots of an arena ever are.
    private func use(
        _ place: (memory: SharedMemory, bytes: Range<Int>), insteadOf last: SharedMemory?
    ) -> SharedMemory {
        if let last, last !== place.memory { gpu.forget(last) }
        gpu.use(
            UnsafeRawBufferPointer(rebasing: place.memory.bytes[place.bytes]),
            isWritable: place.memory.access == .readWrite, of: place.memory)
        return place.memory
    }

    private func converter(for conversion: Conversion) throws(SessionError) -> any PixelConverter {
        if let last, last.conversion == conversion { return last.chosen.converter }
        let chosen = try ConverterChoice.choose(
            for: conversion,
            ConverterChoice.Request(
                wanted.device, preferred: vulkan.preferred, faults: vulkan.faults, avoidReason: vulkan.avoidReason),
            sharing: gpu)
        last = (conversion, chosen)
        onChoice(chosen, copyReason)
        return chosen.converter
    }
}
