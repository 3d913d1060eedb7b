// SPDX-License-Identifier: GPL-2.0-or-later
public import Model

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
        /// Any text.
        case text
    }

    /// When a property may be written.
    public enum Access: Sendable, Hashable {
        /// Never.
        case readOnly
        /// Until the encoder opens (Prepare or the first frame).
        case settable
        /// At any time.
        case live
    }

    /// An encoder back end, for `honouredBy`.
    public enum Backend: String, Sendable, Hashable, CaseIterable {
        /// libx265.
        case x265
        /// A VA-API driver.
        case vaapi
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
    /// What it does, in one sentence.
    public let summary: String

    init(
        _ key: PropertyKey, _ kind: Kind, default defaultValue: PropertyValue? = nil, access: Access = .settable,
        by honouredBy: Set<Backend> = Set(Backend.allCases), _ summary: String
    ) {
        self.key = key
        self.kind = kind
        self.defaultValue = defaultValue
        self.access = access
        self.honouredBy = honouredBy
        self.summary = summary
    }

    /// Checks a value against the row's kind.
    ///
    /// - Throws: `Parameter`, naming the key, the range and the value.
    public func validate(_ value: PropertyValue) throws(SessionError) {
        let fits: Bool
        switch (kind, value) {
        case (.boolean, .bool): fits = true
        case (.integer(let range), .int(let value)): fits = range.contains(value)
        case (.number(let range), _): fits = value.number.map(range.contains) ?? false
        case (.frameRate, _): fits = Self.frameRate(value) != nil
        case (.choice(let names), .string(let name)): fits = names.contains(name)
        case (.codePoint(let names), .string(let name)): fits = names[name] != nil
        case (.codePoint, .int(let code)): fits = (0...255).contains(code)
        case (.text, .string): fits = true
        default: fits = false
        }
        guard fits else {
            throw SessionError(.parameter, "\(key) takes \(kind), not \(value)")
        }
    }

    /// A frame rate from a number or a ratio as text; nil when it is neither, or not within 1/1000…1000 Hz.
    static func frameRate(_ value: PropertyValue) -> Rational? {
        let rate: Rational? =
            switch value {
            case .string(let text): Rational(text: text)
            default: value.number.flatMap(Rational.init(frameRate:))
            }
        guard let rate, rate.value >= 0.001, rate.value <= 1000 else { return nil }
        return rate
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
        case .text: "a text"
        }
    }
}

/// The properties of compression sessions: validation, queries, help and conformance tests all come from here.
public enum PropertyTable {
    /// Every row.
    public static let compression: [PropertySpec] = [
        PropertySpec(
            .averageBitRate, .integer(1000...800_000_000),
            "Long-term average in bits a second; excludes Quality and QP."),
        PropertySpec(
            .quality, .number(0...1), default: .double(0.5),
            "Constant quality; 0.5 when no rate is set. x265: CRF = 40 - 38 * Quality. Excludes AverageBitRate and QP."
        ),
        PropertySpec(
            .qp, .integer(0...51),
            "Constant quantisation parameter of P pictures; I and B follow it. Excludes AverageBitRate and Quality."
        ),
        PropertySpec(
            .maxKeyFrameInterval, .integer(0...100_000),
            "Most frames from a key frame to the next; 1 makes every frame a key frame, 0 leaves it to the encoder."
        ),
        PropertySpec(
            .allowFrameReordering, .boolean, default: .bool(true),
            "Whether frames may be coded in another order than shown (B pictures)."),
        PropertySpec(
            .allowOpenGOP, .boolean, default: .bool(true),
            "Whether leading pictures of a key frame may refer across it (CRA instead of IDR)."),
        PropertySpec(
            .realTime, .boolean, default: .bool(false),
            "Keep up with a live source: no look-ahead, no reordering, one frame in the encoder at a time."),
        PropertySpec(
            .expectedFrameRate, .frameRate, "Frames a second, for rate control and the VUI; 30 when not set."),
        PropertySpec(
            .profileLevel, .choice(Profile.allCases.map(\.rawValue)),
            "The profile; by default the one that holds the source's bit depth."),
        PropertySpec(
            .outputBitDepth, .integer(8...10), access: .readOnly, "Bits of a coded sample, from the profile."),
        PropertySpec(
            .colorPrimaries, .codePoint(ColorNames.primaries), "colour_primaries of the VUI (H.273 table 2)."),
        PropertySpec(
            .transferFunction, .codePoint(ColorNames.transfer),
            "transfer_characteristics of the VUI (H.273 table 3)."),
        PropertySpec(
            .yCbCrMatrix, .codePoint(ColorNames.matrix), "matrix_coefficients of the VUI (H.273 table 4)."),
        PropertySpec(
            .fullRangeVideo, .boolean, default: .bool(false), "video_full_range_flag: samples use the full range."),
        PropertySpec(
            .chromaLocation, .integer(0...5), "chroma_sample_loc_type of the VUI (H.265 figure E.1)."),
        PropertySpec(
            .x265Preset, .choice(x265Presets), default: .string("medium"), by: [.x265],
            "x265's trade of speed for compression."),
        PropertySpec(
            .x265Params, .text, by: [.x265],
            "x265 options as key=value:key=value, passed through; those the session owns or that name files are refused."
        ),
        PropertySpec(.encoderID, .text, access: .readOnly, "The encoder that serves the session."),
        PropertySpec(.usingHardware, .boolean, access: .readOnly, "Whether that is hardware."),
        PropertySpec(
            .fallbackReason, .text, access: .readOnly, "Why it is not hardware, when hardware was allowed."),
        PropertySpec(
            .numberOfPendingFrames, .integer(0...Int64.max), access: .readOnly,
            "Frames taken and not yet given back as packets."),
    ]

    /// x265's presets, fastest first.
    public static let x265Presets = [
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo",
    ]

    private static let byKey = Dictionary(uniqueKeysWithValues: compression.map { ($0.key, $0) })

    /// The row of a key; nil for a key that does not exist.
    public static func row(_ key: PropertyKey) -> PropertySpec? { byKey[key] }
}

/// CoreVideo's names of H.273 code points, without `kCVImageBuffer…_`.
public enum ColorNames {
    /// Names of `colour_primaries`.
    public static let primaries: [String: UInt8] = [
        "ITU_R_709_2": 1, "EBU_3213": 5, "SMPTE_C": 6, "ITU_R_2020": 9, "DCI_P3": 11, "P3_D65": 12,
    ]
    /// Names of `transfer_characteristics`.
    public static let transfer: [String: UInt8] = [
        "ITU_R_709_2": 1, "SMPTE_240M_1995": 7, "Linear": 8, "sRGB": 13, "ITU_R_2020": 14, "SMPTE_ST_2084_PQ": 16,
        "SMPTE_ST_428_1": 17, "ITU_R_2100_HLG": 18,
    ]
    /// Names of `matrix_coefficients`.
    public static let matrix: [String: UInt8] = [
        "ITU_R_709_2": 1, "ITU_R_601_4": 6, "SMPTE_240M_1995": 7, "ITU_R_2020": 9,
    ]
}
