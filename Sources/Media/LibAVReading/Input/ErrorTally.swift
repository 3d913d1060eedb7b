// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
internal import Synchronization

/// Counts libav's error messages about one file.
///
/// Its decoders conceal damage and return the picture regardless; only the log reports it.
final class ErrorTally: LibAVListener, @unchecked Sendable {
    private let errors = Mutex<(count: Int, first: String?)>((0, nil))
    private let cutOff = Atomic<Bool>(false)
    /// Key frames up to the one before which every reference is known; 0 where decoding is past it.
    private let keyFramesLeft = Atomic<Int>(0)

    /// Whether a demuxer logged that the file is shorter than declared; Matroska's reports it in no other way.
    var isCutOff: Bool { cutOff.load(ordering: .relaxed) }

    /// Decoding begins at a key frame within the file, so that marks of pictures before it are no damage.
    func beginWithin() { keyFramesLeft.store(2, ordering: .relaxed) }

    /// A key frame is read; behind the second one, no picture marks those before the first.
    func passKeyFrame() {
        let left = keyFramesLeft.load(ordering: .relaxed)
        if left > 0 { keyFramesLeft.store(left - 1, ordering: .relaxed) }
    }

    /// Counts one message, on any thread.
    override func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {
        let finding = LogFinding(message)
        if finding == .truncatedInput { cutOff.store(true, ordering: .relaxed) }
        if finding == .unknownReference, keyFramesLeft.load(ordering: .relaxed) > 0 { return }
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
