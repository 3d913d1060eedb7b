// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
internal import Synchronization

/// Counts libav's error messages about one file.
///
/// Its decoders conceal damage and return the picture regardless; only the log reports it.
final class ErrorTally: LibAVListener, @unchecked Sendable {
    private let errors = Mutex<(count: Int, first: String?)>((0, nil))
    private let cutOff = Atomic<Bool>(false)
    private let beginsWithin = Atomic<Bool>(false)

    /// Whether a demuxer logged that the file is shorter than declared; Matroska's reports it in no other way.
    var isCutOff: Bool { cutOff.load(ordering: .relaxed) }

    /// Decoding begins at a key frame within the file, so that marks of pictures before it are no damage.
    func beginWithin() { beginsWithin.store(true, ordering: .relaxed) }

    /// Counts one message, on any thread.
    override func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {
        let finding = LogFinding(message)
        if finding == .truncatedInput { cutOff.store(true, ordering: .relaxed) }
        if finding == .unknownReference, beginsWithin.load(ordering: .relaxed) { return }
        errors.withLock { errors in
            errors.count += 1
            if errors.first == nil { errors.first = message }
        }
    }

    /// The number of messages since the last call, and the first of them.
    func take() -> (count: Int, first: String?) {
        errors.withLock { errors in
            defer { errors = (0, nil) }
            return errors
        }
    }
}
