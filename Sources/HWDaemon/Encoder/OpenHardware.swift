// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDAlpha
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDVAAPI
internal import HWDWire

/// A hardware encoder, opened before the reply to Create so that the reply names an encoder that works.
///
/// Created on the I/O thread; from the first task on only the codec thread uses it.
final class OpenHardware {
    private let node: OwnedFD
    private let path: HardwarePath
    /// The encoder that was opened for the reply to Create; nil once the session has taken it.
    private var first: (any Encoder)?
    /// sps_max_num_reorder_pics of the first encoder.
    let reorderDepth: Int
    private let firstConfiguration: EncoderConfiguration
    private let limits: DriverLimits
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
        firstConfiguration = configuration
        // The same flags as in the probe that verified the node (`DeviceNode`).
        let number = open(hardware.node, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            let error = SystemError(errno: errno, call: "open", subject: hardware.node)
            throw VAAPIFailure(
                SessionError(.couldNotFindVideoEncoder, "\(error)"),
                isTransient: error.errno == EBUSY || error.errno == EMFILE || error.errno == ENFILE)
        }
        node = OwnedFD(number)
        let opened = try LayeredEncoder.hardware(
            node: node.rawValue, path: self.path, configuration, timeout: timeout)
        (first, limits) = opened
        notes = opened.encoder.notes
        reorderDepth = opened.encoder.decodeTimes.reorderDepth
    }

    /// Checks that the driver can code with a session's properties; may be called on any thread.
    ///
    /// - Throws: `PropertyNotSupported` with the driver's limitation.
    func check(_ configuration: EncoderConfiguration) throws(SessionError) {
        guard configuration.alpha != nil else { return try limits.check(configuration) }
        try limits.check(configuration.baseLayer(AlphaEncoder.layerFormat))
        try limits.check(configuration.alphaLayer(AlphaEncoder.layerFormat))
    }

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
        do throws(VAAPIFailure) {
            return try LayeredEncoder.hardware(node: node.rawValue, path: path, configuration, timeout: timeout)
                .encoder
        } catch {
            throw SessionError(
                error.isTransient ? .videoEncoderNotAvailableNow : .videoEncoderMalfunction,
                "the hardware encoder does not open with the session's properties: \(error.error.reason)")
        }
    }
}
