// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDLibAV
internal import HWDNVCodec
internal import HWDProbing

/// `hwdaemon-verify`: a probe that also sends frames through codecs and checks them with libavcodec, or the process that checks the
/// output of a session's hardware encoder.
@main
struct VerifyWorkerMain {
    static func main() {
        if OutputChecker.isRequested { OutputChecker.run() }
        ProbeProcess.run(reference: LibAVReference())
    }
}

/// libavcodec's decoder, in software or through VA-API or NVDEC, and its encoder through NVENC.
private struct LibAVReference: ReferenceCodec {
    var name: String { "libavcodec \(ReferenceDecoder.libraryVersion)" }
    var isAvailable: Bool { ReferenceDecoder.isAvailable }
    var file: String? { ReferenceDecoder.libraryFile }

    func decode(_ stream: CodedStream, node: String?) throws(ReferenceCodecError) -> [DecodedTrialPicture] {
        do throws(LibAVError) {
            let decoder = try ReferenceDecoder(codec: stream.codec, record: stream.record, node: node)
            var pictures: [DecodedPicture] = []
            for unit in stream.units { pictures += try decoder.decode(unit) }
            pictures += try decoder.finish()
            return pictures.map {
                DecodedTrialPicture(width: $0.width, height: $0.height, bitDepth: $0.bitDepth, planes: $0.planes)
            }
        } catch {
            throw ReferenceCodecError(
                error.description, isBusy: error.isTransient, isUnsupported: error.isUnsupported)
        }
    }

    func encoder(node: String, _ configuration: EncoderConfiguration) throws(EncoderFault) -> any Encoder {
        do throws(NVENCFailure) {
            return try NVENCEncoder(node: node, configuration)
        } catch {
            throw EncoderFault(error.error, isBusy: error.isTransient, isUnsupported: error.isUnsupported)
        }
    }
}
