// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDAlpha
internal import HWDCoding
internal import HWDModel
internal import HWDTransport
internal import HWDVAAPI
internal import HWDWire

/// A render node, whose VA-API driver encodes.
final class VAAPIDevice: EncoderDevice {
    private let node: OwnedFD
    private let path: HardwarePath
    private let timeout: Double
    /// Nil until an encoder was opened.
    private var limits: DriverLimits?

    /// Opens the node.
    static func open(
        _ hardware: HardwareEncoder, _ bitDepth: Int, _ timeout: Double
    ) throws(OpeningFailure) -> any EncoderDevice {
        try VAAPIDevice(hardware, bitDepth, timeout)
    }

    private init(
        _ hardware: HardwareEncoder, _ bitDepth: Int, _ timeout: Double
    ) throws(OpeningFailure) {
        self.timeout = timeout
        guard let path = hardware.paths.first(where: { $0.bitDepth == bitDepth }) else {
            throw OpeningFailure(
                SessionError(.couldNotFindVideoEncoder, "\(hardware.node) has no verified \(bitDepth)-bit path"))
        }
        self.path = HardwarePath(
            vaProfile: path.vaProfile, vaEntrypoint: path.vaEntrypoint, vaRTFormat: path.vaRTFormat,
            features: path.features, adjustments: path.adjustments)
        // The same flags as in the probe that verified the node (`DeviceNode`).
        let number = Glibc.open(hardware.node, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            let error = SystemError(errno: errno, call: "open", subject: hardware.node)
            throw OpeningFailure(
                SessionError(.couldNotFindVideoEncoder, "\(error)"),
                isTransient: error.errno == EBUSY || error.errno == EMFILE || error.errno == ENFILE)
        }
        node = OwnedFD(number)
    }

    func open(_ configuration: EncoderConfiguration) throws(OpeningFailure) -> any Encoder {
        do throws(VAAPIFailure) {
            let opened = try LayeredEncoder.hardware(
                node: node.rawValue, path: path, configuration, timeout: timeout)
            if limits == nil { limits = opened.limits }
            return opened.encoder
        } catch { throw OpeningFailure(error.error, isTransient: error.isTransient) }
    }

    func check(_ configuration: EncoderConfiguration) throws(SessionError) {
        guard let limits else { return }
        guard configuration.alpha != nil else { return try limits.check(configuration) }
        try limits.check(configuration.baseLayer(AlphaEncoder.layerFormat))
        try limits.check(configuration.alphaLayer(AlphaEncoder.layerFormat))
    }
}
