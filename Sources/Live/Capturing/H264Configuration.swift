// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDHEVC
internal import HWMovies

/// What a sequence parameter set of H.264 says of its pictures (ITU-T H.264 7.3.2.1.1, E.1.1).
struct H264SequenceSet {
    private(set) var id: UInt32 = 0
    /// In pixels, without what is cropped.
    private(set) var width = 0
    private(set) var height = 0
    /// 0 4:0:0, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    private(set) var chromaFormat: UInt32 = 1
    private(set) var lumaDepth: UInt32 = 8
    private(set) var chromaDepth: UInt32 = 8
    private(set) var color: MovieColor?

    /// Profiles whose parameter sets state the chroma format and the depth.
    private static let highProfiles: Set<UInt32> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]
    /// num_ref_frames_in_pic_order_cnt_cycle.
    private static let longestCycle: UInt32 = 255

    /// Parses a NAL unit, header included.
    init(nal: ArraySlice<UInt8>) throws(BitstreamError) {
        var reader = BitReader(EmulationPrevention.remove(from: nal.dropFirst()))
        let profile = try reader.readBits(8)
        try reader.skip(16)
        id = try reader.readUE()
        guard id < 32 else { throw BitstreamError(.outOfRange, "a parameter set has the number \(id)") }
        if Self.highProfiles.contains(profile) { try readFormat(&reader) }
        // log2_max_frame_num_minus4, then the order of pictures.
        _ = try reader.readUE()
        let order = try reader.readUE()
        if order == 0 {
            _ = try reader.readUE()
        } else if order == 1 {
            try reader.skip(1)
            _ = try reader.readSE()
            _ = try reader.readSE()
            let count = try reader.readUE()
            guard count <= Self.longestCycle else {
                throw BitstreamError(.outOfRange, "a cycle of \(count) pictures")
            }
            for _ in 0..<count { _ = try reader.readSE() }
        }
        // max_num_ref_frames, gaps_in_frame_num_value_allowed_flag.
        _ = try reader.readUE()
        try reader.skip(1)
        try readSize(&reader)
        if try reader.readFlag() { try readColor(&reader) }
    }

    private mutating func readFormat(_ reader: inout BitReader) throws(BitstreamError) {
        chromaFormat = try reader.readUE()
        guard chromaFormat <= 3 else { throw BitstreamError(.outOfRange, "a chroma format \(chromaFormat)") }
        if chromaFormat == 3 { try reader.skip(1) }
        lumaDepth = 8 + min(6, try reader.readUE())
        chromaDepth = 8 + min(6, try reader.readUE())
        try reader.skip(1)
        guard try reader.readFlag() else { return }
        for list in 0..<(chromaFormat == 3 ? 12 : 8) {
            guard try reader.readFlag() else { continue }
            // 7.3.2.1.1.1.
            var (last, next): (Int32, Int32) = (8, 8)
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 {
                    let delta = try reader.readSE()
                    guard (-128...127).contains(delta) else {
                        throw BitstreamError(.outOfRange, "a scaling list with a step of \(delta)")
                    }
                    next = (last + delta + 256) % 256
                }
                if next != 0 { last = next }
            }
        }
    }

    private mutating func readSize(_ reader: inout BitReader) throws(BitstreamError) {
        let across = try reader.readUE()
        let down = try reader.readUE()
        let isFrames = try reader.readFlag()
        guard across < 4096, down < 4096 else { throw BitstreamError(.outOfRange, "pictures are too large") }
        if !isFrames { try reader.skip(1) }
        try reader.skip(1)
        let mapUnits = isFrames ? 1 : 2
        (width, height) = (Int(across + 1) * 16, mapUnits * Int(down + 1) * 16)
        if try reader.readFlag() {
            var offsets: [Int] = []
            for _ in 0..<4 { offsets.append(Int(try reader.readUE())) }
            let isMonochrome = chromaFormat == 0
            width -= (offsets[0] + offsets[1]) * (!isMonochrome && chromaFormat < 3 ? 2 : 1)
            height -= (offsets[2] + offsets[3]) * (!isMonochrome && chromaFormat == 1 ? 2 : 1) * mapUnits
        }
        guard width > 0, height > 0, width <= 0xFFFF, height <= 0xFFFF else {
            throw BitstreamError(.outOfRange, "pictures of \(width)x\(height)")
        }
    }

    private mutating func readColor(_ reader: inout BitReader) throws(BitstreamError) {
        // aspect_ratio_info_present_flag; 255 has a ratio of its own.
        if try reader.readFlag(), try reader.readBits(8) == 255 { try reader.skip(32) }
        if try reader.readFlag() { try reader.skip(1) }
        guard try reader.readFlag() else { return }
        try reader.skip(3)
        let isFullRange = try reader.readFlag()
        guard try reader.readFlag() else { return }
        let primaries = Int(try reader.readBits(8))
        let transfer = Int(try reader.readBits(8))
        let matrix = Int(try reader.readBits(8))
        color = MovieColor(primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: isFullRange)
    }

    /// `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15 5.3.3.1) of NAL units with lengths of 4 bytes.
    /// - Parameter sequences: NAL units of sequence parameter sets, the first of which is this.
    func record(_ sequences: [[UInt8]], _ pictures: [[UInt8]]) throws(BitstreamError) -> [UInt8] {
        guard let first = sequences.first, first.count >= 4, sequences.count < 32, !pictures.isEmpty,
            pictures.count < 256, (sequences + pictures).allSatisfy({ $0.count <= 0xFFFF })
        else { throw BitstreamError(.missingParameterSet, "an avcC record needs an SPS and a PPS") }
        var bytes: [UInt8] = [1, first[1], first[2], first[3], 0xFF, 0xE0 | UInt8(sequences.count)]
        for set in sequences { bytes += [UInt8(set.count >> 8), UInt8(set.count & 255)] + set }
        bytes.append(UInt8(pictures.count))
        for set in pictures { bytes += [UInt8(set.count >> 8), UInt8(set.count & 255)] + set }
        if Self.highProfiles.contains(UInt32(first[1])) {
            bytes += [0xFC | UInt8(chromaFormat), 0xF8 | UInt8(lumaDepth - 8), 0xF8 | UInt8(chromaDepth - 8), 0]
        }
        return bytes
    }
}
