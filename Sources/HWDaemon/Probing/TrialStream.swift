// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy
internal import HWDX265

// The test pattern, encoded.
extension CodedStream {
    /// Encodes a pattern in software, for a trial of a decoder.
    static func software(_ pattern: TestPattern) throws(SessionError) -> CodedStream {
        try CodedStream(pattern, .x265) { (configuration) throws(SessionError) in try X265Encoder(configuration) }
    }

    /// Encodes a pattern at a constant quantization parameter.
    ///
    /// - Parameter open: opens the encoder.
    init(
        _ pattern: TestPattern, _ backend: PropertySpec.Backend,
        open: (EncoderConfiguration) throws(SessionError) -> any Encoder
    ) throws(SessionError) {
        let request = try CompressionRequest(
            codec: "hevc", width: pattern.width, height: pattern.height, pixelFormat: pattern.format.rawValue,
            timeBase: Rational(1, 30) ?? Rational(1))
        var properties = PropertyStore(backend: backend)
        try properties.set([PropertyKey.qp.rawValue: .int(22)], isOpen: false)
        if backend == .x265 {
            try properties.set([PropertyKey.x265Preset.rawValue: .string("superfast")], isOpen: false)
        }
        let encoder = try open(EncoderConfiguration(request: request, properties: properties))
        var units: [[UInt8]] = []
        let collect: EncodedPictureHandler = { (_, bytes) throws(SessionError) in
            units.append(bytes.withUnsafeBytes { Array($0) })
        }
        for frame in 0..<TestPattern.frames {
            try pattern.withPicture(frame) { (picture) throws(SessionError) in
                try encoder.encode(picture, collect)
            }
        }
        try encoder.finish(collect)
        self.init(record: encoder.formatDescription, units: units)
    }
}
