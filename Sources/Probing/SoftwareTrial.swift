// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Sessions
internal import X265

/// A few frames through x265 and back through a decoder that it does not know.
enum SoftwareTrial {
    /// What went wrong where; nil where nothing did.
    struct Outcome {
        var encoderFault: String?
        var decoderFault: String?
    }

    /// Encodes and decodes the test pattern in one bit depth and compares.
    static func run(bitDepth: Int, judge: any StreamJudge) -> Outcome {
        let pattern = TestPattern(bitDepth: bitDepth)
        let stream: Stream
        do throws(SessionError) {
            stream = try encode(pattern)
        } catch {
            return Outcome(
                encoderFault: "encoding failed: \(error.reason)",
                decoderFault: "there is no stream to decode: the encoder failed")
        }
        let pictures: [JudgedPicture]
        do throws(JudgeError) {
            pictures = try judge.decode(stream.units, record: stream.record)
        } catch {
            return Outcome(
                encoderFault: "its stream did not decode: \(error.reason)", decoderFault: error.reason)
        }
        let fault = pattern.compare(pictures)
        return Outcome(encoderFault: fault, decoderFault: fault)
    }

    /// A coded test pattern.
    struct Stream {
        var record: [UInt8]
        var units: [[UInt8]]
    }

    /// The test pattern as x265 codes it.
    static func encode(_ pattern: TestPattern) throws(SessionError) -> Stream {
        let request = try CompressionRequest(
            codec: "hevc", width: TestPattern.width, height: TestPattern.height,
            pixelFormat: pattern.format.rawValue, timeBase: Rational(1, 30) ?? Rational(1))
        var properties = PropertyStore(backend: .x265)
        try properties.set(
            [PropertyKey.qp.rawValue: .int(22), PropertyKey.x265Preset.rawValue: .string("superfast")],
            isOpen: false)
        let encoder = try X265Encoder(EncoderConfiguration(request: request, properties: properties))
        var stream = Stream(record: encoder.formatDescription, units: [])
        let collect: EncodedPictureHandler = { (_, bytes) throws(SessionError) in
            stream.units.append(bytes.withUnsafeBytes { Array($0) })
        }
        for frame in 0..<TestPattern.frames {
            try pattern.withPicture(frame) { (picture) throws(SessionError) in try encoder.encode(picture, collect)
            }
        }
        try encoder.finish(collect)
        return stream
    }
}
