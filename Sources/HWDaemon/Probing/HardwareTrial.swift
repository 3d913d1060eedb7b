// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy
internal import HWDVAAPI

/// Sends a few frames through a driver's encoder or decoder and checks them with an independent decoder.
struct HardwareTrial {
    /// The picture size unless the driver's maximum is smaller: above the minimum of all known encoders, and a multiple
    /// of 64 samples.
    private static let size = (width: 320, height: 192)

    private let pattern: TestPattern
    private let reference: any ReferenceCodec

    /// Prepares a trial of one bit depth within the driver's limits.
    init(bitDepth: Int, _ limits: HardwareLimits?, reference: any ReferenceCodec) {
        func even(_ value: Int, _ limit: Int?) -> Int { max(16, min(value, limit ?? value) & ~1) }
        pattern = TestPattern(
            bitDepth: bitDepth, width: even(Self.size.width, limits?.maxWidth),
            height: even(Self.size.height, limits?.maxHeight), isDetailed: true)
        self.reference = reference
    }

    /// Encodes frames on a node; returns nil if they come back intact.
    ///
    /// - Parameter node: the open node's descriptor.
    func encode(node: Int32, _ path: HardwarePath) -> Verifier.Fault? {
        encode { (configuration) throws(EncoderFault) in
            do throws(VAAPIFailure) {
                return try VAAPIEncoder(node: node, path: path, configuration)
            } catch { throw EncoderFault(error.error, isBusy: error.isTransient) }
        }
    }

    /// Encodes frames on a card of NVIDIA's; returns nil if they come back intact.
    ///
    /// - Parameter node: the card's node.
    func encode(card node: String) -> Verifier.Fault? {
        encode { (configuration) throws(EncoderFault) in try reference.encoder(node: node, configuration) }
    }

    private func encode(
        _ open: (EncoderConfiguration) throws(EncoderFault) -> any Encoder
    ) -> Verifier.Fault? {
        var fault: EncoderFault?
        let stream: CodedStream
        do throws(SessionError) {
            stream = try CodedStream(pattern, .vaapi) { (configuration) throws(SessionError) in
                do throws(EncoderFault) {
                    return try open(configuration)
                } catch {
                    fault = error
                    throw error.error
                }
            }
        } catch {
            let passes = fault?.isBusy == true || error.status == .videoEncoderNotAvailableNow
            var found = Verifier.Fault(
                reason: passes ? "its encoder is busy: \(error.reason)" : "encoding failed: \(error.reason)",
                isBusy: passes)
            if fault?.isUnsupported == true { found.cause = .noEncoder }
            return found
        }
        guard stream.units.count == TestPattern.frames else {
            return Verifier.Fault(
                reason: "\(TestPattern.frames) frames were sent and \(stream.units.count) came back")
        }
        guard !stream.units.contains(where: \.isEmpty) else {
            return Verifier.Fault(reason: "the driver produced a picture of 0 bytes")
        }
        do throws(ReferenceCodecError) {
            return pattern.compare(try reference.decode(stream, node: nil)).map {
                Verifier.Fault(reason: $0)
            }
        } catch {
            return Verifier.Fault(reason: "its stream did not decode: \(error.reason)")
        }
    }

    /// Decodes frames on a node; returns nil if they equal those that software decodes.
    ///
    /// - Parameter node: the node's path.
    func decode(node: String) -> Verifier.Fault? {
        let stream: CodedStream
        do throws(SessionError) { stream = try CodedStream.software(pattern) } catch {
            return Verifier.Fault(reason: "there is no stream to decode: \(error.reason)")
        }
        do throws(ReferenceCodecError) {
            let expected = try reference.decode(stream, node: nil)
            let found = try reference.decode(stream, node: node)
            guard found.count == expected.count else {
                return Verifier.Fault(reason: "\(expected.count) frames were coded and \(found.count) came back")
            }
            // H.265 clause 8: all conforming decoders output identical samples.
            guard let different = zip(found, expected).enumerated().first(where: { $1.0 != $1.1 }) else {
                return nil
            }
            return Verifier.Fault(
                reason: pattern.compare(found) ?? "frame \(different.offset) differs from what software decodes")
        } catch {
            return Verifier.Fault(decoding: error)
        }
    }
}
