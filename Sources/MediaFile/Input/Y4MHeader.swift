// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The header line of a YUV4MPEG2 stream: yuv4mpeg(5) of the MJPEG tools, with `C…p10` and `XCOLORRANGE` as FFmpeg and
/// x264 write them.
struct Y4MHeader: Hashable {
    var width = 0
    var height = 0
    var frameRate: Rational?
    var sampleAspectRatio: Rational?
    var format = PixelFormat.yu12
    /// The value of the `C` parameter.
    var chroma = "420jpeg"
    var isFullRange = false
    /// `chroma_sample_loc_type` (H.265 E.3.1); nil where the `C` parameter does not determine it.
    var chromaLocation: UInt8?

    /// The longest line that is read; real ones have fewer than 100 bytes.
    static let maxLength = 1024
    /// Frame rates that are accepted.
    static let possibleRates = 0.001...10_000
    /// The first bytes of every stream.
    static let magic = "YUV4MPEG2"
    /// Bytes of one frame's samples.
    var frameByteCount: Int {
        (0..<format.planeCount).reduce(0) { sum, plane in
            sum + format.rowBytes(plane: plane, width: width) * format.rows(plane: plane, height: height)
        }
    }

    /// Parses the line, without its line feed.
    /// - Throws: `badInput` for a line that is not Y4M, `unsupported` with the unsupported parameter.
    init(line: some Collection<UInt8>, name: String) throws(MediaError) {
        // Valid headers are ASCII; anything else fails below in its field.
        let fields = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard fields.first == Self.magic else {
            throw MediaError(.badInput, "\(name) is not Y4M: it does not begin with \(Self.magic)")
        }
        for field in fields.dropFirst() { try parse(field, name) }
        guard width > 0, height > 0 else {
            throw MediaError(.badInput, "\(name): a Y4M picture cannot be \(width)x\(height)")
        }
        try VideoDecoder.checkSize(width: width, height: height, name)
    }

    private mutating func parse(_ field: String, _ name: String) throws(MediaError) {
        let value = String(field.dropFirst())
        switch field.first {
        case "W": width = try dimension(value, "W", name)
        case "H": height = try dimension(value, "H", name)
        case "F":
            frameRate = try ratio(value, "F", name)
            guard value == "0:0" || frameRate.map({ Self.possibleRates.contains($0.value) }) ?? false else {
                throw MediaError(
                    .badInput, "\(name): F\(Self.shown(value)) in the Y4M header is no valid frame rate")
            }
        case "A": sampleAspectRatio = try ratio(value, "A", name)
        case "I":
            guard value == "p" || value == "?" else {
                throw MediaError(.unsupported, "\(name): interlaced Y4M (I\(value)) is not supported")
            }
        case "C": try parseChroma(value, name)
        case "X":
            if value == "COLORRANGE=FULL" { isFullRange = true }
        default:
            throw MediaError(.badInput, "\(name): a Y4M header has no parameter \"\(Self.shown(field))\"")
        }
    }

    private mutating func parseChroma(_ value: String, _ name: String) throws(MediaError) {
        chroma = value
        switch value {
        case "420": (format, chromaLocation) = (.yu12, nil)
        case "420jpeg": (format, chromaLocation) = (.yu12, 1)
        case "420mpeg2": (format, chromaLocation) = (.yu12, 0)
        case "420paldv": (format, chromaLocation) = (.yu12, 2)
        case "420p10": (format, chromaLocation) = (.i010, nil)
        case "420alpha": (format, chromaLocation) = (.yuva, nil)
        default:
            throw MediaError(
                .unsupported,
                "\(name): Y4M with C\(Self.shown(value)) is not supported; C420, C420jpeg, C420mpeg2, "
                    + "C420paldv, C420p10 and C420alpha are")
        }
    }

    private func dimension(_ value: String, _ key: String, _ name: String) throws(MediaError) -> Int {
        guard let number = Int(value) else {
            throw MediaError(.badInput, "\(name): \(key)\(Self.shown(value)) in the Y4M header is no number")
        }
        return number
    }

    /// Parses `a:b`; nil for `0:0`, "not known".
    private func ratio(_ value: String, _ key: String, _ name: String) throws(MediaError) -> Rational? {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false).map { Int32($0) }
        guard parts.count == 2, let numerator = parts[0], let denominator = parts[1], numerator >= 0,
            denominator >= 0
        else {
            throw MediaError(.badInput, "\(name): \(key)\(Self.shown(value)) in the Y4M header is no ratio")
        }
        return numerator > 0 && denominator > 0 ? Rational(numerator, denominator) : nil
    }

    private static func shown(_ text: String) -> String { text.printable(maxBytes: 32) }
}
