// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Converts pictures as one `Conversion` says, again and again.
///
/// Used from one thread; may use others inside.
public protocol PixelConverter: AnyObject {
    /// What does the work, for people: "NVIDIA H100 (driver 550.54)", "llvmpipe (…)", "CPU, libzimg 3.0.4".
    var device: String { get }

    /// Converts one picture, plane by plane as the two formats have them, and returns when it is written.
    ///
    /// - Throws: `Parameter` when the planes are not as many as the formats have or too narrow for a row, else what
    ///   the device could not do; after a lost device every call throws.
    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError)

    /// Converts one picture that lies in dma-bufs, where it lies.
    ///
    /// What wrote them must have ended.
    /// - Throws: Why it cannot be read there: `Parameter` for a description that cannot be true, else
    ///   `PixelTransferNotSupported`. Nothing is lost by that, and its samples can be converted from a copy.
    func convert(_ picture: DMABufPicture, into target: [MutablePlaneView]) throws(SessionError)

    /// Pictures that can be under way at once, at least 1.
    var depth: Int { get }

    /// Begins a picture; the planes stay where they are until it is finished.
    ///
    /// - Throws: What `convert` does, and `InvalidSession` where `depth` pictures are under way.
    func submit(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) -> ConversionTicket

    /// Waits, not for ever, until a picture is written.
    ///
    /// - Throws: What `convert` does, and `InvalidSession` for a picture that is not under way.
    func finish(_ ticket: ConversionTicket) throws(SessionError)
}

/// A picture that is under way.
public struct ConversionTicket: Hashable, Sendable {
    let number: Int

    /// One that was written before `submit` returned.
    static let done = ConversionTicket(number: 0)
}

extension PixelConverter {
    /// Only GPUs read dma-bufs.
    public func convert(_ picture: DMABufPicture, into target: [MutablePlaneView]) throws(SessionError) {
        throw SessionError(.pixelTransferNotSupported, "\(device) reads no dma-bufs")
    }

    /// One after the other.
    public var depth: Int { 1 }

    /// Converts at once.
    public func submit(
        _ source: [PlaneView], into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        try convert(source, into: target)
        return .done
    }

    /// Nothing is left to be done.
    public func finish(_ ticket: ConversionTicket) throws(SessionError) {}
}
