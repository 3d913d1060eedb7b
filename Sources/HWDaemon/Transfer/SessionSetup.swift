// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion
internal import HWDWire

/// The state built from a Create call: the conversion, and the devices that it may run on.
struct SessionSetup {
    /// The conversion of frames without a color of their own.
    let conversion: Conversion
    /// How many of its tables of effects stand for those that the client adds.
    let addedTables: Int
    private var request: ConverterChoice.Request

    /// Checks the call.
    ///
    /// - Throws: the session's error, which is the reply to the client; `Parameter` for unknown names.
    init(_ start: WorkerStart, _ parameters: CreateTransferSession.Parameters) throws(SessionError) {
        let (width, height) = (parameters.width, parameters.height)
        let (targetWidth, targetHeight) = (parameters.targetWidth ?? width, parameters.targetHeight ?? height)
        let possible = 1...CompressionRequest.maxDimension
        for (width, height) in [(width, height), (targetWidth, targetHeight)] {
            guard possible.contains(width), possible.contains(height) else {
                throw SessionError(.parameter, "a picture of \(width)x\(height) is not possible")
            }
        }
        request = try TransferParameters.device(parameters.device ?? "auto", start)
        request.pictures = parameters.frames
        // What is assumed of small pictures follows from the source's size, so that scaling does not change colors.
        var target = try TransferParameters.image(parameters.target, width, height, "target")
        (target.width, target.height) = (targetWidth, targetHeight)
        conversion = Conversion(
            source: try TransferParameters.image(parameters.source, width, height, "source"), target: target,
            options: try TransferParameters.options(parameters.options, target.signal))
        addedTables = parameters.options?.addedTables ?? 0
        try conversion.validate()
    }

    /// The source's and the target's frames.
    var sides: (source: TransferSide, target: TransferSide) {
        (
            TransferSide(
                format: conversion.source.format, width: conversion.source.width, height: conversion.source.height),
            TransferSide(
                format: conversion.target.format, width: conversion.target.width, height: conversion.target.height)
        )
    }

    /// The session's rules.
    var session: TransferAdmission { TransferAdmission(source: sides.source, target: sides.target) }

    /// Bytes of a converted frame, without row padding.
    var targetBytes: Int {
        let target = conversion.target
        return (0..<target.format.planeCount).reduce(0) { sum, plane in
            sum + target.format.rowBytes(plane: plane, width: target.width)
                * target.format.rows(plane: plane, height: target.height)
        }
    }

    /// The conversion of frames with a color of their own, where nil is Create's, with a scaling, and with effects.
    ///
    /// - Throws: `PixelTransferNotSupported`, naming a color that cannot be converted.
    func conversion(
        of color: ColorDescription?, _ scaling: ScalingOptions, _ effects: Effects
    ) throws(SessionError) -> Conversion {
        var changed = conversion
        (changed.options.scaling, changed.options.effects) = (scaling, effects)
        guard let color else { return changed }
        do throws(SessionError) {
            changed.source.signal = try SignalDescription(
                conversion.source.format.isRGB ? color.withoutIdentityMatrix : color,
                width: conversion.source.width, height: conversion.source.height)
            try changed.validate()
        } catch {
            throw SessionError(.pixelTransferNotSupported, error.reason)
        }
        return changed
    }

    /// Opens a converter on a device that Create allows, sharing a GPU with the session's other converters.
    ///
    /// - Parameter willOpen: called before a driver is opened, which may crash or hang this process.
    func open(
        _ conversion: Conversion, sharing gpu: SharedGPU, willOpen: () -> Void = {}
    ) throws(SessionError) -> OpenConverter {
        let chosen = try ConverterChoice.choose(for: conversion, request, sharing: gpu, willOpen: willOpen)
        return OpenConverter(
            converter: chosen.converter, gpu: gpu, isGPU: chosen.isGPU, reason: chosen.reason,
            fallbackReason: chosen.fallbackReason)
    }
}

/// A converter, and why its device was chosen.
struct OpenConverter: @unchecked Sendable {
    /// Used from one thread at a time: the I/O thread opens the first one, the converting thread takes it over.
    let converter: any PixelConverter
    let gpu: SharedGPU
    let isGPU: Bool
    let reason: String
    let fallbackReason: String?

    /// The reply to the client.
    func reply(_ session: String) -> CreateTransferSession.Reply {
        CreateTransferSession.Reply(
            session: session, device: converter.device, deviceReason: reason, usingGPU: isGPU,
            fallbackReason: fallbackReason,
            maxFramesInFlight: TransferAdmission.maxFramesInFlight)
    }

    /// The report to the broker; the id is a label of its metrics and therefore names no GPU model.
    var report: WorkerReport {
        .created(
            codecID: converter.isCPU ? "org.hwdaemon.transfer.cpu" : VulkanHints.converterID,
            usingHardware: isGPU,
            fallbackReason: fallbackReason)
    }

    /// The values of properties.
    ///
    /// The session's properties: those of the converter are read-only.
    func properties(_ scaling: ScalingOptions) -> PropertyStore {
        var store = PropertyStore(backend: .transfer)
        store.publish(.pixelTransferDevice, .string(converter.device))
        store.publish(.pixelTransferDeviceReason, .string(reason))
        store.publish(.fallbackReason, fallbackReason.map(PropertyValue.string))
        store.publish(.scalingMode, .string(scaling.mode.rawValue))
        store.publish(.cleanAperture, scaling.cleanAperture.map { .string($0.text) })
        return store
    }
}

extension PictureRectangle {
    /// `WxH+X+Y`, as the property `CleanAperture`.
    fileprivate var text: String { "\(width)x\(height)+\(x)+\(y)" }
}
