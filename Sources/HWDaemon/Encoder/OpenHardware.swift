// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel

/// A hardware encoder, opened before the reply to Create so that the reply names an encoder that works.
///
/// Created on the I/O thread; from the first task on only the codec thread uses it, except for `check`.
final class OpenHardware {
    private let device: any EncoderDevice
    /// The encoder that was opened for the reply to Create; nil once the session has taken it.
    private var first: (any Encoder)?
    /// sps_max_num_reorder_pics of the first encoder.
    let reorderDepth: Int
    private let firstConfiguration: EncoderConfiguration

    /// Opens the encoder.
    ///
    /// The driver's code runs in this process from here on.
    /// - Throws: why it does not open, and whether it may open later.
    init(_ device: any EncoderDevice, _ configuration: EncoderConfiguration) throws(OpeningFailure) {
        self.device = device
        firstConfiguration = configuration
        let opened = try device.open(configuration)
        first = opened
        notes = opened.notes
        reorderDepth = opened.decodeTimes.reorderDepth
    }

    /// Checks that the driver can code with a session's properties; may be called on any thread.
    ///
    /// - Throws: `PropertyNotSupported` with the driver's limitation.
    func check(_ configuration: EncoderConfiguration) throws(SessionError) { try device.check(configuration) }

    /// The first encoder's deviations from the requested properties.
    let notes: [String]

    /// The most frames that were passed to the encoder and whose packets have not come, in an order in which all that are
    /// shown before are complete: two groups of a pyramid, and those that the driver codes.
    var framesHeld: Int { 2 << reorderDepth + 6 }

    /// Returns the first encoder, or a new one if it was taken before or properties have changed since Create.
    ///
    /// - Throws: why no new one can be opened.
    func encoder(for requested: EncoderConfiguration) throws(SessionError) -> any Encoder {
        if let first, requested == firstConfiguration {
            defer { self.first = nil }
            return first
        }
        // Closed before another is opened, because some drivers support only one context.
        first = nil
        return try openAnother(requested)
    }

    private func openAnother(_ configuration: EncoderConfiguration) throws(SessionError) -> any Encoder {
        do throws(OpeningFailure) {
            return try device.open(configuration)
        } catch {
            throw SessionError(
                error.isTransient ? .videoEncoderNotAvailableNow : .videoEncoderMalfunction,
                "the hardware encoder does not open with the session's properties: \(error.error.reason)")
        }
    }
}
