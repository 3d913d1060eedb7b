// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC

/// Tracks which pictures are intact: damage lasts until the next key frame.
///
/// Packets are numbered in decoding order. When one is damaged or lost, every later picture up to the next IRAP picture
/// may refer to it; RASL pictures of that IRAP picture may, too.
public struct DamageTracker: Sendable {
    /// How to treat a packet.
    public enum Verdict: Hashable, Sendable {
        case decode
        /// No key frame precedes it: it is dropped.
        case waitsForKeyFrame
        /// A RASL picture whose IRAP picture starts a sequence: the standard requires dropping it (H.265 8.1.3).
        case skippedLeading
    }

    private struct Run {
        /// The key frame's number.
        var start: Int64
        /// The first damaged packet of the run.
        var damagedFrom: Int64?
    }

    /// The runs from key frame to key frame with pictures that may still be output, oldest first.
    private var runs: [Run] = []
    private var isFirst = true
    private var startsSequence = true
    private var skipsLeading = false

    /// Limit of runs; no more key frames than this are between a packet and the output of its picture.
    private static let maxRuns = 64

    /// The first packet to decode must be a key frame.
    public init() {}

    /// Whether decoding has started at a key frame.
    public var hasBegun: Bool { !isFirst }

    /// Classifies the next packet by number and type.
    public mutating func admit(_ sequence: Int64, _ type: NALUnitType) -> Verdict {
        if type.isIRAP {
            // H.265 8.1.3: NoRaslOutputFlag is 1 for IDR and BLA pictures and for the first one of a sequence.
            skipsLeading = startsSequence || type.isIDR || type.isBLA
            (isFirst, startsSequence) = (false, false)
            runs.append(Run(start: sequence))
            if runs.count > Self.maxRuns { runs.removeFirst() }
            return .decode
        }
        if isFirst { return .waitsForKeyFrame }
        return type.isRASL && skipsLeading ? .skippedLeading : .decode
    }

    /// Reports that the packet with this number is damaged or lost.
    public mutating func damage(_ sequence: Int64) {
        guard let index = runs.lastIndex(where: { $0.start <= sequence }) else { return }
        runs[index].damagedFrom = min(runs[index].damagedFrom ?? sequence, sequence)
    }

    /// Whether a picture may have concealed samples.
    public func isDamaged(_ sequence: Int64, _ type: NALUnitType) -> Bool {
        guard let index = runs.lastIndex(where: { $0.start <= sequence }) else { return false }
        if let from = runs[index].damagedFrom, from <= sequence { return true }
        return type.isRASL && index > 0 && runs[index - 1].damagedFrom != nil
    }

    /// Reports an end-of-sequence NAL unit.
    public mutating func endSequence() { startsSequence = true }

    /// Reports a flush of the decoder: the next packet to decode must be a key frame.
    public mutating func flush() {
        (isFirst, startsSequence) = (true, true)
        runs = []
    }
}
