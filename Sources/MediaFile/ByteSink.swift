// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// Where an elementary stream goes: a file that appears when it is finished, or standard output.
enum ByteSink: Sendable {
    case file(OutputFile)
    case standardOutput

    /// Writes all of `bytes`.
    /// - Throws: `io`, also where the reader of a pipe has gone.
    func write(_ bytes: [UInt8]) throws(MediaError) {
        let result = bytes.withUnsafeBytes { buffer -> Result<Void, MediaError> in
            do throws(MediaError) { return .success(try write(buffer)) } catch { return .failure(error) }
        }
        try result.get()
    }

    /// The same for bytes that lie elsewhere.
    func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
        let error =
            switch self {
            case .file(let file): Self.writeAll(file.descriptor, bytes)
            case .standardOutput: Self.withoutBrokenPipeSignal { Self.writeAll(STDOUT_FILENO, bytes) }
            }
        guard error == 0 else {
            throw MediaError(.io, "\(name) cannot be written: \(MediaError.text(ofErrno: error))")
        }
    }

    /// Makes what was written the output.
    func finish(sync: Bool) throws(MediaError) {
        if case .file(let file) = self { try file.commit(sync: sync) }
    }

    /// Gives the output up.
    func discard() {
        if case .file(let file) = self { file.discard() }
    }

    private var name: String {
        switch self {
        case .file(let file): file.path
        case .standardOutput: "standard output"
        }
    }

    /// 0, or the errno that ended the writing.
    private static func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        var written = 0
        while written < bytes.count, let base = bytes.baseAddress {
            let count = Glibc.write(descriptor, base + written, bytes.count - written)
            if count > 0 {
                written += count
            } else if count == 0 {
                return EIO
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Turns the SIGPIPE of a write on this thread into its EPIPE, whatever the process does with the signal.
    private static func withoutBrokenPipeSignal(_ body: () -> Int32) -> Int32 {
        var pipe = sigset_t()
        var before = sigset_t()
        var pending = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        let error = body()
        if error == EPIPE, !wasPending {
            var now = timespec()
            while sigtimedwait(&pipe, nil, &now) == -1, errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return error
    }
}
