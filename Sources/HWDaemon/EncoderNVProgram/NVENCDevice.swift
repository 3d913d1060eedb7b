// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDEncoderWorker
internal import HWDModel
internal import HWDNVCodec
internal import HWDWire

/// A card of NVIDIA's, whose encoder libavcodec opens.
final class NVENCDevice: EncoderDevice {
    private let node: String

    private init(_ node: String) { self.node = node }

    /// The card of a verified encoder; its libraries are opened with the first encoder.
    @Sendable static func open(
        _ hardware: HardwareEncoder, _ bitDepth: Int, _ timeout: Double
    ) throws(OpeningFailure) -> any EncoderDevice {
        guard hardware.paths.contains(where: { $0.bitDepth == bitDepth }) else {
            throw OpeningFailure(
                SessionError(.couldNotFindVideoEncoder, "\(hardware.node) has no verified \(bitDepth)-bit path"))
        }
        return NVENCDevice(hardware.node)
    }

    func open(_ configuration: EncoderConfiguration) throws(OpeningFailure) -> any Encoder {
        do throws(NVENCFailure) {
            return try NVENCEncoder(node: node, configuration)
        } catch { throw OpeningFailure(error.error, isTransient: error.isTransient) }
    }

    func check(_ configuration: EncoderConfiguration) throws(SessionError) { try NVENCEncoder.check(configuration) }
}
