// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDColor
internal import HWDLibAV
internal import HWDModel
internal import HWDConversion
internal import HWDTransport
internal import HWDWire

/// Converts decoded pictures to the RGB that a session requests, into memory that its client reads.
final class OutputConversion {
    /// The memory on both sides of the conversion.
    struct Stores {
        var decoded: PictureStore
        var converted: PictureStore
    }

    /// What the choice of a device depends on.
    struct Devices {
        /// The PCI address of the GPU that decodes; nil when unknown.
        var decoder: String?
        /// What is known of Vulkan; its preferred GPU is the one that decodes.
        var vulkan: VulkanHints
        /// The number of pictures to convert; nil where it is unknown.
        var pictures: Int?
    }

    private let outputColor: OutputColorRequest
    private let format: PixelFormat
    private let decoded: PictureStore
    private let output: PictureStore
    private let devices: Devices
    private let gpu = SharedGPU()
    /// Why surfaces are copied from the decoder's device instead of imported; nil while they are imported.
    private var copyReason: String?
    /// The arenas of the last picture, as far as the GPU uses them in place.
    private var arenas: (decoded: SharedMemory?, output: SharedMemory?) = (nil, nil)
    /// The last conversion; streams seldom change their color.
    private var last: (conversion: Conversion, chosen: ConverterChoice.Chosen)?
    /// Called with each new converter, and with the reason for copying surfaces if there is one.
    private let onChoice: (ConverterChoice.Chosen, String?) -> Void

    init(
        to format: PixelFormat, _ color: OutputColorRequest, _ stores: Stores, _ devices: Devices,
        onChoice: @escaping (ConverterChoice.Chosen, String?) -> Void
    ) {
        self.format = format
        outputColor = color
        (decoded, output) = (stores.decoded, stores.converted)
        self.devices = devices
        self.onChoice = onChoice
    }

    /// Frees a slot when it is deinitialized.
    private final class Holder: Sendable {
        let store: PictureStore
        let slot: Int
        init(_ store: PictureStore, _ slot: Int) { (self.store, self.slot) = (store, slot) }
        deinit { store.free(slot) }
    }

    /// Converts a picture to RGB; returns it with its color and the owner of its memory.
    ///
    /// - Parameters:
    ///   - owner: the owner of the picture's memory: a surface, or the holder of its slot.
    ///   - color: the picture's color.
    ///   - mapping: that of the picture's RPU, applied instead of its color.
    ///   - mode: whether result colors are multiplied by alpha; nil keeps the stream's mode.
    /// - Throws: `PixelTransferNotSupported` for a color that cannot be converted, and the errors of `slotForCopy`.
    func convert(
        _ picture: OutputPicture, _ owner: any AnyObject & Sendable, _ color: ColorDescription,
        _ mapping: SignalMapping?, alpha mode: AlphaChannelMode?
    ) throws(SessionError) -> (OutputPicture, ColorDescription, any AnyObject & Sendable) {
        if let surface = owner as? DecodedSurface {
            if let done = try convert(surface, color, mapping) { return done }
            let (copy, holder) = try surface.download()
            return try convert(copy, holder, color, mapping, alpha: mode)
        }
        let (width, height) = (picture.width, picture.height)
        // The mode does not matter to opaque pictures.
        var (from, to) = (AlphaMode.premultiplied, AlphaMode.premultiplied)
        if case .present(let coded) = picture.alpha {
            from = coded == .straight ? .straight : .premultiplied
            to = (mode ?? coded) == .straight ? .straight : .premultiplied
        }
        let converter = try converter(for: try conversion(of: picture, color, mapping, alpha: (from, to)))

        let packed = FrameLayout.packed(format, width: width, height: height)
        let slot = try output.slotForCopy(byteCount: packed.size)
        let holder = Holder(output, slot.id)
        guard let read = decoded.place(of: picture.slot), let written = output.place(of: slot.id),
            let source = read.memory.bytes.baseAddress
        else { throw SessionError(.videoDecoderMalfunction, "the memory of a picture is missing") }
        try picture.layout.validate(
            picture.format, width: width, height: height, poolSize: UInt64(read.memory.size))
        arenas = (use(read, insteadOf: arenas.decoded), use(written, insteadOf: arenas.output))
        try converter.convert(
            picture.layout.planes(at: source), into: packed.layout.mutablePlanes(at: slot.base))
        var result = described(picture, in: slot)
        if case .present(let coded) = picture.alpha { result.alpha = .present(mode ?? coded) }
        return (result, outputColor.targetCodePoints, holder)
    }

    /// Converts a surface on the GPU that decoded it; nil where it has to be copied to memory first.
    private func convert(
        _ surface: DecodedSurface, _ color: ColorDescription, _ mapping: SignalMapping?
    ) throws(SessionError) -> (OutputPicture, ColorDescription, any AnyObject & Sendable)? {
        guard copyReason == nil else { return nil }
        let picture = surface.picture
        let opaque = (AlphaMode.premultiplied, AlphaMode.premultiplied)
        let converter = try converter(for: try conversion(of: picture, color, mapping, alpha: opaque))
        guard let address = gpu.pciAddress, address == devices.decoder?.lowercased() else {
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
            return (described(picture, in: slot), outputColor.targetCodePoints, holder)
        } catch {
            // After one failure later surfaces are copied without another attempt.
            copyReason = "surfaces are copied before they are converted: \(error.reason)"
            if let last { onChoice(last.chosen, copyReason) }
            return nil
        }
    }

    private func conversion(
        of picture: OutputPicture, _ color: ColorDescription, _ mapping: SignalMapping?,
        alpha: (from: AlphaMode, to: AlphaMode)
    ) throws(SessionError) -> Conversion {
        let (width, height) = (picture.width, picture.height)
        var options = outputColor.options
        options.mapping = mapping
        // A mapping replaces range and matrix, which may be ones that cannot be converted, such as profile 5's.
        let mapped = ColorDescription(primaries: 9, transfer: 16, matrix: 9, chromaLocation: color.chromaLocation)
        return Conversion(
            source: ImageDescription(
                format: picture.format, width: width, height: height,
                signal: try SignalDescription(mapping == nil ? color : mapped, width: width, height: height),
                alpha: alpha.from),
            target: ImageDescription(
                format: format, width: width, height: height, signal: outputColor.target, alpha: alpha.to),
            options: options)
    }

    /// The description of a converted picture in a slot.
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

    /// Makes the GPU use a slot in place, and forget the previous arena.
    ///
    /// Slots are imported one by one, because a driver touches all imported memory and few slots of an arena are used.
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
        if let converter = last?.chosen.converter, try converter.change(to: conversion) {
            last?.conversion = conversion
            return converter
        }
        var request = ConverterChoice.Request(
            outputColor.device, preferred: devices.vulkan.preferred, faults: devices.vulkan.faults,
            speeds: devices.vulkan.speeds, avoidReason: devices.vulkan.avoidReason)
        request.pictures = devices.pictures
        let chosen = try ConverterChoice.choose(for: conversion, request, sharing: gpu)
        last = (conversion, chosen)
        onChoice(chosen, copyReason)
        return chosen.converter
    }
}
