// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
internal import Synchronization

/// Counts what libav complains of while it works on one file.
///
/// Its decoders conceal damage and hand the picture out all the same: the log is the only place where they tell.
final class ErrorTally: LibAVListener, @unchecked Sendable {
    private let complaints = Mutex<(count: Int, first: String?)>((0, nil))
    private let cutOff = Atomic<Bool>(false)

    /// Whether a demuxer said that the file is shorter than its header says; Matroska's tells in no other way.
    var isCutOff: Bool { cutOff.load(ordering: .relaxed) }

    /// Notes one message, from whichever thread it comes.
    override func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {
        if LogFinding(message) == .truncatedInput { cutOff.store(true, ordering: .relaxed) }
        complaints.withLock { complaints in
            complaints.count += 1
            if complaints.first == nil { complaints.first = message }
        }
    }

    /// How many messages there were since the last call, and the first of them.
    func take() -> (count: Int, first: String?) {
        complaints.withLock { complaints in
            defer { complaints = (0, nil) }
            return complaints
        }
    }
}
