// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
public import HWDLibAVReading
public import HWDMetadata
internal import HWDModel

extension AskedChanges {
    /// The same changes, for the part that a copy has: it begins with a key frame (`CopyCut`).
    ///
    /// - Parameter isInterrupted: polled between packets.
    /// - Throws: errors of reading.
    public func located(in input: InputFile, isInterrupted: () -> Bool) throws(MediaError) -> AskedChanges {
        guard beginsWithKeyFrame, var range else { return self }
        let reader = try MediaReader(input, options: Verification.options(self, isInput: true))
        var cut = CopyCut(reader, range, isExact: false)
        while cut.lead == nil, !isInterrupted(), let item = try reader.next() {
            if case .packet(let packet) = item { _ = cut.add(packet) }
        }
        if cut.lead == nil { _ = cut.finish() }
        guard let key = cut.keyTime else { return self }
        if case .duration(let length) = range.end { range.end = .time(range.start + length) }
        let microseconds = Double(key) * reader.video.timeBase.value * 1_000_000
        range.start = Int64(microseconds.rounded())
        var located = self
        located.range = range
        return located
    }
}
