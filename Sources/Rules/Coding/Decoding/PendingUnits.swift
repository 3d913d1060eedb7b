// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// Parameter sets and end-of-sequence NAL units of skipped packets, to be decoded before the next packet.
///
/// A client may send any number of them without having a packet decoded. So equal units are kept once, in the order of
/// their last occurrence, and the oldest are dropped beyond a limit: a picture refers to the last unit of a kind.
struct PendingUnits {
    /// Limit of a parameter set in bytes; scaling lists and extensions of every kind need a tenth of it.
    static let maxSetSize = 64 << 10
    /// Limits of bytes and units: twice the sets that H.265 has ids for (16 VPS, 16 SPS, 64 PPS), a few kilobytes each.
    static let maxSize = 1 << 20, maxCount = 192

    private(set) var units: [[UInt8]] = []
    private var size = 0

    /// Appends a unit, and removes an equal one.
    mutating func append(_ nal: ArraySlice<UInt8>) {
        guard nal.count <= Self.maxSetSize else { return }
        if let known = units.firstIndex(where: { $0.elementsEqual(nal) }) { remove(at: known) }
        units.append(Array(nal))
        size += nal.count
        while size > Self.maxSize || units.count > Self.maxCount { remove(at: 0) }
    }

    private mutating func remove(at index: Int) { size -= units.remove(at: index).count }
}
