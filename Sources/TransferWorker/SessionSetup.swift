// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDSessions
internal import HWDShaders
internal import HWDWire

/// The state built from a Create call: the conversion, and the devices that it may run on.
struct SessionSetup {
    /// The conversion of frames without a color of their own.
    let conversion: Conversion
    private let request: ConverterChoice.Request

    /// Decodes and checks the call.
    ///
    /// - Throws: the session's error, which is the reply to the client; `Parameter` for unknown names.
    init(_ start: WorkerStart) throws(SessionError) {
        let call = try VarlinkCall(decoding: Array(start.call.utf8))
        let parameters = try call.parameters(CreateTransferSession.Parameters.self)
        let (width, height) = (parameters.width, parameters.height)
        guard (1...CompressionRequest.maxDimension).contains(width),
            (1...CompressionRequest.maxDimension).contains(height)
        else { throw SessionError(.parameter, "a picture of \(width)x\(height) is not possible") }
        request = try TransferParameters.device(parameters.device ?? "auto", start)
        conversion = Conversion(
            source: try TransferParameters.image(parameters.source, width, height, "source"),
            target: try TransferParameters.image(parameters.target, width, height, "target"),
            options: try TransferParameters.options(parameters.options))
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
    var session: TransferSession { TransferSession(source: sides.source, target: sides.target) }

    /// Bytes of a converted frame, without row padding.
    var targetBytes: Int {
        let target = conversion.target
        return (0..<target.format.planeCount).reduce(0) { sum, plane in
            sum + target.format.rowBytes(plane: plane, width: target.width)
                * target.format.rows(plane: plane, height: target.height)
        }
    }

    /// The conversion of frames with a color of their own; nil is Create's.
    ///
    /// - Throws: `PixelTransferNotSupported`, naming a color that cannot be converted.
    func conversion(of color: ColorDescription?) throws(SessionError) -> Conversion {
        guard let color else { return conversion }
        var changed = conversion
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
            maxFramesInFlight: TransferSession.maxFramesInFlight)
    }

    /// The report to the broker; the id is a label of its metrics and therefore names no GPU model.
    var report: WorkerReport {
        .created(
            codecID: converter is CPUConverter ? "org.hwdaemon.transfer.cpu" : VulkanHints.converterID,
            usingHardware: isGPU,
            fallbackReason: fallbackReason)
    }

    /// The values of properties.
    ///
    /// - Parameter memoryUse: how pictures reached the GPU; nil without a GPU, or before the first picture.
    /// - Throws: `PropertyNotSupported` for a key that does not exist.
    func properties(
        _ keys: [String], _ memoryUse: SharedGPU.MemoryUse?
    ) throws(SessionError) -> [String: PropertyValue] {
        let all: [String: PropertyValue] = [
            PropertyKey.pixelTransferDevice.rawValue: .string(converter.device),
            PropertyKey.pixelTransferDeviceReason.rawValue: .string(reason),
            PropertyKey.fallbackReason.rawValue: fallbackReason.map(PropertyValue.string) ?? .null,
            PropertyKey.pixelTransferMemory.rawValue: memoryUse.map { .string($0.text) } ?? .null,
        ]
        if keys.isEmpty { return all.filter { $0.value != .null } }
        var found: [String: PropertyValue] = [:]
        for key in keys {
            guard let value = all[key] else {
                throw SessionError(.propertyNotSupported, "there is no property \(key)")
            }
            found[key] = value
        }
        return found
    }
}
