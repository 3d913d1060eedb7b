// SPDX-License-Identifier: MIT

extension DecoderConfigurationRecord {
    /// Parses the body of an `hvcC` box; bytes after the last array are ignored, since later versions may add fields.
    public init(bytes: [UInt8]) throws(BitstreamError) {
        var reader = BitReader(bytes)
        try codeFixedFields(&reader)
        for _ in 0..<(try reader.readBits(8)) {
            let complete = try reader.readFlag()
            _ = try reader.readFlag()
            let typeValue = UInt8(truncatingIfNeeded: try reader.readBits(6))
            guard let type = NALUnitType(rawValue: typeValue) else {
                throw BitstreamError(.malformed, "an hvcC array has NAL unit type \(typeValue)")
            }
            var array = NALArray(arrayCompleteness: complete, nalUnitType: type, nalUnits: [])
            for _ in 0..<(try reader.readBits(16)) {
                let length = Int(try reader.readBits(16))
                let start = reader.position / 8
                guard length <= reader.bitsLeft / 8 else {
                    throw BitstreamError(
                        .truncated, "a NAL unit of \(length) bytes exceeds the hvcC record")
                }
                array.nalUnits.append(Array(bytes[start..<(start + length)]))
                try reader.skip(length * 8)
            }
            arrays.append(array)
        }
    }

    /// The body of the `hvcC` box; throws `outOfRange` when something does not fit its field.
    public func bytes() throws(BitstreamError) -> [UInt8] {
        var (copy, writer) = (self, BitWriter())
        try copy.codeFixedFields(&writer)
        try check("numOfArrays", arrays.count, 0...255)
        try writer.writeBits(UInt32(arrays.count), 8)
        var record = writer.bytes
        for array in arrays {
            try check("numNalus", array.nalUnits.count, 0...65535)
            record.append((array.arrayCompleteness ? 0x80 : 0) | array.nalUnitType.rawValue)
            record += [UInt8(array.nalUnits.count >> 8), UInt8(array.nalUnits.count & 255)]
            for nal in array.nalUnits {
                try LengthPrefixedNALUnits.append(nal, lengthSize: 2, to: &record)
            }
        }
        return record
    }

    private mutating func codeFixedFields(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.constant("configurationVersion", 8, 1)
        try profile.code(&c)
        try c.u("general_level_idc", 8, &generalLevelIdc)
        try c.reserved(4)
        try c.u("min_spatial_segmentation_idc", 12, &minSpatialSegmentationIdc)
        try c.reserved(6)
        try c.u("parallelismType", 2, &parallelismType)
        try c.reserved(6)
        try c.u("chroma_format_idc", 2, &chromaFormatIdc)
        try c.reserved(5)
        try c.u("bit_depth_luma_minus8", 3, &bitDepthLumaMinus8)
        try c.reserved(5)
        try c.u("bit_depth_chroma_minus8", 3, &bitDepthChromaMinus8)
        try c.u("avgFrameRate", 16, &avgFrameRate)
        try c.u("constantFrameRate", 2, &constantFrameRate)
        try c.u("numTemporalLayers", 3, &numTemporalLayers)
        try c.flag("temporalIdNested", &temporalIdNested)
        var lengthSizeMinusOne = lengthSize - 1
        try c.u("lengthSizeMinusOne", 2, &lengthSizeMinusOne)
        guard lengthSizeMinusOne != 2 else {
            throw BitstreamError(.outOfRange, "lengthSizeMinusOne is 2; it must be 0, 1 or 3")
        }
        lengthSize = lengthSizeMinusOne + 1
    }
}

extension SyntaxCoder {
    /// Reserved bits: written as ones and ignored when read, as ISO/IEC 14496-15 requires.
    fileprivate mutating func reserved(_ bits: Int) throws(BitstreamError) {
        var ones = (1 << bits) - 1
        try u("reserved", bits, &ones)
    }
}
