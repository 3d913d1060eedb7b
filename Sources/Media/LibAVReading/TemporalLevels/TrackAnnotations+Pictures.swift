// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDMetadata

extension TrackAnnotations {
    /// Reads the NAL unit headers of the first `count` samples.
    ///
    /// A sample without a slice, or outside of the file, is nil.
    func pictures(_ source: PositionedReader, _ framing: SampleKind.Framing, count: Int) -> [SampleKind?] {
        guard let table, case .lengths(let lengthSize) = framing else { return [] }
        return (0..<min(count, table.count)).map { sample in
            var offset = table.offsets[sample]
            let end = offset + UInt64(table.size(sample))
            // Delimiters, parameter sets and SEI messages may precede the first slice.
            for _ in 0..<64 {
                guard offset + UInt64(lengthSize) + 2 <= end,
                    let head = source.read(at: offset, lengthSize + 2),
                    let length = head.bigEndian(at: 0, lengthSize)
                else { return nil }
                if length >= 2, let kind = SampleKind(header: head[lengthSize], head[lengthSize + 1]) {
                    return kind
                }
                offset += UInt64(lengthSize) + length
            }
            return nil
        }
    }
}
