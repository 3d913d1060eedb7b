// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

/// Converts on a GPU, and on the CPU after the GPU was lost.
final class GPUConverter: PixelConverter {
    var device: String { current.device }
    var depth: Int { current.depth }
    var isCPU: Bool { current.isCPU }

    private var current: any PixelConverter
    private var conversion: Conversion
    private let threads: Int?
    /// The pictures submitted to the GPU, so that the CPU can convert them again.
    private var inFlight: [ConversionTicket: (source: [PlaneView], target: [MutablePlaneView])] = [:]

    /// Pictures that the GPU had finished when it was replaced, and that the caller has not finished yet.
    private var ended: Set<ConversionTicket> = []

    init(_ gpu: any PixelConverter, _ conversion: Conversion, threads: Int?) {
        current = gpu
        self.conversion = conversion
        self.threads = threads
    }

    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        try finish(submit(source, into: target))
    }

    /// Does not fall back to the CPU, because the caller must copy the picture first.
    func convert(_ picture: DMABufPicture, into target: [MutablePlaneView]) throws(SessionError) {
        try current.convert(picture, into: target)
    }

    func change(to conversion: Conversion) throws(SessionError) -> Bool {
        guard inFlight.isEmpty, ended.isEmpty, try current.change(to: conversion) else { return false }
        self.conversion = conversion
        return true
    }

    func submit(
        _ source: [PlaneView], into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        do throws(SessionError) {
            let ticket = try current.submit(source, into: target)
            if ticket != .done { inFlight[ticket] = (source, target) }
            return ticket
        } catch {
            try replaceGPU(after: error)
            try current.convert(source, into: target)
            return .done
        }
    }

    func finish(_ ticket: ConversionTicket) throws(SessionError) {
        guard ticket != .done, ended.remove(ticket) == nil else { return }
        guard let picture = inFlight.removeValue(forKey: ticket) else {
            throw SessionError(.invalidSession, "the picture is not in flight")
        }
        do throws(SessionError) {
            // The CPU's converter does not know tickets of the GPU.
            guard !current.isCPU else {
                return try current.convert(picture.source, into: picture.target)
            }
            try current.finish(ticket)
        } catch {
            try replaceGPU(after: error)
            try current.convert(picture.source, into: picture.target)
        }
    }

    /// Replaces the GPU by the CPU, unless the error is the caller's or the CPU's.
    private func replaceGPU(after error: SessionError) throws(SessionError) {
        guard !current.isCPU, error.status != .parameter, error.status != .invalidSession else {
            throw error
        }
        let successor = try ConverterChoice.onCPU(conversion, threads: threads)
        // Pictures in flight must end before the converter frees their memory. If one does not end, the device counts
        // as lost, its memory is not freed, and the CPU converts the picture again.
        for ticket in inFlight.keys where (try? current.finish(ticket)) != nil {
            inFlight[ticket] = nil
            ended.insert(ticket)
        }
        current = successor
    }
}
