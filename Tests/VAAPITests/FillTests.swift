// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import Testing

/// `hwd_fill`, checked sample by sample.
@Suite struct FillTests {
    /// The conversion of one plane.
    struct Case: CustomStringConvertible {
        var change: hwd_change
        var pairs: Bool
        var joins: Bool
        var size: (width: Int, height: Int)
        var more: (columns: Int, rows: Int)
        /// Bytes from a row's end to the next row, and from an aligned address to the first row.
        var padding: (source: Int, target: Int)
        var shift: (source: Int, target: Int)

        var sourceSample: Int { change == HWD_KEEP_BYTES || change == HWD_WIDEN ? 1 : 2 }
        var targetSample: Int { change == HWD_KEEP_BYTES ? 1 : 2 }
        /// Samples of a column, in the target and in one source.
        var targetStep: Int { pairs ? 2 : 1 }
        var sourceStep: Int { pairs && !joins ? 2 : 1 }

        var description: String {
            "change \(change.rawValue)\(pairs ? " pairs" : "")\(joins ? " joined" : "") \(size) + \(more), padding "
                + "\(padding), shift \(shift)"
        }

        func changed(_ value: Int) -> Int {
            switch change {
            case HWD_WIDEN: value << 8
            case HWD_RAISE: value << 6 & 0xFFFF
            default: value
            }
        }
    }

    /// Exactly `count` bytes of memory that begin `shift` bytes after a multiple of 64.
    final class Memory {
        private let whole: UnsafeMutableRawPointer
        let bytes: UnsafeMutableRawBufferPointer

        init(_ count: Int, shift: Int) {
            whole = .allocate(byteCount: shift + count, alignment: 64)
            bytes = UnsafeMutableRawBufferPointer(start: whole + shift, count: count)
        }

        deinit { whole.deallocate() }

        var base: UnsafeMutablePointer<UInt8>? { bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) }

        func sample(_ offset: Int, _ size: Int) -> Int {
            size == 1 ? Int(bytes[offset]) : Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
        }
    }

    private func check(_ one: Case) {
        let row = one.size.width * one.sourceStep * one.sourceSample
        let fullWidth = one.size.width + one.more.columns
        let fullHeight = one.size.height + one.more.rows
        let fullRow = fullWidth * one.targetStep * one.targetSample
        let (stride, fullStride) = (row + one.padding.source, fullRow + one.padding.target)
        var random: UInt32 = 1
        // The last row has no padding.
        let sources = (0..<(one.joins ? 2 : 1)).map { _ in
            let memory = Memory(stride * (one.size.height - 1) + row, shift: one.shift.source)
            for index in memory.bytes.indices {
                random = random &* 1_664_525 &+ 1_013_904_223
                memory.bytes[index] = UInt8(random >> 24)
            }
            return memory
        }
        let planes = sources.map { hwd_plane(base: UnsafePointer($0.base), stride: stride) }
        var how = hwd_filling(
            change: one.change, pairs: one.pairs, joins: one.joins, width: Int32(one.size.width),
            height: Int32(one.size.height), full_width: Int32(fullWidth), full_height: Int32(fullHeight))
        // Large planes aligned to cache lines are written past the caches; 16 bytes further on they are not.
        for push in [0, 16] {
            let target = Memory(fullStride * (fullHeight - 1) + fullRow, shift: one.shift.target + push)
            for index in target.bytes.indices { target.bytes[index] = 0xA5 }
            hwd_fill(
                &how, planes[0], planes[planes.count - 1],
                hwd_mutable_plane(base: target.base, stride: fullStride))
            var wrong = 0
            for y in 0..<fullHeight {
                for x in 0..<fullWidth * one.targetStep {
                    let (column, part) = (min(x / one.targetStep, one.size.width - 1), x % one.targetStep)
                    let source = one.joins ? sources[part] : sources[0]
                    let offset =
                        min(y, one.size.height - 1) * stride
                        + (column * one.sourceStep + (one.joins ? 0 : part)) * one.sourceSample
                    let place = y * fullStride + x * one.targetSample
                    let expected = one.changed(source.sample(offset, one.sourceSample))
                    if target.sample(place, one.targetSample) != expected { wrong += 1 }
                }
                guard y + 1 < fullHeight else { continue }
                for place in y * fullStride + fullRow..<(y + 1) * fullStride where target.bytes[place] != 0xA5 {
                    wrong += 1
                }
            }
            #expect(wrong == 0, "\(wrong) samples of \(one), pushed by \(push)")
        }
    }

    private static let changes = [HWD_KEEP_BYTES, HWD_KEEP_WORDS, HWD_WIDEN, HWD_RAISE]

    @Test("every width and edge", arguments: changes.indices)
    func widths(_ index: Int) {
        for (pairs, joins) in [(false, false), (true, false), (true, true)] {
            for width in [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130, 200] {
                for more in [(0, 0), (1, 1), (15, 3)] {
                    check(
                        Case(
                            change: Self.changes[index], pairs: pairs, joins: joins, size: (width, width % 3 + 1),
                            more: more, padding: (0, 0), shift: (0, 0)))
                }
            }
        }
    }

    @Test("unaligned strides and addresses", arguments: changes.indices)
    func places(_ index: Int) {
        for (pairs, joins) in [(false, false), (true, false), (true, true)] {
            for (padding, shift) in [((2, 6), (2, 10)), ((64, 0), (62, 0)), ((6, 64), (0, 32))] {
                for width in [5, 64, 99] {
                    check(
                        Case(
                            change: Self.changes[index], pairs: pairs, joins: joins, size: (width, 5), more: (2, 1),
                            padding: padding, shift: shift))
                }
            }
        }
    }

    /// Large planes, aligned and unaligned.
    @Test("large planes", arguments: changes.indices)
    func large(_ index: Int) {
        for (pairs, joins) in [(false, false), (true, true)] {
            let unit = (Self.changes[index] == HWD_KEEP_BYTES ? 1 : 2) * (pairs ? 2 : 1)
            for (width, shift) in [(1001, 0), (1024, 0), (1024, 16)] {
                let columns = (width + 63) / 64 * 64 - width
                let rows = 260 * 1024 / (unit * (width + columns))
                check(
                    Case(
                        change: Self.changes[index], pairs: pairs, joins: joins, size: (width, rows),
                        more: (columns, 8), padding: (0, 0), shift: (0, shift)))
            }
        }
    }
}
