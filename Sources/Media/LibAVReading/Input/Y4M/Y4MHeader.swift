// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// The header line of a YUV4MPEG2 stream: yuv4mpeg(5) of the MJPEG tools, with `C…p10` and `XCOLORRANGE` as FFmpeg and
/// x264 write them.
package struct Y4MHeader: Hashable {
    var width = 0
    var height = 0
    var frameRate: Rational?
    var sampleAspectRatio: Rational?
    /// The format of frames; the stored samples may have another one.
    var format = PixelFormat.yu12
    /// The value of the `C` parameter.
    var chromaName = "420jpeg"
    /// The layout of the stored samples.
    private(set) var chroma: Y4MChroma
    var isFullRange = false
    var isInterlaced = false
    /// nil where the order of fields is mixed or not known.
    var fieldDetail: FieldDetail?

    /// The longest line that is read; real ones have fewer than 100 bytes.
    static let maxLength = 1024
    /// Frame rates that are accepted.
    static let possibleRates = 0.001...10_000
    /// The first bytes of every stream.
    package static let magic = "YUV4MPEG2"
    /// Bytes of one frame's samples.
    var frameByteCount: Int {
        (0..<format.planeCount).reduce(0) { sum, plane in
            sum + format.rowBytes(plane: plane, width: width) * format.rows(plane: plane, height: height)
        }
    }

    /// Parses the line, without its line feed.
    /// - Throws: `badInput` for a line that is not Y4M, `unsupported` with the unsupported parameter.
    init(line: some Collection<UInt8>, name: String) throws(MediaError) {
        guard let chroma = Y4MChroma(chromaName) else { throw MediaError(.unsupported, "\(name) cannot be read") }
        self.chroma = chroma
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
                    .badInput, "\(name): F\(Self.printable(value)) in the Y4M header is no valid frame rate")
            }
        case "A": sampleAspectRatio = try ratio(value, "A", name)
        case "I":
            guard ["p", "?", "t", "b", "m"].contains(value) else {
                throw MediaError(.badInput, "\(name): a Y4M header has no parameter \"\(Self.printable(field))\"")
            }
            isInterlaced = value != "p" && value != "?"
            fieldDetail = value == "t" || value == "b" ? FieldDetail(interleavedTopFirst: value == "t") : nil
        case "C": try parseChroma(value, name)
        case "X":
            if value == "COLORRANGE=FULL" { isFullRange = true }
        default:
            throw MediaError(.badInput, "\(name): a Y4M header has no parameter \"\(Self.printable(field))\"")
        }
    }

    private mutating func parseChroma(_ value: String, _ name: String) throws(MediaError) {
        guard let chroma = Y4MChroma(value) else {
            throw MediaError(
                .unsupported,
                "\(name): Y4M with C\(Self.printable(value)) is not supported; C420, C422, C444, C411 and Cmono are, "
                    + "with 8 to 16 bits and with alpha")
        }
        (chromaName, self.chroma) = (value, chroma)
        format = chroma.native ?? SampleFormats.nearest(chroma.samples)
    }

    private func dimension(_ value: String, _ key: String, _ name: String) throws(MediaError) -> Int {
        guard let number = Int(value) else {
            throw MediaError(.badInput, "\(name): \(key)\(Self.printable(value)) in the Y4M header is no number")
        }
        return number
    }

    /// Parses `a:b`; nil for `0:0`, "not known".
    private func ratio(_ value: String, _ key: String, _ name: String) throws(MediaError) -> Rational? {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false).map { Int32($0) }
        guard parts.count == 2, let numerator = parts[0], let denominator = parts[1], numerator >= 0,
            denominator >= 0
        else {
            throw MediaError(.badInput, "\(name): \(key)\(Self.printable(value)) in the Y4M header is no ratio")
        }
        return numerator > 0 && denominator > 0 ? Rational(numerator, denominator) : nil
    }

    /// At most 32 characters, with `?` for anything but printable ASCII, which is safe on terminals.
    private static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(32).map {
                $0.isASCII && $0.value >= 32 && $0.value < 127 ? Character($0) : "?"
            })
    }
}
