// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The memory that a session's converter has of its own, in bytes.
public struct ConverterMemory: Hashable, Sendable {
    /// What every picture passes through, which counts from the session's start.
    public private(set) var least: UInt64 = 0
    /// With everything that a conversion may need: half floats at both sizes, a GPU's copies of both pictures, and its rows
    /// that are filtered across and not yet down.
    public private(set) var most: UInt64 = 0

    /// Bytes of a pixel of half floats.
    private static let halves: UInt64 = 8
    /// Bytes of a pixel whose four components are filtered in fp32.
    private static let filtered: UInt64 = 16

    /// None.
    public init() {}

    /// The memory of a conversion; none where a size is impossible, which the session's process refuses.
    ///
    /// - Parameters:
    ///   - passesHalves: whether pictures become half floats before they are scaled.
    ///   - ownsTarget: whether the converted picture is the session's own instead of its client's.
    public init(from source: TransferSide, to target: TransferSide, passesHalves: Bool, ownsTarget: Bool) {
        let possible = 1...CompressionRequest.maxDimension
        for side in [source, target] {
            guard possible.contains(side.width), possible.contains(side.height) else { return }
        }
        func samples(_ width: Int, _ height: Int) -> UInt64 { UInt64(width * height) }
        func packed(_ side: TransferSide) -> UInt64 {
            UInt64(FrameLayout.packed(side.format, width: side.width, height: side.height).size)
        }
        let sourceHalves = Self.halves * samples(source.width, source.height)
        if passesHalves { least += sourceHalves }
        if ownsTarget { least += packed(target) }
        let isScaled = source.width != target.width || source.height != target.height
        most =
            sourceHalves + Self.halves * samples(target.width, target.height) + packed(source) + 2 * packed(target)
            + (isScaled ? Self.filtered * samples(target.width, source.height) : 0)
    }
}
