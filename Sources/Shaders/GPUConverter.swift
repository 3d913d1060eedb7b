// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

/// A GPU's converter that the CPU takes over from when the device is lost.
final class GPUConverter: PixelConverter {
    var device: String { current.device }
    var depth: Int { current.depth }

    private var current: any PixelConverter
    private let conversion: Conversion
    private let threads: Int?
    /// What the GPU has been given, so that the CPU can do it once more.
    private var underWay: [ConversionTicket: (source: [PlaneView], target: [MutablePlaneView])] = [:]

    /// What the GPU ended when the CPU took over, and nobody has asked for yet.
    private var ended: Set<ConversionTicket> = []

    init(_ gpu: any PixelConverter, _ conversion: Conversion, threads: Int?) {
        current = gpu
        self.conversion = conversion
        self.threads = threads
    }

    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        try finish(submit(source, into: target))
    }

    /// The CPU does not take over here: the caller has a picture to copy first.
    func convert(_ picture: DMABufPicture, into target: [MutablePlaneView]) throws(SessionError) {
        try current.convert(picture, into: target)
    }

    func submit(
        _ source: [PlaneView], into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        do throws(SessionError) {
            let ticket = try current.submit(source, into: target)
            if ticket != .done { underWay[ticket] = (source, target) }
            return ticket
        } catch {
            try takeOver(error)
            try current.convert(source, into: target)
            return .done
        }
    }

    func finish(_ ticket: ConversionTicket) throws(SessionError) {
        guard ticket != .done, ended.remove(ticket) == nil else { return }
        guard let picture = underWay.removeValue(forKey: ticket) else {
            throw SessionError(.invalidSession, "that picture is not under way")
        }
        do throws(SessionError) {
            // The CPU does not know the GPU's tickets.
            guard !(current is CPUConverter) else {
                return try current.convert(picture.source, into: picture.target)
            }
            try current.finish(ticket)
        } catch {
            try takeOver(error)
            try current.convert(picture.source, into: picture.target)
        }
    }

    /// Goes on with the CPU, unless the mistake is the caller's own or the CPU's.
    private func takeOver(_ error: SessionError) throws(SessionError) {
        guard !(current is CPUConverter), error.status != .parameter, error.status != .invalidSession else {
            throw error
        }
        let successor = try CPUConverter(conversion, threads: threads)
        // What is under way must end before the memory that it uses goes with its converter. What does not end makes the
        // device lost, which frees nothing, and the CPU does it once more.
        for ticket in underWay.keys where (try? current.finish(ticket)) != nil {
            underWay[ticket] = nil
            ended.insert(ticket)
        }
        current = successor
    }
}
