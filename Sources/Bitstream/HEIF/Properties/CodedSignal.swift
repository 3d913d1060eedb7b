// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC
public import HWDModel

/// What the stream of a coded picture says of its samples.
public struct CodedSignal: Hashable, Sendable {
    /// Code points that the stream states, its range, and the siting of its chroma.
    ///
    /// A stream that states no range has its codec's: full for JPEG, video for the others.
    public var color: ColorDescription
    /// Bits of a luma sample.
    public var bitDepth: Int
    /// `chroma_format_idc`: 0 is gray, 1 4:2:0, 2 4:2:2, 3 4:4:4; nil where the configuration does not say.
    public var chromaFormat: Int?

    init(color: ColorDescription, bitDepth: Int, chromaFormat: Int?) {
        (self.color, self.bitDepth, self.chromaFormat) = (color, bitDepth, chromaFormat)
    }

    /// The signal of HEVC by its SPS (H.265 E.3.1).
    init(_ sps: SequenceParameterSet) {
        var color = ColorDescription(isFullRange: sps.isFullRange)
        if let stated = sps.colourDescription {
            color.primaries = UInt8(clamping: stated.colourPrimaries)
            color.transfer = UInt8(clamping: stated.transferCharacteristics)
            color.matrix = UInt8(clamping: stated.matrixCoeffs)
        }
        color.chromaLocation = sps.vuiParameters?.chromaSampleLocation.map { UInt8(clamping: $0.topField) }
        self.init(color: color, bitDepth: sps.bitDepthLuma, chromaFormat: sps.chromaArrayType)
    }
}

extension PictureDescription {
    /// What the configuration of a coded picture says of its samples; nil for derivations and where it says nothing.
    ///
    /// - Parameter data: the first bytes of the item, where the sequence header of AV1 is if `av1C` has none.
    public func signal(data: [UInt8] = []) -> CodedSignal? {
        func box(_ type: String) -> [UInt8]? {
            codecConfigurations.first { $0.type.description == type }?.fields
        }
        switch item.type {
        case "hvc1", "hev1":
            let units = hevc?.arrays.first { $0.nalUnitType == .sps }?.nalUnits
            if let unit = units?.first, let sps = try? SequenceParameterSet(nal: unit) { return CodedSignal(sps) }
            return hevc.map {
                CodedSignal(
                    color: ColorDescription(), bitDepth: $0.bitDepthLumaMinus8 + 8, chromaFormat: $0.chromaFormatIdc
                )
            }
        case "av01":
            guard let record = box("av1C"), record.count >= 4 else { return AV1SequenceHeader.signal(in: data) }
            return AV1SequenceHeader.signal(in: Array(record.dropFirst(4)))
                ?? AV1SequenceHeader.signal(in: data) ?? AV1SequenceHeader.signal(record: record)
        case "avc1": return box("avcC").flatMap { try? AVCSequenceHeader.signal(record: $0) }
        case "jpeg":
            // JFIF: BT.601 at full range.
            return CodedSignal(
                color: ColorDescription(matrix: 6, isFullRange: true, chromaLocation: 1), bitDepth: 8,
                chromaFormat: nil)
        default: return nil
        }
    }

    /// Whether `signal` needs the first bytes of the item.
    public var needsDataForSignal: Bool {
        guard item.type == "av01" else { return false }
        let record = codecConfigurations.first { $0.type.description == "av1C" }?.fields ?? []
        return AV1SequenceHeader.signal(in: Array(record.dropFirst(4))) == nil
    }
}

/// The sequence header of AV1 (AV1 specification 5.5).
enum AV1SequenceHeader {
    private static let sequenceHeader: UInt32 = 1

    /// The signal that `av1C` alone states: depth and subsampling (AV1-ISOBMFF 2.3.3).
    static func signal(record: [UInt8]) -> CodedSignal {
        let bits = record[2]
        let depth = bits & 0x40 == 0 ? 8 : bits & 0x20 == 0 ? 10 : 12
        let format = bits & 0x10 != 0 ? 0 : bits & 8 == 0 ? 3 : bits & 4 == 0 ? 2 : 1
        return CodedSignal(color: ColorDescription(), bitDepth: depth, chromaFormat: format)
    }

    /// The signal of the first sequence header among OBUs; nil without one.
    static func signal(in units: [UInt8]) -> CodedSignal? {
        var reader = BitReader(units)
        while reader.bitsLeft >= 16 {
            guard let head = try? reader.readBits(8) else { return nil }
            if head & 4 != 0 { guard (try? reader.skip(8)) != nil else { return nil } }
            var size = reader.bitsLeft / 8
            if head & 2 != 0 {
                guard let stated = try? leb128(&reader), stated <= size else { return nil }
                size = stated
            }
            if head >> 3 & 15 == sequenceHeader { return try? signal(header: &reader) }
            guard (try? reader.skip(8 * size)) != nil else { return nil }
        }
        return nil
    }

    private static func leb128(_ reader: inout BitReader) throws(BitstreamError) -> Int {
        var value = 0
        for index in 0..<8 {
            let byte = Int(try reader.readBits(8))
            value |= (byte & 127) << (7 * index)
            if byte & 128 == 0 { break }
        }
        return value
    }

    private static func signal(header reader: inout BitReader) throws(BitstreamError) -> CodedSignal {
        let profile = try reader.readBits(3)
        try reader.skip(1)
        let isReduced = try reader.readFlag()
        if isReduced { try reader.skip(5) } else { try skipOperatingPoints(&reader) }
        let (across, down) = (try reader.readBits(4), try reader.readBits(4))
        try reader.skip(Int(across + down) + 2)
        if !isReduced, try reader.readFlag() { try reader.skip(7) }
        try reader.skip(3)
        if !isReduced { try skipTools(&reader) }
        try reader.skip(3)
        return try colorConfiguration(&reader, profile)
    }

    private static func skipOperatingPoints(_ reader: inout BitReader) throws(BitstreamError) {
        var delayBits: Int?
        if try reader.readFlag() {
            try reader.skip(64)
            if try reader.readFlag() { _ = try reader.readUE() }
            if try reader.readFlag() {
                delayBits = Int(try reader.readBits(5)) + 1
                try reader.skip(42)
            }
        }
        let hasDisplayDelay = try reader.readFlag()
        for _ in 0...(try reader.readBits(5)) {
            try reader.skip(12)
            if try reader.readBits(5) > 7 { try reader.skip(1) }
            if let delayBits, try reader.readFlag() { try reader.skip(2 * delayBits + 1) }
            if hasDisplayDelay, try reader.readFlag() { try reader.skip(4) }
        }
    }

    private static func skipTools(_ reader: inout BitReader) throws(BitstreamError) {
        try reader.skip(4)
        let hasOrderHint = try reader.readFlag()
        if hasOrderHint { try reader.skip(2) }
        let choosesScreenTools = try reader.readFlag()
        let usesScreenTools = try choosesScreenTools ? true : reader.readFlag()
        if usesScreenTools, try !reader.readFlag() { try reader.skip(1) }
        if hasOrderHint { try reader.skip(3) }
    }

    /// color_config() (5.5.2).
    private static func colorConfiguration(
        _ reader: inout BitReader, _ profile: UInt32
    ) throws(BitstreamError) -> CodedSignal {
        let isHigh = try reader.readFlag()
        let isTwelve = try profile == 2 && isHigh ? reader.readFlag() : false
        let isGray = try profile == 1 ? false : reader.readFlag()
        var color = ColorDescription()
        if try reader.readFlag() {
            color.primaries = UInt8(try reader.readBits(8))
            color.transfer = UInt8(try reader.readBits(8))
            color.matrix = UInt8(try reader.readBits(8))
        }
        let depth = isTwelve ? 12 : isHigh ? 10 : 8
        if !isGray, color.primaries == 1, color.transfer == 13, color.matrix == 0 {
            color.isFullRange = true
            return CodedSignal(color: color, bitDepth: depth, chromaFormat: 3)
        }
        color.isFullRange = try reader.readFlag()
        var format = isGray ? 0 : profile == 0 ? 1 : profile == 1 ? 3 : 2
        if !isGray, profile == 2, isTwelve {
            format = try reader.readFlag() ? (reader.readFlag() ? 1 : 2) : 3
        }
        if format == 1 {
            // chroma_sample_position: 1 is left, 2 top left.
            color.chromaLocation = [1: 0, 2: 2][try reader.readBits(2)]
        }
        return CodedSignal(color: color, bitDepth: depth, chromaFormat: format)
    }
}

/// The sequence parameter set of H.264 (7.3.2.1.1, E.1.1).
enum AVCSequenceHeader {
    private static let profilesWithFormat: Set<UInt32> = [
        100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135,
    ]

    /// The signal of the first set of an `avcC` record.
    static func signal(record: [UInt8]) throws(BitstreamError) -> CodedSignal {
        var outer = BitReader(record)
        try outer.skip(40)
        guard try outer.readBits(8) & 31 > 0 else { throw BitstreamError(.malformed, "avcC has no SPS") }
        let length = Int(try outer.readBits(16))
        guard length > 1, 8 + length <= record.count else {
            throw BitstreamError(.truncated, "the SPS of avcC is cut off")
        }
        var reader = BitReader(EmulationPrevention.remove(from: record[9..<8 + length]))
        return try signal(&reader)
    }

    private static func signal(_ reader: inout BitReader) throws(BitstreamError) -> CodedSignal {
        let profile = try reader.readBits(8)
        try reader.skip(16)
        _ = try reader.readUE()
        var signal = CodedSignal(color: ColorDescription(), bitDepth: 8, chromaFormat: 1)
        if profilesWithFormat.contains(profile) {
            signal.chromaFormat = Int(try reader.readUE())
            if signal.chromaFormat == 3 { try reader.skip(1) }
            signal.bitDepth = Int(try reader.readUE()) + 8
            _ = try reader.readUE()
            try reader.skip(1)
            if try reader.readFlag() { try skipScalingLists(&reader, count: signal.chromaFormat == 3 ? 12 : 8) }
        }
        try skipPictureFields(&reader)
        guard try reader.readFlag() else { return signal }
        if try reader.readFlag(), try reader.readBits(8) == 255 { try reader.skip(32) }
        if try reader.readFlag() { try reader.skip(1) }
        if try reader.readFlag() {
            try reader.skip(3)
            signal.color.isFullRange = try reader.readFlag()
            if try reader.readFlag() {
                signal.color.primaries = UInt8(try reader.readBits(8))
                signal.color.transfer = UInt8(try reader.readBits(8))
                signal.color.matrix = UInt8(try reader.readBits(8))
            }
        }
        if try reader.readFlag() { signal.color.chromaLocation = UInt8(clamping: try reader.readUE()) }
        return signal
    }

    private static func skipScalingLists(_ reader: inout BitReader, count: Int) throws(BitstreamError) {
        for index in 0..<count where try reader.readFlag() {
            var (last, next) = (8, 8)
            for _ in 0..<(index < 6 ? 16 : 64) where next != 0 {
                next = (last + Int(try reader.readSE()) + 256) & 255
                if next != 0 { last = next }
            }
        }
    }

    /// What is between the formats and the VUI.
    private static func skipPictureFields(_ reader: inout BitReader) throws(BitstreamError) {
        _ = try reader.readUE()
        switch try reader.readUE() {
        case 0: _ = try reader.readUE()
        case 1:
            try reader.skip(1)
            _ = try reader.readSE()
            _ = try reader.readSE()
            for _ in 0..<(try reader.readUE()) { _ = try reader.readSE() }
        default: break
        }
        _ = try reader.readUE()
        try reader.skip(1)
        _ = try reader.readUE()
        _ = try reader.readUE()
        if try !reader.readFlag() { try reader.skip(1) }
        try reader.skip(1)
        if try reader.readFlag() { for _ in 0..<4 { _ = try reader.readUE() } }
    }
}
