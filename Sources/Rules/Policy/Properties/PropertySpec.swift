// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// One row of the property table.
public struct PropertySpec: Sendable {
    /// The type and range of a property's values.
    public enum Kind: Sendable, Hashable {
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
        /// `[bytes, seconds]`: a limit of bytes in any interval of this length.
        case dataRateLimits
        /// Width over height, `h:v`, both 1…65535.
        case aspectRatio
        /// A rectangle, `WxH+X+Y`; X and Y are the offset from the top left.
        case aperture
        /// This number of bytes in hexadecimal.
        case bytes(Int)
        case text
    }

    /// When a property may be written.
    public enum Access: String, Sendable, Hashable {
        /// Never.
        case readOnly = "read-only"
        /// Until the encoder opens (Prepare or the first frame).
        case settable = "until-prepared"
        /// At any time; in an open session it takes effect with the next frame.
        case live
    }

    /// A codec implementation that sessions use.
    public enum Backend: String, Sendable, Hashable, CaseIterable {
        /// libx265.
        case x265
        /// Hardware that encodes: a VA-API driver, or NVENC.
        case vaapi
        /// libavcodec's decoder.
        case libavcodec
        /// A VA-API driver that decodes, through libavcodec.
        case vaapiDecoder = "vaapi-decoder"
        /// The CPU or a GPU that converts and scales pictures.
        case transfer

        /// Whether its sessions decompress.
        public var isDecoder: Bool { self == .libavcodec || self == .vaapiDecoder }
    }

    public let key: PropertyKey
    public let kind: Kind
    /// Nil when the encoder or decoder chooses the default.
    public let defaultValue: PropertyValue?
    public let access: Access
    /// The back ends that support it; with others, setting it fails with `PropertyNotSupported`.
    public let supportedBy: Set<Backend>
    /// Whether only hevc-with-alpha sessions support it; in others setting it fails with `PropertyNotSupported`.
    public let isForAlpha: Bool
    /// A description for manuals and `hwctl properties`.
    public let summary: String

    init(
        _ key: PropertyKey, _ kind: Kind, default defaultValue: PropertyValue? = nil, access: Access = .settable,
        by supportedBy: Set<Backend> = Set(Backend.allCases), isForAlpha: Bool = false, _ summary: String
    ) {
        self.key = key
        self.kind = kind
        self.defaultValue = defaultValue
        self.access = access
        self.supportedBy = supportedBy
        self.isForAlpha = isForAlpha
        self.summary = summary
    }

    /// Checks a value against the row's kind.
    ///
    /// - Throws: `Parameter`, naming the key, the range and the value.
    public func validate(_ value: PropertyValue) throws(SessionError) {
        guard kind.holds(value) else { throw SessionError(.parameter, "\(key) is \(value); it must be \(kind)") }
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

    /// The kind's identifier for programs.
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

    /// The limits of a number; nil for other kinds.
    public var range: (minimum: Double, maximum: Double)? {
        switch self {
        case .integer(let range): (Double(range.lowerBound), Double(range.upperBound))
        case .number(let range): (range.lowerBound, range.upperBound)
        case .frameRate: (PropertyText.frameRates.lowerBound, PropertyText.frameRates.upperBound)
        default: nil
        }
    }

    /// The allowed texts; nil when they are not listed.
    public var choices: [String]? {
        switch self {
        case .choice(let names): names
        case .codePoint(let names): names.keys.sorted()
        default: nil
        }
    }
}

extension PropertySpec.Kind: CustomStringConvertible {
    /// The kind in help and error texts.
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
        case .aperture: "a rectangle such as 1920x1080+0+4"
        case .bytes(let count): "\(count) bytes in hexadecimal"
        case .text: "a text"
        }
    }
}
