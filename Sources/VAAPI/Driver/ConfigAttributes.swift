// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A driver's capabilities for one profile and entry point (`VAConfigAttrib`).
public struct ConfigAttributes: Hashable, Sendable {
    /// `VA_RT_FORMAT_…` bits.
    let rtFormats: UInt32
    /// `VA_RC_…` bits.
    let rateControl: UInt32
    /// `VA_ENC_PACKED_HEADER_…` bits.
    let packedHeaders: UInt32
    /// Luma samples a row, at most; nil where the driver does not report it.
    public let maxWidth: Int?
    /// Rows of luma samples, at most; nil where the driver does not report it.
    public let maxHeight: Int?

    /// Capabilities of encoders; all nil for a decoder.
    let encoding: EncodingAttributes

    /// Whether the driver has surfaces of a format, by libva's name without `VA_RT_FORMAT_` (`YUV420_10`).
    public func hasRTFormat(_ name: String) -> Bool {
        Self.formats.contains { $0.0 == name && rtFormats & UInt32($0.1) != 0 }
    }

    /// The modes of rate control, by libva's names without `VA_RC_`.
    public var rateControlNames: [String] { Self.names(rateControl, Self.controls) }

    /// The packed headers that the driver takes, by libva's names without `VA_ENC_PACKED_HEADER_`.
    public var packedHeaderNames: [String] { Self.names(packedHeaders, Self.headers) }

    /// The names of `VA_RC_…` bits.
    static func rateControlNames(_ bits: UInt32) -> [String] { names(bits, controls) }

    /// The `VA_RC_…` bits of these names.
    static func rateControls(_ names: [String]) -> UInt32 { bits(names, controls) }

    /// The `VA_ENC_PACKED_HEADER_…` bits of these names.
    static func packedHeaders(_ names: [String]) -> UInt32 { bits(names, headers) }

    /// The `VA_RT_FORMAT_…` bit of a name.
    static func rtFormat(_ name: String) -> UInt32? { formats.first { $0.0 == name }.map { UInt32($0.1) } }

    private static func bits(_ names: [String], _ table: [(String, Int32)]) -> UInt32 {
        table.reduce(0) { $0 | (names.contains($1.0) ? UInt32($1.1) : 0) }
    }

    private static func names(_ bits: UInt32, _ table: [(String, Int32)]) -> [String] {
        table.filter { bits & UInt32($0.1) != 0 }.map(\.0)
    }

    private static let formats: [(String, Int32)] = [
        ("YUV420", VA_RT_FORMAT_YUV420), ("YUV422", VA_RT_FORMAT_YUV422), ("YUV444", VA_RT_FORMAT_YUV444),
        ("YUV420_10", VA_RT_FORMAT_YUV420_10), ("YUV422_10", VA_RT_FORMAT_YUV422_10),
        ("YUV444_10", VA_RT_FORMAT_YUV444_10), ("YUV420_12", VA_RT_FORMAT_YUV420_12),
    ]

    private static let controls: [(String, Int32)] = [
        ("CBR", VA_RC_CBR), ("VBR", VA_RC_VBR), ("VCM", VA_RC_VCM), ("CQP", VA_RC_CQP),
        ("VBR_CONSTRAINED", VA_RC_VBR_CONSTRAINED), ("ICQ", VA_RC_ICQ), ("MB", VA_RC_MB), ("CFS", VA_RC_CFS),
        ("PARALLEL", VA_RC_PARALLEL), ("QVBR", VA_RC_QVBR), ("AVBR", VA_RC_AVBR), ("TCBRC", VA_RC_TCBRC),
    ]

    private static let headers: [(String, Int32)] = [
        ("SEQUENCE", VA_ENC_PACKED_HEADER_SEQUENCE), ("PICTURE", VA_ENC_PACKED_HEADER_PICTURE),
        ("SLICE", VA_ENC_PACKED_HEADER_SLICE), ("MISC", VA_ENC_PACKED_HEADER_MISC),
        ("RAW_DATA", VA_ENC_PACKED_HEADER_RAW_DATA),
    ]
}
