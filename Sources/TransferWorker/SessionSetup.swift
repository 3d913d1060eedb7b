// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDSessions
internal import HWDShaders
internal import HWDWire

/// What a Create call turns into: the conversion, and where it is to run.
struct SessionSetup {
    /// What Create asked for.
    let conversion: Conversion
    private let request: ConverterChoice.Request

    /// Decodes and checks the call.
    ///
    /// - Throws: the session's error the client gets as the reply; `Parameter` for names without a meaning.
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

    /// The frames that come in and go out.
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

    /// Bytes of a result.
    var targetBytes: Int {
        let target = conversion.target
        return (0..<target.format.planeCount).reduce(0) { sum, plane in
            sum + target.format.rowBytes(plane: plane, width: target.width)
                * target.format.rows(plane: plane, height: target.height)
        }
    }

    /// The conversion of frames that bring their own colour.
    ///
    /// - Throws: `PixelTransferNotSupported`, by name, for a colour that is not converted.
    func conversion(of color: ColorDescription?) throws(SessionError) -> Conversion {
        guard let color else { return conversion }
        var changed = conversion
        do throws(SessionError) {
            changed.source.signal = try SignalDescription(
                color, width: conversion.source.width, height: conversion.source.height)
            try changed.validate()
        } catch {
            throw SessionError(.pixelTransferNotSupported, error.reason)
        }
        return changed
    }

    /// Opens a converter where the client wants it, on the GPU that the session's others use.
    ///
    /// - Parameter willOpen: told before a driver is opened, which this process may not survive.
    func open(
        _ conversion: Conversion, sharing gpu: SharedGPU, willOpen: () -> Void = {}
    ) throws(SessionError) -> OpenConverter {
        let chosen = try ConverterChoice.choose(for: conversion, request, sharing: gpu, willOpen: willOpen)
        return OpenConverter(
            converter: chosen.converter, gpu: gpu, isGPU: chosen.isGPU, reason: chosen.reason,
            fallbackReason: chosen.fallbackReason)
    }
}

/// A converter, and why it is this one.
struct OpenConverter: @unchecked Sendable {
    /// Used from one thread at a time: Create's opens it, the converting thread takes it.
    let converter: any PixelConverter
    /// As the converter.
    let gpu: SharedGPU
    let isGPU: Bool
    let reason: String
    let fallbackReason: String?

    /// What the client is answered.
    func reply(_ session: String) -> CreateTransferSession.Reply {
        CreateTransferSession.Reply(
            session: session, device: converter.device, deviceReason: reason, usingGPU: isGPU,
            fallbackReason: fallbackReason,
            maxFramesInFlight: TransferSession.maxFramesInFlight)
    }

    /// What the broker is told; the id is a label of its metrics, so it names the kind and not the machine's model.
    var report: WorkerReport {
        .created(
            codecID: converter is CPUConverter ? "org.hwdaemon.transfer.cpu" : VulkanHints.converterID,
            usingHardware: isGPU,
            fallbackReason: fallbackReason)
    }

    /// The session's properties.
    ///
    /// - Parameter memoryUse: how pictures came to a GPU; nil where there is none, or none yet.
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
