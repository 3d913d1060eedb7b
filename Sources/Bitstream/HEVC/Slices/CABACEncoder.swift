// SPDX-License-Identifier: MIT

/// The arithmetic encoder of slice data (9.3.4.4 to 9.3.4.6), for one substream.
struct CABACEncoder {
    /// A context variable (9.3.2.2).
    struct Context {
        private(set) var pStateIdx: Int
        private(set) var valMps: Bool

        /// The context with `initValue` of the tables of 9.3.2.2 at a slice's QP, 0…51.
        init(_ initValue: Int, qp: Int) {
            let (slope, offset) = ((initValue >> 4) * 5 - 45, ((initValue & 15) << 3) - 16)
            let value = min(max(((slope * qp) >> 4) + offset, 1), 126)
            valMps = value > 63
            pStateIdx = valMps ? value - 64 : 63 - value
        }

        fileprivate mutating func update(_ bin: Bool) {
            if bin == valMps {
                pStateIdx = min(pStateIdx + 1, 62)
            } else {
                if pStateIdx == 0 { valMps.toggle() }
                pStateIdx = Int(CABACTables.transIdxLps[pStateIdx])
            }
        }
    }

    private var ivlLow = 0
    private var ivlCurrRange = 510
    private var bitsOutstanding = 0
    private var hasFirstBit = false
    private var bits = 0
    private var bitCount = 0
    /// The bytes written; complete after the bin that ends the substream.
    private(set) var bytes: [UInt8] = []

    /// Codes a bin with a context variable.
    mutating func encode(_ bin: Bool, _ context: inout Context) {
        let lpsRange = Int(CABACTables.rangeTabLps[context.pStateIdx * 4 + (ivlCurrRange >> 6) & 3])
        ivlCurrRange -= lpsRange
        if bin != context.valMps {
            ivlLow += ivlCurrRange
            ivlCurrRange = lpsRange
        }
        context.update(bin)
        renormalize()
    }

    /// Codes bins of equal probability, the most significant first.
    mutating func bypass(_ value: Int, bits count: Int) {
        for position in stride(from: count - 1, through: 0, by: -1) {
            ivlLow <<= 1
            if value >> position & 1 == 1 { ivlLow += ivlCurrRange }
            if ivlLow >= 1024 {
                put(true)
                ivlLow -= 1024
            } else if ivlLow < 512 {
                put(false)
            } else {
                ivlLow -= 512
                bitsOutstanding += 1
            }
        }
    }

    /// Codes `end_of_slice_segment_flag` or `end_of_subset_one_bit`; true ends the substream and aligns it.
    mutating func terminate(_ bin: Bool) {
        ivlCurrRange -= 2
        guard bin else { return renormalize() }
        ivlLow += ivlCurrRange
        ivlCurrRange = 2
        renormalize()
        put(ivlLow >> 9 & 1 == 1)
        // The last bit is the 1 of rbsp_trailing_bits() or byte_alignment().
        write(ivlLow >> 8 & 1 == 1)
        write(true)
        while bitCount > 0 { write(false) }
    }

    private mutating func renormalize() {
        while ivlCurrRange < 256 {
            if ivlLow < 256 {
                put(false)
            } else if ivlLow >= 512 {
                ivlLow -= 512
                put(true)
            } else {
                ivlLow -= 256
                bitsOutstanding += 1
            }
            ivlCurrRange <<= 1
            ivlLow <<= 1
        }
    }

    private mutating func put(_ bit: Bool) {
        if hasFirstBit { write(bit) } else { hasFirstBit = true }
        while bitsOutstanding > 0 {
            write(!bit)
            bitsOutstanding -= 1
        }
    }

    private mutating func write(_ bit: Bool) {
        bits = bits << 1 | (bit ? 1 : 0)
        bitCount += 1
        guard bitCount == 8 else { return }
        bytes.append(UInt8(truncatingIfNeeded: bits))
        (bits, bitCount) = (0, 0)
    }
}

/// The tables of the arithmetic coder.
private enum CABACTables {
    /// `rangeTabLps` (table 9-52): four ranges for each of 64 states.
    static let rangeTabLps: [UInt8] = [
        128, 176, 208, 240, 128, 167, 197, 227, 128, 158, 187, 216, 123, 150, 178, 205, 116, 142, 169, 195,
        111, 135, 160, 185, 105, 128, 152, 175, 100, 122, 144, 166, 95, 116, 137, 158, 90, 110, 130, 150,
        85, 104, 123, 142, 81, 99, 117, 135, 77, 94, 111, 128, 73, 89, 105, 122, 69, 85, 100, 116,
        66, 80, 95, 110, 62, 76, 90, 104, 59, 72, 86, 99, 56, 69, 81, 94, 53, 65, 77, 89,
        51, 62, 73, 85, 48, 59, 69, 80, 46, 56, 66, 76, 43, 53, 63, 72, 41, 50, 59, 69,
        39, 48, 56, 65, 37, 45, 54, 62, 35, 43, 51, 59, 33, 41, 48, 56, 32, 39, 46, 53,
        30, 37, 43, 50, 29, 35, 41, 48, 27, 33, 39, 45, 26, 31, 37, 43, 24, 30, 35, 41,
        23, 28, 33, 39, 22, 27, 32, 37, 21, 26, 30, 35, 20, 24, 29, 33, 19, 23, 27, 31,
        18, 22, 26, 30, 17, 21, 25, 28, 16, 20, 23, 27, 15, 19, 22, 25, 14, 18, 21, 24,
        14, 17, 20, 23, 13, 16, 19, 22, 12, 15, 18, 21, 12, 14, 17, 20, 11, 14, 16, 19,
        11, 13, 15, 18, 10, 12, 15, 17, 10, 12, 14, 16, 9, 11, 13, 15, 9, 11, 12, 14,
        8, 10, 12, 14, 8, 9, 11, 13, 7, 9, 11, 12, 7, 9, 10, 12, 7, 8, 10, 11,
        6, 8, 9, 11, 6, 7, 9, 10, 6, 7, 8, 9, 2, 2, 2, 2,
    ]

    /// `transIdxLps` (table 9-53).
    static let transIdxLps: [UInt8] = [
        0, 0, 1, 2, 2, 4, 4, 5, 6, 7, 8, 9, 9, 11, 11, 12, 13, 13, 15, 15, 16, 16, 18, 18, 19, 19, 21, 21, 22, 22,
        23, 24,
        24, 25, 26, 26, 27, 27, 28, 29, 29, 30, 30, 30, 31, 32, 32, 33, 33, 33, 34, 34, 35, 35, 35, 36, 36, 36, 37,
        37,
        37, 38, 38, 63,
    ]
}
