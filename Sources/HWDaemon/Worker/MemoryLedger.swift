// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
internal import HWDPolicy
public import HWDTransport
internal import HWDWire
internal import Synchronization

/// The memory that a session takes, measured, and what the broker has granted it: its process's private memory, the arenas
/// that it made, and the pools that its client registered.
///
/// The broker grants more on request, and takes nothing back before the session's end. Used from all threads.
public final class MemoryLedger: Sendable {
    private struct Entry {
        weak var memory: SharedMemory?
    }

    private struct State {
        var files: [Entry] = []
        /// Bytes of other files in memory.
        var other: UInt64 = 0
        /// Bytes; nil for no limit.
        var granted: UInt64?
        /// Bytes of private memory; nil for no limit.
        var bound: UInt64?
        /// The largest picture that the broker knows of, in bytes.
        var picture: UInt64 = 0
        /// Ends the session; it asks no more.
        var refusal: SessionError?
    }

    /// The least that is requested beyond the need.
    private static let step: UInt64 = 16 << 20

    private let kind: SessionKind
    private let process: ProcessMemory?
    private let stats: StatsPage
    private let questions: BrokerQuestions
    private let state: Mutex<State>

    init(
        _ kind: SessionKind, _ limits: WorkerLimits, process: ProcessMemory?, stats: StatsPage,
        questions: BrokerQuestions
    ) {
        self.questions = questions
        self.kind = kind
        self.process = process
        self.stats = stats
        state = Mutex(State(granted: limits.memoryBytes, bound: limits.privateBytes))
    }

    /// Counts an arena or a pool from now on, as long as it exists.
    public func add(_ memory: SharedMemory) {
        state.withLock { $0.files.append(Entry(memory: memory)) }
    }

    /// Sets the bytes of the files in memory that a codec made itself.
    public func setOther(_ bytes: UInt64) { state.withLock { $0.other = bytes } }

    /// Checks what the session takes now, after memory was taken whose size was not known before.
    ///
    /// - Throws: as `require`.
    public func check() throws(SessionError) { try require(0) }

    /// Checks that the session may take `bytes` more.
    ///
    /// - Parameter picture: the size of a picture that will be coded, as `SessionMemory.pictureBytes` counts it, or 0; the
    ///   bound of private memory depends on the largest.
    /// - Throws: the kind's "not available now", with the limit that is reached, which ends the session.
    public func require(_ bytes: Int, picture: UInt64 = 0) throws(SessionError) {
        try require(picture) { used in used + UInt64(clamping: bytes) }
    }

    /// Checks that the session may take what one with pictures of this size takes at least.
    ///
    /// - Throws: as `require`.
    public func expect(picture: UInt64) throws(SessionError) {
        let expected = SessionMemory(kind, picture: picture, processors: 1).initial
        try require(picture) { used in max(used, expected) }
    }

    /// - Parameter total: the bytes needed altogether, from those that are used.
    private func require(_ picture: UInt64, _ total: (UInt64) -> UInt64) throws(SessionError) {
        try state.withLock { (state) throws(SessionError) in
            let needed = total(measure(&state))
            // Asks again only for pictures that are larger by a quarter.
            let isLarger = picture > state.picture + state.picture / 4
            guard isLarger || needed > state.granted ?? .max else { return }
            if let refusal = state.refusal { throw refusal }
            state.picture = max(picture, state.picture)
            try ask(needed, &state)
        }
    }

    /// An error of a codec, with the bound of the session's memory where that caused it.
    ///
    /// Codecs report that memory ran out as a failure like others.
    public func explained(_ error: SessionError) -> SessionError {
        guard error.status == .allocationFailed || error.status == kind.malfunction else { return error }
        return state.withLock { state in
            _ = measure(&state)
            guard let bound = state.bound else { return error }
            // A failed allocation may have been a large one.
            let least = error.status == .allocationFailed ? bound / 2 : bound - bound / 8
            guard stats[.privateBytes] >= least else { return error }
            return SessionError(
                kind.malfunction,
                "the \(kind.noun) needs more than the \(SessionMemory.text(bound)) that its session may use: "
                    + error.reason)
        }
    }

    /// The bytes that the session takes; publishes them.
    private func measure(_ state: inout State) -> UInt64 {
        let reading = process?.reading
        var used = (reading?.resident ?? 0) + state.other
        state.files.removeAll { $0.memory == nil }
        for file in state.files { used += file.memory?.allocatedBytes ?? 0 }
        stats.set(.memoryBytes, used)
        if let data = reading?.data, data > stats[.privateBytes] { stats.set(.privateBytes, data) }
        return used
    }

    /// Asks the broker for `needed` bytes altogether; a session whose broker is gone has no limit.
    private func ask(_ needed: UInt64, _ state: inout State) throws(SessionError) {
        let wanted = needed + max(needed / 4, Self.step)
        let question = WorkerReport.memory(needed: needed, wanted: wanted, picture: state.picture)
        let grant: MemoryGrant
        switch questions.ask(question, MemoryGrant.self) {
        case .answered(let answer): grant = answer
        // The broker will count the request. Until then the session continues.
        case .unanswered: return state.granted = needed
        case .gone: return state.granted = nil
        }
        (state.granted, state.bound) = (grant.granted, grant.bound)
        if let granted = grant.granted, granted < needed {
            let refusal = SessionError(kind.notAvailableNow, grant.refusal ?? "the daemon grants no more memory")
            state.refusal = refusal
            throw refusal
        }
    }
}
