// SPDX-License-Identifier: MIT

/// `vdr_dm_data_payload()`: what a display needs to show the picture.
public struct RPUDisplayManagement: Hashable, Sendable {
    public var affectedDMMetadataID = 0
    public var currentDMMetadataID = 0
    /// 1 on the first picture of a shot; an iPhone writes 1 on every picture.
    public var sceneRefreshFlag = 1
    /// Nil when the header's `dm_compression` is 1.
    public var color: RPUColor? = RPUColor()
    /// The blocks of levels 1, 2, 4, 5, 6 and 255.
    public var extension1: [RPUBlock] = []
    /// The blocks of levels 3, 8, 9, 10, 11 and 254; nil when there is no second list (content mapping version 2.9).
    public var extension2: [RPUBlock]?

    /// A second list follows only if at least this many bits are left before the CRC: 56 with the CRC and the byte of the stop bit.
    static let minBitsOfSecondList = 16
    /// The most blocks of one list read or written; known levels allow 12 in the first list, 13 in the second.
    static let maxBlocks = 64

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder, isCompressed: Bool) throws(BitstreamError) {
        try c.ue("affected_dm_metadata_id", &affectedDMMetadataID, 0...15)
        try c.ue("current_dm_metadata_id", &currentDMMetadataID, 0...15)
        try c.ue("scene_refresh_flag", &sceneRefreshFlag, 0...255)
        if c.isReading { color = isCompressed ? nil : RPUColor() }
        guard (color == nil) == isCompressed else {
            throw BitstreamError(.malformed, "the color metadata contradict dm_compression")
        }
        try color?.code(&c)
        try Self.codeList(&c, &extension1)
        var follows = extension2 != nil
        if c.isReading { follows = (try? c.require(bits: Self.minBitsOfSecondList)) != nil }
        guard follows else { return }
        var blocks = extension2 ?? []
        try Self.codeList(&c, &blocks)
        extension2 = blocks
    }

    private static func codeList(_ c: inout some SyntaxCoder, _ blocks: inout [RPUBlock]) throws(BitstreamError) {
        var count = blocks.count
        try c.ue("num_ext_blocks", &count, 0...maxBlocks)
        try c.zerosToByteBoundary("dm_alignment_zero_bit")
        try c.size("ext_metadata_block", &blocks, count, RPUBlock(level: 0, payload: []))
        for index in blocks.indices { try blocks[index].code(&c) }
    }
}

/// The color conversions and the signal of the mapped picture.
public struct RPUColor: Hashable, Sendable {
    /// Rows of the matrix from narrow-range Y'CbCr to R'G'B', × 2^13, −32768…32767.
    public var yccToRGBCoef = [9574, 0, 13802, 9574, -1540, -5348, 9574, 17610, 0]
    /// Subtracted from Y'CbCr before the matrix, × 2^28.
    public var yccToRGBOffset = [1 << 24, 1 << 27, 1 << 27]
    /// Rows of the matrix from RGB to LMS, × 2^14, −32768…32767.
    public var rgbToLMSCoef = [7222, 8771, 390, 2654, 12430, 1300, 0, 422, 15962]
    /// 65535 for PQ.
    public var signalEOTF = 65535
    public var signalEOTFParam0 = 0
    public var signalEOTFParam1 = 0
    /// 32 bits.
    public var signalEOTFParam2 = 0
    /// 8…16; 5 bits.
    public var signalBitDepth = 12
    /// 0…3.
    public var signalColorSpace = 0
    /// 0…3.
    public var signalChromaFormat = 0
    /// 0…3; 1 is full range.
    public var signalFullRangeFlag = 1
    /// PQ code of 12 bits.
    public var sourceMinPQ = 62
    /// PQ code of 12 bits; 3079 is 1000 cd/m².
    public var sourceMaxPQ = 3079
    /// Of the source display, in inches; 10 bits.
    public var sourceDiagonal = 42

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.size("ycc_to_rgb_coef", &yccToRGBCoef, 9, 0)
        for index in 0..<9 { try c.signed("ycc_to_rgb_coef", 16, &yccToRGBCoef[index]) }
        try c.size("ycc_to_rgb_offset", &yccToRGBOffset, 3, 0)
        for index in 0..<3 { try c.u("ycc_to_rgb_offset", 32, &yccToRGBOffset[index]) }
        try c.size("rgb_to_lms_coef", &rgbToLMSCoef, 9, 0)
        for index in 0..<9 { try c.signed("rgb_to_lms_coef", 16, &rgbToLMSCoef[index]) }
        try c.u("signal_eotf", 16, &signalEOTF)
        try c.u("signal_eotf_param0", 16, &signalEOTFParam0)
        try c.u("signal_eotf_param1", 16, &signalEOTFParam1)
        try c.u("signal_eotf_param2", 32, &signalEOTFParam2)
        try c.u("signal_bit_depth", 5, &signalBitDepth)
        try c.u("signal_color_space", 2, &signalColorSpace)
        try c.u("signal_chroma_format", 2, &signalChromaFormat)
        try c.u("signal_full_range_flag", 2, &signalFullRangeFlag)
        try c.u("source_min_pq", 12, &sourceMinPQ)
        try c.u("source_max_pq", 12, &sourceMaxPQ)
        try c.u("source_diagonal", 10, &sourceDiagonal)
    }
}
