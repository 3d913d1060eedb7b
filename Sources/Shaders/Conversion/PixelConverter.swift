// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDColor
public import HWDModel

/// Converts any number of pictures according to one `Conversion`.
///
/// Used from one thread; may use others internally.
public protocol PixelConverter: AnyObject {
    /// The device for logs and reports: "NVIDIA H100 (driver 550.54)", "llvmpipe (…)", "CPU, libzimg 3.0.4".
    var device: String { get }

    /// Whether it is the CPU that converts, so that no driver runs in the process.
    var isCPU: Bool { get }

    /// Converts one picture and returns when it is written; planes are those of the two formats, in order.
    ///
    /// - Throws: `Parameter` for a wrong number of planes and for planes narrower than a row, else errors of the device;
    ///   after a lost device every call throws.
    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError)

    /// Converts one picture in place from dma-bufs, whose writer must have finished.
    ///
    /// - Throws: `Parameter` for an impossible description, else `PixelTransferNotSupported`. The converter stays usable,
    ///   and a copy of the samples can be converted instead.
    func convert(_ picture: DMABufPicture, into target: [MutablePlaneView]) throws(SessionError)

    /// Changes to a conversion whose mapping has other numbers, or whose effects have other parameters, which is faster than
    /// making another converter; false, with nothing changed, where the conversion differs in more or pictures are in flight.
    ///
    /// - Throws: the errors of `Conversion.validate`.
    func change(to conversion: Conversion) throws(SessionError) -> Bool

    /// The number of pictures that can be in flight, at least 1.
    var depth: Int { get }

    /// Starts a picture; its planes must stay valid until it is finished.
    ///
    /// - Throws: the errors of `convert`, and `InvalidSession` where `depth` pictures are in flight.
    func submit(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) -> ConversionTicket

    /// Waits until a picture is written, with a timeout.
    ///
    /// - Throws: the errors of `convert`, and `InvalidSession` for a picture that is not in flight.
    func finish(_ ticket: ConversionTicket) throws(SessionError)
}

/// A picture in flight.
public struct ConversionTicket: Hashable, Sendable {
    let number: Int

    /// A picture that was written before `submit` returned.
    static let done = ConversionTicket(number: 0)
}

extension PixelConverter {
    /// A device's driver.
    public var isCPU: Bool { false }

    /// Refuses dma-bufs, which only GPUs read.
    public func convert(_ picture: DMABufPicture, into target: [MutablePlaneView]) throws(SessionError) {
        throw SessionError(.pixelTransferNotSupported, "\(device) reads no dma-bufs")
    }

    /// Cannot change.
    public func change(to conversion: Conversion) throws(SessionError) -> Bool { false }

    /// One picture at a time.
    public var depth: Int { 1 }

    /// Converts at once.
    public func submit(
        _ source: [PlaneView], into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        try convert(source, into: target)
        return .done
    }

    /// Does nothing: `submit` has written the picture.
    public func finish(_ ticket: ConversionTicket) throws(SessionError) {}
}
