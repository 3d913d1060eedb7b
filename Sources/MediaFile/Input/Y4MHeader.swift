// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The first line of a YUV4MPEG2 stream (yuv4mpeg(5) of the MJPEG tools, with FFmpeg's and x264's `C…p10` and
/// `XCOLORRANGE`).
struct Y4MHeader: Hashable {
    var width = 0
    var height = 0
    var frameRate: Rational?
    var sampleAspectRatio: Rational?
    var format = PixelFormat.yu12
    /// The value of the `C` parameter as it was written.
    var chroma = "420jpeg"
    var isFullRange = false
    /// `chroma_sample_loc_type` (H.265 E.3.1); nil when the `C` parameter does not tell.
    var chromaLocation: UInt8?

    /// The longest line that is looked at; real ones are below 100 bytes.
    static let maxLength = 1024
    /// Frames a second that are believed.
    static let possibleRates = 0.001...10_000
    /// How every stream begins.
    static let magic = "YUV4MPEG2"
    /// Bytes of one frame's samples.
    var frameByteCount: Int {
        (0..<format.planeCount).reduce(0) { sum, plane in
            sum + format.rowBytes(plane: plane, width: width) * format.rows(plane: plane, height: height)
        }
    }

    /// Reads the line, without its line feed.
    /// - Throws: `badInput` for a line that is not Y4M, `unsupported` naming the parameter that cannot be taken.
    init(line: some Collection<UInt8>, name: String) throws(MediaError) {
        // Only ASCII is possible in a right header; anything else fails below in a field by its own name.
        let fields = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard fields.first == Self.magic else {
            throw MediaError(.badInput, "\(name) is not Y4M: it does not begin with \(Self.magic)")
        }
        for field in fields.dropFirst() { try take(field, name) }
        guard width > 0, height > 0 else {
            throw MediaError(.badInput, "\(name): a Y4M picture of \(width)x\(height) is not possible")
        }
        try VideoDecoder.checkSize(width: width, height: height, name)
    }

    private mutating func take(_ field: String, _ name: String) throws(MediaError) {
        let value = String(field.dropFirst())
        switch field.first {
        case "W": width = try dimension(value, "W", name)
        case "H": height = try dimension(value, "H", name)
        case "F":
            frameRate = try ratio(value, "F", name)
            guard value == "0:0" || frameRate.map({ Self.possibleRates.contains($0.value) }) ?? false else {
                throw MediaError(
                    .badInput, "\(name): F\(Self.printable(value)) in the Y4M header is no possible frame rate")
            }
        case "A": sampleAspectRatio = try ratio(value, "A", name)
        case "I":
            guard value == "p" || value == "?" else {
                throw MediaError(.unsupported, "\(name): interlaced Y4M (I\(value)) is not supported")
            }
        case "C": try takeChroma(value, name)
        case "X":
            if value == "COLORRANGE=FULL" { isFullRange = true }
        default:
            throw MediaError(.badInput, "\(name): a Y4M header has no parameter \"\(Self.printable(field))\"")
        }
    }

    private mutating func takeChroma(_ value: String, _ name: String) throws(MediaError) {
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
                "\(name): Y4M with C\(Self.printable(value)) is not supported; C420, C420jpeg, C420mpeg2, "
                    + "C420paldv, C420p10 and C420alpha are")
        }
    }

    private func dimension(_ value: String, _ key: String, _ name: String) throws(MediaError) -> Int {
        guard let number = Int(value) else {
            throw MediaError(.badInput, "\(name): \(key)\(Self.printable(value)) in the Y4M header is no number")
        }
        return number
    }

    /// `a:b`; nil for `0:0`, which stands for "not known".
    private func ratio(_ value: String, _ key: String, _ name: String) throws(MediaError) -> Rational? {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false).map { Int32($0) }
        guard parts.count == 2, let over = parts[0], let under = parts[1], over >= 0, under >= 0 else {
            throw MediaError(.badInput, "\(name): \(key)\(Self.printable(value)) in the Y4M header is no ratio")
        }
        return over > 0 && under > 0 ? Rational(over, under) : nil
    }

    /// At most 32 characters, none of which can disturb a terminal.
    private static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(32).map {
                $0.isASCII && $0.value >= 32 && $0.value < 127 ? Character($0) : "?"
            })
    }
}
