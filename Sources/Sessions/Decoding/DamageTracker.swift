// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC

/// Which pictures can be trusted: damage lasts until the next key frame.
///
/// Packets are numbered in decoding order. Where one is damaged or lost, every picture behind it may refer to it, up to
/// the next IRAP picture; leading pictures that may be skipped (RASL) refer to what was before that one, too.
public struct DamageTracker: Sendable {
    /// What to do with a packet.
    public enum Verdict: Hashable, Sendable {
        case decode
        /// Nothing before it can be decoded from: it is dropped.
        case waitsForKeyFrame
        /// A RASL picture whose IRAP picture was the first: the standard has it dropped (H.265 8.1.3).
        case skippedLeading
    }

    private struct Run {
        /// The key frame's number.
        var start: Int64
        /// The first damaged packet of the run.
        var damagedFrom: Int64?
    }

    /// The runs from key frame to key frame whose pictures may still come out, oldest first.
    private var runs: [Run] = []
    private var isFirst = true
    private var startsSequence = true
    private var skipsLeading = false

    /// Runs remembered; more key frames than that are never between a packet and its picture.
    private static let maxRuns = 64

    /// Nothing decoded yet: a key frame must come first.
    public init() {}

    /// Whether a key frame has come, so that something can be decoded.
    public var hasBegun: Bool { !isFirst }

    /// Takes the next packet's number and type.
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

    /// The packet with this number is damaged, or was lost.
    public mutating func damage(_ sequence: Int64) {
        guard let index = runs.lastIndex(where: { $0.start <= sequence }) else { return }
        runs[index].damagedFrom = min(runs[index].damagedFrom ?? sequence, sequence)
    }

    /// Whether a picture may have made-up samples.
    public func isDamaged(_ sequence: Int64, _ type: NALUnitType) -> Bool {
        guard let index = runs.lastIndex(where: { $0.start <= sequence }) else { return false }
        if let from = runs[index].damagedFrom, from <= sequence { return true }
        return type.isRASL && index > 0 && runs[index - 1].damagedFrom != nil
    }

    /// An end-of-sequence NAL unit came.
    public mutating func endSequence() { startsSequence = true }

    /// The decoder was flushed: a key frame must come first again.
    public mutating func flush() {
        (isFirst, startsSequence) = (true, true)
        runs = []
    }
}
