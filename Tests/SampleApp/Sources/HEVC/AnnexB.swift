// SPDX-License-Identifier: MIT

/// Conversion of ISO/IEC 14496-15 samples to the byte stream of H.265, Annex B.
public enum AnnexB {
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// The parameter sets of an hvcC record (ISO/IEC 14496-15, 8.3.3.1.2).
    public static func parameterSets(of record: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = []
        var position = 23
        for _ in 0..<record[22] {
            let count = Int(record[position + 1]) << 8 | Int(record[position + 2])
            position += 3
            for _ in 0..<count {
                let size = Int(record[position]) << 8 | Int(record[position + 1])
                stream += startCode + record[position + 2..<position + 2 + size]
                position += 2 + size
            }
        }
        return stream
    }

    /// A sample whose NAL units have 4-byte lengths.
    public static func accessUnit(_ sample: UnsafeRawBufferPointer) -> [UInt8] {
        var stream: [UInt8] = []
        var position = 0
        while position < sample.count {
            let size = Int(UInt32(bigEndian: sample.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            stream += startCode + sample[position + 4..<position + 4 + size]
            position += 4 + size
        }
        return stream
    }
}
