// SPDX-License-Identifier: GPL-2.0-or-later

/// Decides which frames' alpha needs no encoder because it is flat: it has one value everywhere, which does not change.
///
/// A sequence, here, begins with a key frame that no picture refers across, and its frames are all flat or all encoded. The
/// first frame that ends a flat sequence must become such a key frame in both layers, which is known before the base layer's
/// encoder gets it. A change from encoded to flat waits for a key frame that comes for another reason.
struct FlatAlphaPlan {
    /// How a frame's alpha is coded.
    enum Coding: Hashable {
        /// All samples have this value.
        case flat(UInt8)
        /// By the alpha layer's encoder.
        case encoded
    }

    /// A frame that is not decided yet.
    private struct Frame {
        var value: UInt8?
        var startsSequence: Bool
    }

    private var waiting: [Frame] = []
    private var isFirst = true
    /// The coding of the last decided frame.
    private var current: Coding?
    /// The coding of frames that are added now; nil while the start of their sequence waits.
    private var latest: Coding?
    /// The value of the last decided frames, and how many have it.
    private var run: (value: UInt8?, count: Int) = (nil, 0)

    /// Flat frames that justify a flat sequence after the first: its end costs a key frame.
    private static let shortestRun = 8

    /// Adds a frame, in presentation order.
    ///
    /// - Parameters:
    ///   - value: the value of all its alpha samples; nil where they differ.
    ///   - forceKeyFrame: whether the client requires a key frame.
    /// - Returns: whether it must be a key frame.
    mutating func add(value: UInt8?, forceKeyFrame: Bool) -> Bool {
        var isKeyFrame = forceKeyFrame
        if case .flat(let expected) = latest, value != expected { isKeyFrame = true }
        if isKeyFrame { latest = nil }
        waiting.append(Frame(value: value, startsSequence: isKeyFrame || isFirst))
        isFirst = false
        return isKeyFrame
    }

    /// Decides the oldest frame, once the base layer's encoder has chosen its kind.
    ///
    /// - Parameter isIDR: whether its picture is an IDR picture.
    mutating func next(isIDR: Bool) -> Coding {
        let frame = waiting.removeFirst()
        if frame.startsSequence || isIDR {
            current = coding(from: frame)
            if !waiting.contains(where: \.startsSequence) { latest = current }
        }
        run = frame.value == run.value ? (run.value, run.count + 1) : (frame.value, 1)
        return current ?? .encoded
    }

    /// The coding of a sequence.
    private func coding(from frame: Frame) -> Coding {
        let others = waiting.prefix { !$0.startsSequence }
        guard let value = frame.value, others.allSatisfy({ $0.value == value }) else { return .encoded }
        guard let current, current != .flat(value) else { return .flat(value) }
        let before = run.value == value ? run.count : 0
        return before + 1 + others.count >= Self.shortestRun ? .flat(value) : .encoded
    }
}
