// SPDX-License-Identifier: MIT

/// The slice data of 8-bit 4:2:0 pictures of one slice, all of whose luma samples have one value and whose chroma is 128.
///
/// An intra picture predicts every block from its neighbors (DC). Only the first block has a residual, one DC coefficient
/// at a QP with which its transform is exact. All blocks of other pictures are skipped, without motion: they repeat their
/// references, which must be flat pictures of the same value, and need one merge candidate.
struct FlatSliceData {
    /// The data, with emulation prevention.
    private(set) var bytes: [UInt8] = []
    /// Bytes of each substream but the last, less 1 (7.4.7.1).
    private(set) var entryPointOffsetMinus1: [Int] = []

    /// Codes a picture.
    ///
    /// - Parameter intra: its luma value, or nil for a picture of skipped blocks.
    init(_ format: FlatPictureFormat, _ type: SliceType, intra value: UInt8?) {
        var coder = FlatSliceCoder(format, type, residual: value.map { Int($0) - 128 })
        let substreams = coder.code()
        for (index, substream) in substreams.enumerated() {
            let start = bytes.count
            // Each substream ends in a byte that is not zero.
            EmulationPrevention.append(substream, to: &bytes)
            if index < substreams.count - 1 { entryPointOffsetMinus1.append(bytes.count - start - 1) }
        }
    }
}

/// What the slice data of flat pictures depend on.
struct FlatPictureFormat: Hashable, Sendable {
    let width: Int
    let height: Int
    let log2MinBlock: Int
    let log2CodingTreeBlock: Int
    let log2MinTransform: Int
    let log2MaxTransform: Int
    let maxTransformDepth: Int
    let hasQPDelta: Bool
    let hasWavefronts: Bool

    /// Nil where pictures need tools that `FlatSliceData` does not write.
    init?(_ sps: SequenceParameterSet, _ pps: PictureParameterSet) {
        guard sps.chromaFormatIdc == 1, sps.bitDepthLuma == 8, sps.bitDepthChroma == 8, !sps.scalingListEnabledFlag,
            sps.pcm == nil, sps.extensions == nil, pps.extensions == nil, pps.tiles == nil,
            !pps.transquantBypassEnabledFlag, !pps.weightedPredFlag, !pps.weightedBipredFlag,
            pps.numExtraSliceHeaderBits == 0
        else { return nil }
        (width, height) = (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples)
        log2MinBlock = sps.log2MinLumaCodingBlockSizeMinus3 + 3
        log2CodingTreeBlock = log2MinBlock + sps.log2DiffMaxMinLumaCodingBlockSize
        log2MinTransform = sps.log2MinLumaTransformBlockSizeMinus2 + 2
        log2MaxTransform = log2MinTransform + sps.log2DiffMaxMinLumaTransformBlockSize
        maxTransformDepth = sps.maxTransformHierarchyDepthIntra
        hasQPDelta = pps.diffCuQpDeltaDepth != nil
        hasWavefronts = pps.entropyCodingSyncEnabledFlag
        guard (3...5).contains(log2FirstTransform), width > 0, height > 0 else { return nil }
    }

    /// The size of the first block's transform.
    private var log2FirstTransform: Int {
        var size = log2CodingTreeBlock
        while size > log2MinBlock, 1 << size > min(width, height) { size -= 1 }
        return min(size, log2MaxTransform)
    }

    /// SliceQpY of intra pictures: the DC coefficient `c` of the first block yields exactly the residual `c` everywhere.
    ///
    /// Scaling (8.6.4.2) multiplies by 16 · 64 · 2^(QP / 6) / 2^(3 + log2 size), which is 128 at these QPs, and the two stages
    /// of the transform (8.6.4.3) by 64 / 128 and 64 / 4096.
    var intraQP: Int { 4 + 6 * log2FirstTransform }

    var columns: Int { (width + (1 << log2CodingTreeBlock) - 1) >> log2CodingTreeBlock }
    var rows: Int { (height + (1 << log2CodingTreeBlock) - 1) >> log2CodingTreeBlock }
}

/// The context variables that flat pictures use.
private struct FlatContexts {
    var splitCuFlag: [CABACEncoder.Context]
    var cuSkipFlag: [CABACEncoder.Context]
    var partMode: CABACEncoder.Context
    var prevIntraLumaPredFlag: CABACEncoder.Context
    var intraChromaPredMode: CABACEncoder.Context
    var splitTransformFlag: [CABACEncoder.Context]
    var cbfLuma: [CABACEncoder.Context]
    var cbfChroma: CABACEncoder.Context
    var lastSigCoeffXPrefix: [CABACEncoder.Context]
    var lastSigCoeffYPrefix: [CABACEncoder.Context]
    var cuQpDeltaAbs: CABACEncoder.Context
    var coeffAbsLevelGreater1Flag: CABACEncoder.Context
    var coeffAbsLevelGreater2Flag: CABACEncoder.Context

    /// The initial values of tables 9-7 to 9-32; those of intra syntax are for I slices.
    init(_ type: SliceType, qp: Int) {
        func context(_ value: Int) -> CABACEncoder.Context { CABACEncoder.Context(value, qp: qp) }
        splitCuFlag = (type == .i ? [139, 141, 157] : [107, 139, 126]).map(context)
        cuSkipFlag = [197, 185, 201].map(context)
        partMode = context(184)
        prevIntraLumaPredFlag = context(184)
        intraChromaPredMode = context(63)
        splitTransformFlag = [153, 138, 138].map(context)
        cbfLuma = [111, 141].map(context)
        cbfChroma = context(94)
        let last = [110, 110, 124, 125, 140, 153, 125, 127, 140, 109, 111, 143, 127, 111, 79, 108, 123, 63]
        lastSigCoeffXPrefix = last.map(context)
        lastSigCoeffYPrefix = last.map(context)
        cuQpDeltaAbs = context(154)
        coeffAbsLevelGreater1Flag = context(92)
        coeffAbsLevelGreater2Flag = context(138)
    }
}

/// Codes the coding tree of a flat picture.
private struct FlatSliceCoder {
    private let format: FlatPictureFormat
    /// What the first block adds to its prediction of 128; nil for a picture of skipped blocks.
    private let residual: Int?
    private let initial: FlatContexts
    private var contexts: FlatContexts
    private var encoder = CABACEncoder()
    /// CtDepth of the smallest blocks that are coded, in rows; −1 for others.
    private var depths: [Int]
    private let stride: Int
    private var isFirst = true

    init(_ format: FlatPictureFormat, _ type: SliceType, residual: Int?) {
        self.format = format
        self.residual = residual
        initial = FlatContexts(type, qp: residual == nil ? FlatAlphaPictures.skipQP : format.intraQP)
        contexts = initial
        stride = format.width >> format.log2MinBlock
        depths = Array(repeating: -1, count: stride * (format.height >> format.log2MinBlock))
    }

    /// The substreams: one, or one for each row of coding tree blocks.
    mutating func code() -> [[UInt8]] {
        var substreams: [[UInt8]] = []
        var saved: FlatContexts?
        for row in 0..<format.rows {
            for column in 0..<format.columns {
                codeTree(
                    column << format.log2CodingTreeBlock, row << format.log2CodingTreeBlock,
                    format.log2CodingTreeBlock, 0)
                if column == 1 { saved = contexts }
                let isLast = row == format.rows - 1 && column == format.columns - 1
                encoder.terminate(isLast)
                guard !isLast, format.hasWavefronts, column == format.columns - 1 else { continue }
                encoder.terminate(true)
                substreams.append(encoder.bytes)
                // 9.3.1: the contexts after the second block of the row above, where it has one.
                (encoder, contexts) = (CABACEncoder(), saved ?? initial)
            }
        }
        return substreams + [encoder.bytes]
    }

    /// `coding_quadtree()`: the largest blocks that are inside the picture.
    private mutating func codeTree(_ x: Int, _ y: Int, _ log2Size: Int, _ depth: Int) {
        let size = 1 << log2Size
        let fits = x + size <= format.width && y + size <= format.height
        if fits, log2Size > format.log2MinBlock {
            let isDeeper = [self.depth(x - 1, y), self.depth(x, y - 1)].map { $0 > depth ? 1 : 0 }
            encoder.encode(false, &contexts.splitCuFlag[isDeeper[0] + isDeeper[1]])
        }
        guard !fits, log2Size > format.log2MinBlock else { return codeBlock(x, y, log2Size, depth) }
        let half = size / 2
        for (left, top) in [(x, y), (x + half, y), (x, y + half), (x + half, y + half)]
        where left < format.width && top < format.height {
            codeTree(left, top, log2Size - 1, depth + 1)
        }
    }

    /// CtDepth of the block at a sample; −1 where none is coded yet, or outside.
    private func depth(_ x: Int, _ y: Int) -> Int {
        guard x >= 0, y >= 0 else { return -1 }
        return depths[(y >> format.log2MinBlock) * stride + x >> format.log2MinBlock]
    }

    /// Codes `coding_unit()`.
    private mutating func codeBlock(_ x: Int, _ y: Int, _ log2Size: Int, _ depth: Int) {
        if residual == nil {
            // All neighbors are skipped. merge_idx is absent.
            encoder.encode(true, &contexts.cuSkipFlag[(x > 0 ? 1 : 0) + (y > 0 ? 1 : 0)])
        } else {
            if log2Size == format.log2MinBlock { encoder.encode(true, &contexts.partMode) }
            // DC is the second candidate, because all neighbors have it or are unavailable (8.4.2); chroma has it, too.
            encoder.encode(true, &contexts.prevIntraLumaPredFlag)
            encoder.bypass(0b10, bits: 2)
            encoder.encode(false, &contexts.intraChromaPredMode)
            codeTransforms(log2Size, 0)
        }
        let side = 1 << (log2Size - format.log2MinBlock)
        let first = (y >> format.log2MinBlock) * stride + x >> format.log2MinBlock
        for row in 0..<side {
            for column in 0..<side { depths[first + row * stride + column] = depth }
        }
    }

    /// `transform_tree()`: split only where the block is larger than the largest transform.
    private mutating func codeTransforms(_ log2Size: Int, _ depth: Int) {
        let isSplit = log2Size > format.log2MaxTransform
        if !isSplit, log2Size > format.log2MinTransform, depth < format.maxTransformDepth {
            encoder.encode(false, &contexts.splitTransformFlag[5 - log2Size])
        }
        if depth == 0 {
            // cbf_cb, cbf_cr
            for _ in 0..<2 { encoder.encode(false, &contexts.cbfChroma) }
        }
        if isSplit {
            for _ in 0..<4 { codeTransforms(log2Size - 1, depth + 1) }
            return
        }
        let value = isFirst ? residual ?? 0 : 0
        isFirst = false
        encoder.encode(value != 0, &contexts.cbfLuma[depth == 0 ? 1 : 0])
        if value != 0 { codeCoefficient(value, log2Size) }
    }

    /// `cu_qp_delta_abs` and `residual_coding()` of a DC coefficient alone.
    private mutating func codeCoefficient(_ value: Int, _ log2Size: Int) {
        if format.hasQPDelta { encoder.encode(false, &contexts.cuQpDeltaAbs) }
        // 9.3.4.2.3
        let position = 3 * (log2Size - 2) + (log2Size - 1) >> 2
        encoder.encode(false, &contexts.lastSigCoeffXPrefix[position])
        encoder.encode(false, &contexts.lastSigCoeffYPrefix[position])
        let magnitude = abs(value)
        encoder.encode(magnitude > 1, &contexts.coeffAbsLevelGreater1Flag)
        if magnitude > 1 { encoder.encode(magnitude > 2, &contexts.coeffAbsLevelGreater2Flag) }
        encoder.bypass(value < 0 ? 1 : 0, bits: 1)
        if magnitude > 2 { codeRemaining(magnitude - 3) }
    }

    /// `coeff_abs_level_remaining` with cRiceParam 0 (9.3.3.11): a prefix of ones, from 4 on followed by an Exp-Golomb suffix.
    private mutating func codeRemaining(_ value: Int) {
        guard value > 3 else { return encoder.bypass((1 << (value + 1)) - 2, bits: value + 1) }
        var (rest, length) = (value - 3, 0)
        while rest >= 1 << length {
            rest -= 1 << length
            length += 1
        }
        encoder.bypass((1 << (length + 4)) - 2, bits: length + 4)
        encoder.bypass(rest, bits: length)
    }
}
