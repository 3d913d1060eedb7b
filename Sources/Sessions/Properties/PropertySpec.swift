// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// One row of the property table.
public struct PropertySpec: Sendable {
    /// What values a property takes.
    public enum Kind: Sendable, Hashable {
        /// true or false.
        case boolean
        /// A whole number within the range.
        case integer(ClosedRange<Int64>)
        /// A number within the range.
        case number(ClosedRange<Double>)
        /// A positive number of Hz, or a ratio as text (`30000/1001`).
        case frameRate
        /// One of these texts.
        case choice([String])
        /// An H.273 code point by number, or by one of these names.
        case codePoint([String: UInt8])
        /// `[bytes, seconds]`: at most so many bytes in any so many seconds.
        case dataRateLimits
        /// Width over height, `h:v`, both 1…65535.
        case aspectRatio
        /// A part of the picture, `WxH+X+Y`; X and Y are its offset from the top left.
        case aperture
        /// So many bytes in hexadecimal.
        case bytes(Int)
        /// Any text.
        case text
    }

    /// When a property may be written.
    public enum Access: String, Sendable, Hashable {
        /// Never.
        case readOnly = "read-only"
        /// Until the encoder opens (Prepare or the first frame).
        case settable = "until-prepared"
        /// At any time.
        case live
    }

    /// A back end, for `honouredBy`.
    public enum Backend: String, Sendable, Hashable, CaseIterable {
        /// libx265.
        case x265
        /// A VA-API driver that encodes.
        case vaapi
        /// libavcodec's decoder.
        case libavcodec
        /// A VA-API driver that decodes, by way of libavcodec.
        case vaapiDecoder = "vaapi-decoder"

        /// Whether its sessions decompress.
        public var isDecoder: Bool { self == .libavcodec || self == .vaapiDecoder }
    }

    /// The property's name.
    public let key: PropertyKey
    /// What values it takes.
    public let kind: Kind
    /// Its value when nobody sets it; nil where the encoder decides.
    public let defaultValue: PropertyValue?
    /// When it may be written.
    public let access: Access
    /// The back ends that honour it; elsewhere setting it is `PropertyNotSupported`.
    public let honouredBy: Set<Backend>
    /// Whether only sessions of hevc-with-alpha know it; in others it is `PropertyNotSupported`.
    public let isForAlpha: Bool
    /// What it does, in one sentence.
    public let summary: String

    init(
        _ key: PropertyKey, _ kind: Kind, default defaultValue: PropertyValue? = nil, access: Access = .settable,
        by honouredBy: Set<Backend> = Set(Backend.allCases), isForAlpha: Bool = false, _ summary: String
    ) {
        self.key = key
        self.kind = kind
        self.defaultValue = defaultValue
        self.access = access
        self.honouredBy = honouredBy
        self.isForAlpha = isForAlpha
        self.summary = summary
    }

    /// Checks a value against the row's kind.
    ///
    /// - Throws: `Parameter`, naming the key, the range and the value.
    public func validate(_ value: PropertyValue) throws(SessionError) {
        guard kind.holds(value) else { throw SessionError(.parameter, "\(key) takes \(kind), not \(value)") }
    }
}

extension PropertySpec.Kind {
    /// Whether a value is of this kind and within its range.
    func holds(_ value: PropertyValue) -> Bool {
        switch (self, value) {
        case (.boolean, .bool): true
        case (.integer(let range), .int(let value)): range.contains(value)
        case (.number(let range), _): value.number.map(range.contains) ?? false
        case (.frameRate, _): PropertyText.frameRate(value) != nil
        case (.choice(let names), .string(let name)): names.contains(name)
        case (.codePoint(let names), .string(let name)): names[name] != nil
        case (.codePoint, .int(let code)): (0...255).contains(code)
        case (.dataRateLimits, _): PropertyText.dataRateLimits(value) != nil
        case (.aspectRatio, .string(let text)): PropertyText.aspectRatio(text) != nil
        case (.aperture, .string(let text)): PropertyText.aperture(text) != nil
        case (.bytes(let count), .string(let text)): Hexadecimal.bytes(text)?.count == count
        case (.text, .string): true
        default: false
        }
    }

    /// The kind's name, for programs.
    public var name: String {
        switch self {
        case .boolean: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .frameRate: "frame-rate"
        case .choice: "choice"
        case .codePoint: "code-point"
        case .dataRateLimits: "data-rate-limits"
        case .aspectRatio: "aspect-ratio"
        case .aperture: "aperture"
        case .bytes: "bytes"
        case .text: "text"
        }
    }

    /// The least and the most a number may be; nil for what is no number.
    public var range: (minimum: Double, maximum: Double)? {
        switch self {
        case .integer(let range): (Double(range.lowerBound), Double(range.upperBound))
        case .number(let range): (range.lowerBound, range.upperBound)
        case .frameRate: (PropertyText.frameRates.lowerBound, PropertyText.frameRates.upperBound)
        default: nil
        }
    }

    /// The texts that are allowed; nil where there is no list.
    public var choices: [String]? {
        switch self {
        case .choice(let names): names
        case .codePoint(let names): names.keys.sorted()
        default: nil
        }
    }
}

extension PropertySpec.Kind: CustomStringConvertible {
    /// The kind as help and error texts say it.
    public var description: String {
        switch self {
        case .boolean: "true or false"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .number(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .frameRate: "a frame rate such as 25 or 30000/1001"
        case .choice(let names): "one of " + names.joined(separator: ", ")
        case .codePoint(let names): "an H.273 code point or one of " + names.keys.sorted().joined(separator: ", ")
        case .dataRateLimits: "[bytes, seconds], both positive"
        case .aspectRatio: "a ratio such as 4:3"
        case .aperture: "a part of the picture such as 1920x1080+0+4"
        case .bytes(let count): "\(count) bytes in hexadecimal"
        case .text: "a text"
        }
    }
}
