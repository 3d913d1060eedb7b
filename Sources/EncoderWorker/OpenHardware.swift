// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDVAAPI
internal import HWDWire

/// A hardware encoder, opened before the reply to Create so that the reply names an encoder that works.
///
/// Created on the I/O thread; from the first task on only the codec thread uses it.
final class OpenHardware {
    private let node: OwnedFD
    private let path: HardwarePath
    private var encoder: (any Encoder)?
    private var configuration: EncoderConfiguration
    private let timeout: Double

    /// Opens the node and the encoder.
    ///
    /// The driver's code runs in this process from here on.
    /// - Parameter timeout: seconds a picture may take before the driver counts as hung.
    /// - Throws: why it does not open, and whether it may open later.
    init(
        _ hardware: HardwareEncoder, _ configuration: EncoderConfiguration, timeout: Double
    ) throws(VAAPIFailure) {
        self.timeout = timeout
        let depth = configuration.profile.bitDepth
        guard let path = hardware.paths.first(where: { $0.bitDepth == depth }) else {
            throw VAAPIFailure(
                SessionError(.couldNotFindVideoEncoder, "\(hardware.node) has no verified \(depth)-bit path"))
        }
        self.path = HardwarePath(
            vaProfile: path.vaProfile, vaEntrypoint: path.vaEntrypoint, vaRTFormat: path.vaRTFormat,
            features: path.features, adjustments: path.adjustments)
        self.configuration = configuration
        // The same flags as in the probe that verified the node (`DeviceNode`).
        let number = open(hardware.node, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            let error = SystemError(errno: errno, call: "open", subject: hardware.node)
            throw VAAPIFailure(
                SessionError(.couldNotFindVideoEncoder, "\(error)"),
                isTransient: error.errno == EBUSY || error.errno == EMFILE || error.errno == ENFILE)
        }
        node = OwnedFD(number)
        (encoder, notes) = try LayeredEncoder.hardware(
            node: node.rawValue, path: self.path, configuration, timeout: timeout)
    }

    /// The encoder's deviations from the requested properties.
    private(set) var notes: [String]

    /// Returns the encoder, reopened if properties have changed since Create.
    ///
    /// - Throws: why it cannot be reopened.
    func encoder(for requested: EncoderConfiguration) throws(SessionError) -> any Encoder {
        if let encoder, requested == configuration { return encoder }
        // Closed first, because some drivers support only one context.
        encoder = nil
        do throws(VAAPIFailure) {
            let opened = try LayeredEncoder.hardware(node: node.rawValue, path: path, requested, timeout: timeout)
            (encoder, notes) = opened
            configuration = requested
            return opened.encoder
        } catch {
            throw SessionError(
                error.isTransient ? .videoEncoderNotAvailableNow : .videoEncoderMalfunction,
                "the hardware encoder does not open with the session's properties: \(error.error.reason)")
        }
    }
}
