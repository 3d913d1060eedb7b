// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A rectangle of a picture in luma samples.
public struct Aperture: Hashable, Sendable {
    public let width: Int
    public let height: Int
    public let x: Int
    public let y: Int

    /// The same in a picture.
    public var rectangle: PictureRectangle {
        PictureRectangle(x: UInt32(x), y: UInt32(y), width: UInt32(width), height: UInt32(height))
    }
}

/// A limit of bytes in any interval of this length.
public struct DataRateLimit: Hashable, Sendable {
    public let bytes: Int64
    public let seconds: Double
}

/// Parses property values that are not a single number.
public enum PropertyText {
    static let frameRates = 0.001...1000.0

    /// A frame rate from a number or a ratio as text; nil for other values and outside 1/1000…1000 Hz.
    public static func frameRate(_ value: PropertyValue) -> Rational? {
        let rate: Rational? =
            switch value {
            case .string(let text): Rational(text: text)
            default: value.number.flatMap(Rational.init(frameRate:))
            }
        guard let rate, frameRates.contains(rate.value) else { return nil }
        return rate
    }

    /// A limit from `[bytes, seconds]`: one pair, where VideoToolbox accepts several, because encoders have one buffer.
    public static func dataRateLimits(_ value: PropertyValue) -> DataRateLimit? {
        guard case .array(let items) = value, items.count == 2, case .int(let bytes) = items[0],
            let seconds = items[1].number, (125...1_000_000_000).contains(bytes), (0.01...60).contains(seconds)
        else { return nil }
        return DataRateLimit(bytes: bytes, seconds: seconds)
    }

    /// `h:v`; sar_width and sar_height have 16 bits (H.265 E.2.1).
    public static func aspectRatio(_ text: String) -> Rational? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt16($0) }
        guard parts.count == 2, let h = parts[0], let v = parts[1], h > 0, v > 0 else { return nil }
        return Rational(Int32(h), Int32(v))
    }

    /// `WxH+X+Y`; `+X+Y` is optional.
    public static func aperture(_ text: String) -> Aperture? {
        let parts = text.split(separator: "+", omittingEmptySubsequences: false)
        let size = parts[0].split(separator: "x", omittingEmptySubsequences: false).map { UInt16($0) }
        let offset = parts.dropFirst().map { UInt16($0) }
        guard size.count == 2, let width = size[0], let height = size[1], width > 0, height > 0,
            offset.isEmpty || offset.count == 2, !offset.contains(nil)
        else { return nil }
        return Aperture(
            width: Int(width), height: Int(height), x: Int(offset.first.flatMap { $0 } ?? 0),
            y: Int(offset.last.flatMap { $0 } ?? 0))
    }

    /// A rectangle in a call's member; nil where there is none.
    ///
    /// - Throws: `Parameter`, with the member and its text.
    public static func rectangle(_ text: String?, _ member: String) throws(SessionError) -> PictureRectangle? {
        guard let text else { return nil }
        guard let part = aperture(text) else {
            throw SessionError(
                .parameter, "\(member) \(text.prefix(64)) is not a rectangle such as 1920x1080+0+4")
        }
        return part.rectangle
    }
}
