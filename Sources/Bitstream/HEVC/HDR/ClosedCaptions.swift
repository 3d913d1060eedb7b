// SPDX-License-Identifier: MIT

/// Closed captions of one picture: `user_data_registered_itu_t_t35()` with ATSC A/53's `cc_data()` (part 4, 6.2.3).
public struct ClosedCaptions: Hashable, Sendable, CodedSyntax {
    /// One construct of `cc_data()`.
    public struct Construct: Hashable, Sendable {
        /// `cc_valid`: whether the bytes mean anything.
        public var isValid: Bool
        /// 0 and 1: CEA-608, field 1 and 2; 2 and 3: CEA-708.
        public var type: Int
        /// Two.
        public var bytes: [UInt8]
        /// 5 bits, all 1 by the standard.
        public var markerBits = 31

        public init(isValid: Bool = true, type: Int = 0, bytes: [UInt8] = [0x80, 0x80]) {
            self.isValid = isValid
            self.type = type
            self.bytes = bytes
        }
    }

    /// `process_em_data_flag`, `process_cc_data_flag` and `additional_data_flag`, 3 bits.
    public var flags = 6
    /// `em_data`, 8 bits.
    public var emData = 0xFF
    /// Up to `maxConstructs`.
    public var constructs: [Construct]
    /// Bytes after the constructs, by default the marker byte.
    public var remainder: [UInt8] = [0xFF]

    /// The bytes that such a payload starts with: United States, ATSC, "GA94", `cc_data()`.
    public static let identifier: [UInt8] = [0xB5, 0x00, 0x31] + Array("GA94".utf8) + [3]

    /// The most that `cc_count` can say; a picture has up to 25 (at 24 pictures per second).
    public static let maxConstructs = 31

    public init(constructs: [Construct]) {
        self.constructs = constructs
    }

    /// Whether a construct carries CEA-608 captions other than padding.
    public var hasCEA608: Bool {
        isProcessed && constructs.contains { $0.isValid && $0.type < 2 && $0.bytes.contains { $0 & 0x7F != 0 } }
    }

    /// Whether a construct carries CEA-708 captions.
    public var hasCEA708: Bool { isProcessed && constructs.contains { $0.isValid && $0.type > 1 } }

    /// `process_cc_data_flag`.
    private var isProcessed: Bool { flags & 2 != 0 }

    /// Parses the payload of SEI type 4, from its country code on.
    public init(payload: [UInt8]) throws(BitstreamError) {
        guard payload.starts(with: Self.identifier) else {
            throw BitstreamError(.malformed, "the registered user data are not closed captions")
        }
        self.init(constructs: [])
        var reader = BitReader(Array(payload.dropFirst(Self.identifier.count)))
        try code(&reader)
        remainder = try reader.readRaw(reader.bitsLeft).bytes
    }

    /// The payload of SEI type 4; throws when a value does not fit.
    public func payload() throws(BitstreamError) -> [UInt8] {
        try Self.identifier + coded() + remainder
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("process_data_flags", 3, &flags)
        var count = constructs.count
        try c.u("cc_count", 5, &count)
        try c.u("em_data", 8, &emData)
        try c.size("cc_data", &constructs, count, Construct())
        for index in constructs.indices { try constructs[index].code(&c) }
    }
}

extension ClosedCaptions.Construct {
    fileprivate mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("marker_bits", 5, &markerBits)
        try c.flag("cc_valid", &isValid)
        try c.u("cc_type", 2, &type)
        try c.size("cc_data", &bytes, 2, 0)
        for index in 0..<2 {
            var byte = Int(bytes[index])
            try c.u("cc_data", 8, &byte)
            bytes[index] = UInt8(truncatingIfNeeded: byte)
        }
    }
}
