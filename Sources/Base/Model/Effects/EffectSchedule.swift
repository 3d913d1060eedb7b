// SPDX-License-Identifier: MIT

/// The lists of effects that hold for the frames of a session, by the frames' times.
///
/// A worker decides with it which list a frame gets, and a client which changes another worker would need.
public struct EffectSchedule: Hashable, Sendable {
    /// A list, and the time from which it holds.
    public struct Change: Hashable, Sendable {
        /// In units that the client chose; `always` holds for frames without a time, too.
        public var pts: Int64
        public var list: EffectList

        public init(pts: Int64, list: EffectList) {
            self.pts = pts
            self.list = list
        }
    }

    /// The most changes that no frame has reached, besides one for `always`.
    public static let maxPending = 64
    /// The time of a change that holds from the next frame on.
    public static let always = Int64.min

    /// The list of the last frame.
    public private(set) var list: EffectList
    /// The changes that no frame has reached, in the order of their times.
    public private(set) var pending: [Change] = []

    public init(_ list: EffectList) { self.list = list }

    /// Adds a change; it takes the place of a pending one of the same time.
    ///
    /// - Throws: `Parameter` for another time than frames have, for other effects than the session's, and for too many changes.
    public mutating func add(_ change: Change) throws(SessionError) {
        guard change.pts == Self.always || Ticks.isPossible(change.pts) else {
            throw SessionError(.parameter, "a change of effects at \(change.pts) is out of range")
        }
        let (old, new) = (list.effects.map(\.name.rawValue), change.list.effects.map(\.name.rawValue))
        guard old == new else {
            func words(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
            throw SessionError(
                .parameter, "a change names the effects \(words(new)), but the session's are \(words(old))")
        }
        let index = pending.firstIndex { $0.pts >= change.pts } ?? pending.count
        if index < pending.count, pending[index].pts == change.pts {
            pending[index] = change
            return
        }
        let count = pending.count { $0.pts != Self.always }
        guard change.pts == Self.always || count < Self.maxPending else {
            throw SessionError(.parameter, "\(count) changes of effects wait for their frames; no more may")
        }
        pending.insert(change, at: index)
    }

    /// Takes the changes that hold for a frame; `list` is then the frame's.
    ///
    /// - Parameter pts: the frame's time; nil without one.
    public mutating func advance(to pts: Int64?) {
        let count = pending.prefix { $0.pts <= pts ?? Self.always }.count
        guard count > 0 else { return }
        list = pending[count - 1].list
        pending.removeFirst(count)
    }
}
