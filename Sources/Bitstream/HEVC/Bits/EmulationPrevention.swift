// SPDX-License-Identifier: MIT

/// Removes and inserts the bytes that keep start codes out of a NAL unit (7.3.1.1, 7.4.2).
public enum EmulationPrevention {
    /// `ebsp` without its `emulation_prevention_three_byte`s.
    public static func remove(from ebsp: ArraySlice<UInt8>) -> [UInt8] {
        removeRecording(from: ebsp, limit: ebsp.count).rbsp
    }

    /// `rbsp` with its `emulation_prevention_three_byte`s.
    ///
    /// `remove` restores zero bytes at the end only in pairs, the form of `cabac_zero_word`s; no other legal RBSP
    /// ends in a zero byte.
    public static func insert(into rbsp: [UInt8]) -> [UInt8] {
        var ebsp: [UInt8] = []
        append(rbsp, to: &ebsp)
        return ebsp
    }

    /// Appends `rbsp`, escaped, to a NAL unit whose last byte so far is not zero.
    public static func append(_ rbsp: [UInt8], to nal: inout [UInt8]) {
        nal.reserveCapacity(nal.count + rbsp.count + rbsp.count / 64 + 1)
        var zeros = 0
        for byte in rbsp {
            if zeros == 2, byte <= 3 {
                nal.append(3)
                zeros = 0
            }
            zeros = byte == 0 ? zeros + 1 : 0
            nal.append(byte)
        }
        // 7.4.2: an RBSP that ends in a cabac_zero_word gets a final 3, since a NAL unit never ends in a zero byte.
        if rbsp.last == 0 { nal.append(3) }
    }

    /// Unescapes at most `limit` RBSP bytes.
    ///
    /// `removed` holds, for each byte removed, the number of RBSP bytes before it, which maps an RBSP offset back to
    /// an offset in the NAL unit.
    static func removeRecording(from ebsp: ArraySlice<UInt8>, limit: Int) -> (rbsp: [UInt8], removed: [Int]) {
        var rbsp: [UInt8] = []
        var removed: [Int] = []
        rbsp.reserveCapacity(min(ebsp.count, limit))
        var zeros = 0
        for byte in ebsp {
            if rbsp.count >= limit { break }
            if zeros >= 2, byte == 3 {
                removed.append(rbsp.count)
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            rbsp.append(byte)
        }
        return (rbsp, removed)
    }
}
