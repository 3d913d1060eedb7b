// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import MediaFile
internal import Model

/// What a source says of its light and its samples' shape, as session properties and back as a track's boxes.
enum EncodeMetadata {
    /// `mdcv`'s 24 bytes in hexadecimal.
    static let masteringDisplay = PropertyKey(rawValue: "MasteringDisplayColorVolume")
    /// `clli`'s 4 bytes in hexadecimal.
    static let contentLight = PropertyKey(rawValue: "ContentLightLevelInfo")
    /// `h:v`.
    static let pixelAspectRatio = PropertyKey(rawValue: "PixelAspectRatio")
    /// A dictionary of Width, Height, HorizontalOffset and VerticalOffset.
    static let cleanAperture = PropertyKey(rawValue: "CleanAperture")

    /// The properties a source asks for.
    static func properties(_ video: VideoDescription) -> [(PropertyKey, PropertyValue)] {
        var properties: [(PropertyKey, PropertyValue)] = []
        if let bytes = video.masteringDisplay { properties.append((masteringDisplay, .string(hexadecimal(bytes)))) }
        if let bytes = video.contentLight { properties.append((contentLight, .string(hexadecimal(bytes)))) }
        if let aspect = video.sampleAspectRatio, aspect != Rational(1) {
            properties.append((pixelAspectRatio, .string("\(aspect.numerator):\(aspect.denominator)")))
        }
        return properties
    }

    /// Sets them, but for those the user set; what the session does not take comes back as warnings.
    ///
    /// One call each: the session takes all of a call or nothing.
    static func send(
        _ video: VideoDescription, to session: CompressionSession, unless wanted: [PropertyKey: PropertyValue]
    ) throws(ClientError) -> [String] {
        var warnings: [String] = []
        for (key, value) in properties(video) where wanted[key] == nil {
            do throws(ClientError) {
                try session.setProperties([key: value])
            } catch {
                guard case .session(let status) = error.code,
                    [.propertyNotSupported, .propertyReadOnly, .parameter].contains(status)
                else { throw error }
                warnings.append("warning: the source's \(key) is not in the coded stream: \(error.reason)")
            }
        }
        return warnings
    }

    /// Has a track say what the session's properties say, where they say anything.
    static func apply(_ properties: [PropertyKey: PropertyValue], to track: inout VideoTrack) {
        if case .string(let text)? = properties[masteringDisplay], let bytes = bytes(text), bytes.count == 24 {
            track.masteringDisplay = bytes
        }
        if case .string(let text)? = properties[contentLight], let bytes = bytes(text), bytes.count == 4 {
            track.contentLight = bytes
        }
        if case .string(let text)? = properties[pixelAspectRatio], let aspect = ratio(text) {
            track.sampleAspectRatio = aspect
        }
        if case .object(let fields)? = properties[cleanAperture],
            let width = number(fields["Width"]), let height = number(fields["Height"]),
            let across = number(fields["HorizontalOffset"] ?? .int(0)),
            let down = number(fields["VerticalOffset"] ?? .int(0))
        {
            track.cleanAperture = CleanAperture(
                width: width, height: height, horizontalOffset: across, verticalOffset: down)
        }
    }

    /// Two lower-case digits a byte.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private static func ratio(_ text: String) -> Rational? {
        let parts = text.split(separator: ":").map { Int32($0) }
        guard parts.count == 2, let over = parts[0], let under = parts[1], over > 0 else { return nil }
        return Rational(over, under)
    }

    private static func number(_ value: PropertyValue?) -> Rational? {
        switch value {
        case .string(let text): return Rational(text: text)
        case .int(let number): return Int32(exactly: number).map { Rational($0) }
        case .double(let number):
            // Halves of samples are the finest a picture's window gives.
            return Int32(exactly: (number * 2).rounded()).flatMap { Rational($0, 2) }
        default: return nil
        }
    }
}
