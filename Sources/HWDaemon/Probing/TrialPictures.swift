// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// A key frame of a codec that sessions do not decode, and the samples that every decoder of it must output.
struct TrialPicture: Decodable, Hashable, Sendable {
    /// `h264`, `vp9` or `av1`.
    let codec: String
    /// Bits of a sample.
    let bitDepth: Int
    /// Luma samples in a row.
    let width: Int
    /// Rows of luma samples.
    let height: Int
    /// The digest of the samples that FFmpeg's software decoder outputs.
    let samples: String
    /// The access unit in hexadecimal, in parts.
    private let data: [String]

    enum CodingKeys: String, CodingKey {
        case codec, width, height, samples, data
        case bitDepth = "bit_depth"
    }

    /// The key frame as a stream; nil if the document is damaged.
    var stream: CodedStream? {
        Hexadecimal.bytes(data.joined()).map { CodedStream(codec: codec, units: [$0]) }
    }

    /// The digest of a picture's samples: FNV-1a over Y, Cb and Cr, each sample as 16 bits in little-endian order.
    static func digest(of picture: DecodedTrialPicture) -> String {
        var digest = FNV1a()
        for plane in picture.planes {
            for sample in plane { digest.add([UInt8(sample & 0xFF), UInt8(sample >> 8)]) }
        }
        return digest.text
    }
}

/// The pictures of `trial-pictures.json`, which `scripts/make-trial-pictures` writes.
enum TrialPictures {
    private struct Document: Decodable {
        var pictures: [TrialPicture]
    }

    /// Every picture; none if the document is damaged, which a test excludes.
    static let all: [TrialPicture] = (try? JSON.decode(Document.self, from: Array(text.utf8)))?.pictures ?? []

    /// The picture of a codec and bit depth; nil if there is none.
    static func picture(_ codec: String, bitDepth: Int) -> TrialPicture? {
        all.first { $0.codec == codec && $0.bitDepth == bitDepth }
    }
}

extension TrialPicture {
    /// Decodes the picture on a node; returns nil if its samples are right.
    ///
    /// - Parameter node: the node's path.
    func decode(node: String, reference: any ReferenceCodec) -> Verifier.Fault? {
        guard let stream else { return Verifier.Fault(reason: "the picture to verify it with is damaged") }
        let found: [DecodedTrialPicture]
        do throws(ReferenceCodecError) { found = try reference.decode(stream, node: node) } catch {
            return Verifier.Fault(decoding: error)
        }
        guard let picture = found.first, found.count == 1 else {
            return Verifier.Fault(reason: "1 frame was coded and \(found.count) came back")
        }
        guard picture.width == width, picture.height == height, picture.bitDepth == bitDepth else {
            return Verifier.Fault(
                reason:
                    "a \(bitDepth)-bit frame of \(width)x\(height) came back as one of \(picture.bitDepth) bits and "
                    + "\(picture.width)x\(picture.height)")
        }
        guard Self.digest(of: picture) == samples else {
            return Verifier.Fault(reason: "the frame differs from what software decodes")
        }
        return nil
    }
}
