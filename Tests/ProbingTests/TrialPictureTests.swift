// SPDX-License-Identifier: GPL-2.0-or-later
import HWDLibAV
import HWDModel
import Testing

@testable import HWDProbing

/// libavcodec's software decoders.
private struct SoftwareReference: ReferenceCodec {
    /// Changes what is decoded.
    var change: @Sendable (DecodedTrialPicture) -> [DecodedTrialPicture] = { [$0] }
    var name: String { "libavcodec" }
    var isAvailable: Bool { true }

    func decode(_ stream: CodedStream, node: String?) throws(ReferenceCodecError) -> [DecodedTrialPicture] {
        do throws(LibAVError) {
            let decoder = try ReferenceDecoder(codec: stream.codec, record: stream.record)
            var pictures: [DecodedPicture] = []
            for unit in stream.units { pictures += try decoder.decode(unit) }
            pictures += try decoder.finish()
            return pictures.flatMap {
                change(
                    DecodedTrialPicture(
                        width: $0.width, height: $0.height, bitDepth: $0.bitDepth, planes: $0.planes))
            }
        } catch { throw ReferenceCodecError(error.description) }
    }
}

@Suite("Pictures that verify decoders")
struct TrialPictureTests {
    /// FFmpeg's decoders of H.264 and VP9 and dav1d's of AV1 decode the committed pictures to the committed digests.
    @Test func softwareDecodesEachPicture() throws {
        #expect(
            TrialPictures.all.map { "\($0.codec) \($0.bitDepth)" } == [
                "h264 8", "vp9 8", "vp9 10", "av1 8", "av1 10",
            ])
        for picture in TrialPictures.all {
            #expect(
                picture.decode(node: "", reference: SoftwareReference()) == nil,
                "\(picture.codec) \(picture.bitDepth)")
            #expect(TrialPictures.picture(picture.codec, bitDepth: picture.bitDepth) == picture)
        }
        #expect(TrialPictures.picture("h264", bitDepth: 10) == nil)
    }

    /// One sample that differs by one is found, and so are pictures of another kind.
    @Test func wrongPicturesAreFound() throws {
        let picture = try #require(TrialPictures.picture("vp9", bitDepth: 10))
        func reason(_ change: @escaping @Sendable (DecodedTrialPicture) -> [DecodedTrialPicture]) -> String {
            picture.decode(node: "", reference: SoftwareReference(change: change))?.reason ?? ""
        }
        let one = reason { found in
            var planes = found.planes
            planes[2][planes[2].count - 1] ^= 1
            return [DecodedTrialPicture(width: found.width, height: found.height, bitDepth: 10, planes: planes)]
        }
        #expect(one.contains("differs"))
        #expect(reason { _ in [] }.contains("0 came back") && reason { [$0, $0] }.contains("2 came back"))
        let coarse = reason {
            [DecodedTrialPicture(width: $0.width, height: $0.height, bitDepth: 8, planes: $0.planes)]
        }
        #expect(coarse.contains("8 bits"))
    }
}
