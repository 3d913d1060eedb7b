// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// NAL units of packets that are not decoded which go before the next one that is: parameter sets, and where sequences end.
///
/// A client may send as many as it likes and have none decoded; so each stands here once, in the order of their last coming,
/// and the oldest go when all together are too many bytes. Whatever a picture refers to came last of its kind.
struct PendingUnits {
    /// Bytes of a parameter set: scaling lists and extensions of every kind take a tenth of it.
    static let maxSetSize = 64 << 10
    /// Bytes of all, and units: twice the sets that H.265 has ids for (16 VPS, 16 SPS, 64 PPS), and of each a few kilobytes.
    static let maxSize = 1 << 20, maxCount = 192

    private(set) var units: [[UInt8]] = []
    private var size = 0

    /// Puts a unit at the end, and takes it away from where it stood.
    mutating func append(_ nal: ArraySlice<UInt8>) {
        guard nal.count <= Self.maxSetSize else { return }
        if let known = units.firstIndex(where: { $0.elementsEqual(nal) }) { remove(at: known) }
        units.append(Array(nal))
        size += nal.count
        while size > Self.maxSize || units.count > Self.maxCount { remove(at: 0) }
    }

    private mutating func remove(at index: Int) { size -= units.remove(at: index).count }
}
