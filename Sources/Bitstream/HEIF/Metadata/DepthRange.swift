// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC

/// The disparities, in 1/m, that the lowest and the highest sample of a depth map stand for.
///
/// The samples between them are uniform in disparity: a larger one is nearer.
public struct DepthRange: Hashable, Sendable {
    public let min: Double
    public let max: Double

    /// What is possible, in words.
    public static let example = "two numbers from 0 to 1000 that rise, such as 1.5:4.38"

    /// A range; nil where the numbers are not from 0 to 1000, or do not rise.
    public init?(min: Double, max: Double) {
        guard min >= 0, min < max, max <= 1000 else { return nil }
        (self.min, self.max) = (min, max)
    }

    /// What follows the URN in `auxC`: a depth representation information SEI message (H.265 G.14.2.3) with its length, twice, as
    /// iPhones write it.
    public var subtype: [UInt8] {
        let unit = Self.header + [UInt8(message.count)] + message
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt32(unit.count + 4))
        bytes.appendBigEndian(UInt32(unit.count))
        return bytes + unit
    }

    /// The header of a NAL unit of type 39, and the payload type 177.
    private static let header: [UInt8] = [0x4E, 1, 177]

    private var message: [UInt8] {
        var writer = BitWriter()
        do throws(BitstreamError) {
            // Neither z_near nor z_far; d_min and d_max.
            try writer.writeBits(0b0011, 4)
            // Uniform disparity, of view 0.
            try writer.writeUE(1)
            try writer.writeUE(0)
            for value in [min, max] { try Self.write(value, to: &writer) }
            try writer.writeTrailingBits()
        } catch { preconditionFailure("the numbers of a range fit their fields: \(error.reason)") }
        return writer.bytes
    }

    /// A depth_rep_info_element: sign, exponent + 31, the number of the mantissa's bits − 1, the mantissa.
    private static func write(_ value: Double, to writer: inout BitWriter) throws(BitstreamError) {
        let bits = 16
        var (exponent, mantissa) = (0, 0.0)
        if value >= 0x1p-30 {
            exponent = Int(value.exponent) + 31
            mantissa = ((value.significand - 1) * Double(1 << bits)).rounded()
            if mantissa == Double(1 << bits) { (exponent, mantissa) = (exponent + 1, 0) }
        }
        try writer.writeFlag(false)
        try writer.writeBits(UInt32(exponent), 7)
        try writer.writeBits(UInt32(bits - 1), 5)
        try writer.writeBits(UInt32(mantissa), bits)
    }

    /// What readers of Apple's depth maps look for: 8 bits that stand for disparities.
    public var xmp: [UInt8] {
        let pixels: [(String, String)] = [
            // "L008" and "hdis", formats of Core Video.
            ("StoredFormat", "1278226488"), ("NativeFormat", "1751411059"), ("AuxiliaryImageType", "disparity"),
            ("FloatMinValue", "\(min)"), ("FloatMaxValue", "\(max)"), ("IntMinValue", "0"), ("IntMaxValue", "255"),
        ]
        let depth = [("DepthDataVersion", "65541"), ("Accuracy", "relative"), ("Quality", "high")]
        func elements(_ prefix: String, _ fields: [(String, String)]) -> String {
            fields.map { "<\(prefix):\($0)>\($1)</\(prefix):\($0)>" }.joined()
        }
        let fields = elements("apdi", pixels) + elements("depthData", depth)
        return Array(
            """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
            <rdf:Description rdf:about="" xmlns:apdi="http://ns.apple.com/pixeldatainfo/1.0/" \
            xmlns:depthData="http://ns.apple.com/depthData/1.0/">\(fields)</rdf:Description></rdf:RDF></x:xmpmeta>
            """.utf8)
    }
}
