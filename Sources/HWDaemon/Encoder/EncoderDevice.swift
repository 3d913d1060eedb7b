// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDCoding
public import HWDModel
public import HWDWire

/// Why a hardware encoder did not open.
public struct OpeningFailure: Error, Hashable, Sendable {
    /// The status and the sentence.
    public var error: SessionError
    /// Whether another attempt may succeed later: the device is busy, or at its limit.
    public var isTransient: Bool

    /// A failure.
    public init(_ error: SessionError, isTransient: Bool = false) {
        (self.error, self.isTransient) = (error, isTransient)
    }
}

/// The encoders of one device, with the session's properties.
public protocol EncoderDevice: AnyObject {
    /// Opens an encoder.
    ///
    /// - Throws: why it does not open, and whether it may open later.
    func open(_ configuration: EncoderConfiguration) throws(OpeningFailure) -> any Encoder

    /// Checks that the device can code with a session's properties, as far as is known; may be called on any thread once an
    /// encoder was opened.
    ///
    /// - Throws: `PropertyNotSupported` with the limitation.
    func check(_ configuration: EncoderConfiguration) throws(SessionError)
}

/// Opens a device for pictures of a bit depth.
///
/// - Parameter timeout: seconds a picture may take before the driver counts as hung, where the device can bound it.
public typealias OpenDevice =
    @Sendable (HardwareEncoder, _ bitDepth: Int, _ timeout: Double) throws(OpeningFailure) -> any EncoderDevice
