// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The probes' last answers that another probe would only repeat: starting a driver takes tens of milliseconds.
///
/// An answer holds while every file it came from is what it was: the node, the driver, all libraries, the folders they
/// lie in and the catalogue's files. The kernel and the environment are the same as long as this daemon runs.
struct ProbeAnswerCache {
    private struct Entry {
        var files: [FileStamp]
        /// Whether everything claimed was tried and worked; what failed is tried again whenever somebody asks.
        var isVerified: Bool
    }

    private var entries: [ProbeRequest.Subject: Entry] = [:]
    /// Files kept of one answer, which come from a process with a driver in it.
    private static let maxFiles = 300

    /// Keeps an answer, or forgets the one before where this one will not hold.
    mutating func keep(_ answer: ProbeAnswer, to request: ProbeRequest) {
        entries[request.subject] = nil
        let isReady = answer.node.map { $0.state == .ready } ?? answer.isWhole
        // Of the software only what the choice of an encoder needs is looked at when a daemon starts.
        let isPart = request.subject == .software && request.verification == .startup
        guard !isPart, isReady, 1...Self.maxFiles ~= answer.files.count else { return }
        let isVerified =
            answer.isWhole && answer.untried.isEmpty
            && answer.paths.allSatisfy { $0.verified || !$0.claimed }
            && answer.vulkan?.devices.allSatisfy { $0.verified || !$0.claimed } ?? true
        entries[request.subject] = Entry(files: answer.files, isVerified: isVerified)
    }

    /// Forgets what was told of a subject.
    mutating func forget(_ subject: ProbeRequest.Subject) { entries[subject] = nil }

    /// Forgets everything.
    mutating func forget() { entries = [:] }

    /// Whether the last answer answers a request too.
    func answers(_ subject: ProbeRequest.Subject, _ verification: ProbeRequest.Verification) -> Bool {
        guard let entry = entries[subject] else { return false }
        switch verification {
        case .startup, .always: return false
        case .unlessKnown: guard entry.isVerified else { return false }
        case .never: break
        }
        return entry.files.allSatisfy(\.holds)
    }
}
