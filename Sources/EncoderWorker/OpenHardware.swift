// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDVAAPI
internal import HWDWire

/// A hardware encoder that is open since Create, so that its reply told the truth.
///
/// Made on the I/O thread; from the first job on the codec thread alone uses it.
final class OpenHardware {
    private let node: OwnedFD
    private let path: HardwarePath
    private var encoder: (any Encoder)?
    private var configuration: EncoderConfiguration
    private let timeout: Double

    /// Opens the node and the encoder.
    ///
    /// The driver's code runs in this process from here on.
    /// - Parameter timeout: Seconds a picture may take before the driver counts as hung.
    /// - Throws: why it does not open, and whether it may later.
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
        // Opened as the probe did; what the node is worth was found out there.
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

    /// What the encoder does otherwise than asked, a sentence each.
    private(set) var notes: [String]

    /// The encoder, opened anew where properties have changed since Create.
    ///
    /// - Throws: why it no longer opens.
    func encoder(for wanted: EncoderConfiguration) throws(SessionError) -> any Encoder {
        if let encoder, wanted == configuration { return encoder }
        // First, because some drivers have one context to give.
        encoder = nil
        do throws(VAAPIFailure) {
            let opened = try LayeredEncoder.hardware(node: node.rawValue, path: path, wanted, timeout: timeout)
            (encoder, notes) = opened
            configuration = wanted
            return opened.encoder
        } catch {
            throw SessionError(
                error.isTransient ? .videoEncoderNotAvailableNow : .videoEncoderMalfunction,
                "the hardware encoder does not open with the session's properties: \(error.error.reason)")
        }
    }
}
