// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDX265

/// Sends a few frames through x265 and back through an independent decoder.
enum SoftwareTrial {
    /// What failed in the encoder and in the decoder; nil for success.
    struct Outcome {
        var encoderFault: String?
        var decoderFault: String?
    }

    /// Encodes and decodes the test pattern at one bit depth and compares the pictures.
    static func run(bitDepth: Int, reference: any ReferenceCodec) -> Outcome {
        let pattern = TestPattern(bitDepth: bitDepth)
        let stream: CodedStream
        do throws(SessionError) {
            stream = try CodedStream.software(pattern)
        } catch {
            return Outcome(
                encoderFault: "encoding failed: \(error.reason)",
                decoderFault: "there is no stream to decode: the encoder failed")
        }
        let pictures: [DecodedTrialPicture]
        do throws(ReferenceCodecError) {
            pictures = try reference.decode(stream, node: nil)
        } catch {
            return Outcome(
                encoderFault: "its stream did not decode: \(error.reason)", decoderFault: error.reason)
        }
        let fault = pattern.compare(pictures)
        return Outcome(encoderFault: fault, decoderFault: fault)
    }
}
