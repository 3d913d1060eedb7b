// SPDX-License-Identifier: MIT

/// `ext_metadata_block()`: a level and its bytes.
public struct RPUBlock: Hashable, Sendable {
    /// `ext_block_level`, 0…255.
    public var level: Int
    /// The fields and their zero padding.
    public var payload: [UInt8]

    /// The most bytes of one block read or written; the longest known block has 25.
    static let maxPayload = 1024

    public init(level: Int, payload: [UInt8]) {
        self.level = level
        self.payload = payload
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        var length = payload.count
        try c.ue("ext_block_length", &length, 0...Self.maxPayload)
        try c.u("ext_block_level", 8, &level)
        try c.require(bits: length * 8)
        try c.size("ext_block", &payload, length, 0)
        for index in payload.indices {
            var byte = Int(payload[index])
            try c.u("ext_block", 8, &byte)
            payload[index] = UInt8(truncatingIfNeeded: byte)
        }
    }
}

/// The blocks that this module interprets.
public enum RPUBlockContent: Hashable, Sendable {
    /// The picture's light.
    case level1(RPULight)
    /// A trim for a display of one peak.
    case level2(RPUTrim)
    /// Offsets to level 1, 2048 for 0.
    case level3(RPULight)
    case level4(RPUAnchor)
    case level5(RPUActiveArea)
    case level6(RPUStaticLight)
    /// A trim for a display that level 10 describes.
    case level8(RPUDisplayTrim)
    case level9(RPUSourcePrimaries)
    case level10(RPUTargetDisplay)
    case level11(RPUContentType)
    case level254(RPUVersion)
    /// Another level, or a length, value or padding that the level's syntax does not have.
    case other(RPUBlock)
}

extension RPUBlock {
    /// The interpreted block; `.other` where that would not give the same bytes when written again.
    public var content: RPUBlockContent {
        guard let content = try? known(), (try? RPUBlock(content)) == self else { return .other(self) }
        return content
    }

    private func known() throws(BitstreamError) -> RPUBlockContent {
        switch (level, payload.count) {
        case (1, 5): return .level1(try read(RPULight()))
        case (2, 11): return .level2(try read(RPUTrim()))
        case (3, 5): return .level3(try read(RPULight()))
        case (4, 3): return .level4(try read(RPUAnchor()))
        case (5, 7): return .level5(try read(RPUActiveArea()))
        case (6, 8): return .level6(try read(RPUStaticLight()))
        case (8, 10): return .level8(try read(RPUDisplayTrim()))
        case (8, 12): return .level8(try read(RPUDisplayTrim(parts: 1)))
        case (8, 13): return .level8(try read(RPUDisplayTrim(parts: 2)))
        case (8, 19): return .level8(try read(RPUDisplayTrim(parts: 3)))
        case (8, 25): return .level8(try read(RPUDisplayTrim(parts: 4)))
        case (9, 1): return .level9(try read(RPUSourcePrimaries()))
        case (9, 17): return .level9(try read(RPUSourcePrimaries(isCustom: true)))
        case (10, 5): return .level10(try read(RPUTargetDisplay()))
        case (10, 21): return .level10(try read(RPUTargetDisplay(isCustom: true)))
        case (11, 4): return .level11(try read(RPUContentType()))
        case (254, 2): return .level254(try read(RPUVersion()))
        default: return .other(self)
        }
    }

    private func read<Fields: RPUFields>(_ empty: Fields) throws(BitstreamError) -> Fields {
        var (reader, value) = (BitReader(payload), empty)
        try value.code(&reader)
        return value
    }

    /// The block that holds `content`; throws `outOfRange` when a value does not fit.
    public init(_ content: RPUBlockContent) throws(BitstreamError) {
        switch content {
        case .level1(let fields): try self.init(1, fields)
        case .level2(let fields): try self.init(2, fields)
        case .level3(let fields): try self.init(3, fields)
        case .level4(let fields): try self.init(4, fields)
        case .level5(let fields): try self.init(5, fields)
        case .level6(let fields): try self.init(6, fields)
        case .level8(let fields): try self.init(8, fields)
        case .level9(let fields): try self.init(9, fields)
        case .level10(let fields): try self.init(10, fields)
        case .level11(let fields): try self.init(11, fields)
        case .level254(let fields): try self.init(254, fields)
        case .other(let block): self = block
        }
    }

    /// Pads the fields with zeros to whole bytes, which is each level's length.
    private init(_ level: Int, _ fields: some RPUFields) throws(BitstreamError) {
        self.init(level: level, payload: try fields.coded())
    }
}

/// The fields of a level.
protocol RPUFields: CodedSyntax {}
