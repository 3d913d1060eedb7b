// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDVA
import Testing

@Suite struct StartCodeTests {
    /// A byte-by-byte search.
    private func next(_ bytes: [UInt8], _ from: Int) -> Int {
        var at = from
        while at + 3 <= bytes.count {
            if bytes[at] == 0, bytes[at + 1] == 0, bytes[at + 2] == 1 { return at }
            at += 1
        }
        return bytes.count
    }

    /// Bytes that are 0, 1 or one of `rest` other values: the larger `rest`, the rarer zeros.
    @Test("finds start codes at every position", arguments: [0, 2, 30, 253])
    func found(_ rest: UInt32) {
        var random: UInt32 = 7 + rest
        for size in Array(0...8) + [63, 64, 65, 66, 67, 128, 130, 131, 132, 1000] {
            let bytes = (0..<size).map { _ in
                random = random &* 1_664_525 &+ 1_013_904_223
                return UInt8((random >> 16) % (rest + 2))
            }
            for from in 0...size {
                #expect(hwd_start_code(bytes, from, size) == next(bytes, from), "\(size) bytes from \(from)")
            }
        }
    }

    @Test("finds a single start code at every position of a block")
    func alone() {
        for size in [66, 67, 140] {
            for place in 0...(size - 3) {
                var bytes = [UInt8](repeating: 0xFF, count: size)
                bytes.replaceSubrange(place..<place + 3, with: [0, 0, 1])
                #expect(hwd_start_code(bytes, 0, size) == place)
                // An array that ends within the code has none.
                #expect(hwd_start_code(bytes, 0, place + 2) == place + 2)
            }
        }
    }
}
