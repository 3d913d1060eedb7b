// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The subjects whose last answer still holds: starting a driver again takes tens of milliseconds.
///
/// An answer holds as long as every file it depends on is unchanged: the node, the driver, all libraries, their folders
/// and the catalogue's files. The kernel and the environment cannot change while the daemon runs.
struct ReusableAnswers {
    private struct Entry {
        var files: [FileStamp]
        /// Whether everything claimed was tried and worked; failures are retried when a client asks for verification.
        var isVerified: Bool
    }

    private var entries: [ProbeRequest.Subject: Entry] = [:]
    /// Files of one answer; the list comes from a process that has loaded a driver.
    private static let maxFiles = 300

    /// Remembers an answer; forgets the previous one if this one cannot be reused.
    mutating func keep(_ answer: ProbeAnswer, to request: ProbeRequest) {
        entries[request.subject] = nil
        let isReady = answer.node.map { $0.state == .ready } ?? answer.isWhole
        // At the daemon's start only what the choice of an encoder needs is read about the software.
        let isPart = request.subject == .software && request.verification == .startup
        guard !isPart, isReady, 1...Self.maxFiles ~= answer.files.count else { return }
        let isVerified =
            answer.isWhole && answer.untried.isEmpty
            && answer.paths.allSatisfy { $0.verified || !$0.claimed }
            && answer.vulkan?.devices.allSatisfy { $0.verified || !$0.claimed } ?? true
        entries[request.subject] = Entry(files: answer.files, isVerified: isVerified)
    }

    mutating func forget(_ subject: ProbeRequest.Subject) { entries[subject] = nil }

    /// Whether the last answer about a subject also answers a request.
    func answers(
        _ subject: ProbeRequest.Subject, _ verification: ProbeRequest.Verification,
        isUnchanged: (FileStamp) -> Bool
    ) -> Bool {
        guard let entry = entries[subject] else { return false }
        switch verification {
        case .startup, .always: return false
        case .unlessKnown: guard entry.isVerified else { return false }
        case .never: break
        }
        return entry.files.allSatisfy(isUnchanged)
    }
}
