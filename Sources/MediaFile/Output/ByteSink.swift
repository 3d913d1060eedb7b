// SPDX-License-Identifier: GPL-2.0-or-later
// The members of timespec belong to the first C module of the target that includes its header.
internal import CHWDLibAV
internal import Glibc

/// Where an elementary stream goes: a file that appears when it is finished, or standard output.
enum ByteSink: Sendable {
    case file(OutputFile)
    case standardOutput

    /// Writes all of `bytes`.
    /// - Throws: `io`, also where the reader of a pipe has gone.
    func write(_ bytes: [UInt8]) throws(MediaError) {
        try check(bytes.withUnsafeBytes { all in attempt { Self.writeAll($0, [all]) } })
    }

    /// Writes all of `pieces`, one after the other, from where they lie.
    /// - Throws: as for bytes.
    func write(_ pieces: [UnsafeRawBufferPointer]) throws(MediaError) {
        try check(attempt { Self.writeAll($0, pieces) })
    }

    private func attempt(_ body: (Int32) -> Int32) -> Int32 {
        switch self {
        case .file(let file): body(file.descriptor)
        case .standardOutput: Self.withoutBrokenPipeSignal { body(STDOUT_FILENO) }
        }
    }

    private func check(_ error: Int32) throws(MediaError) {
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

    /// Pieces given to the kernel at once: IOV_MAX of Linux (limits.h).
    private static let maxPieces = 1024

    /// 0, or the errno that ended the writing.
    private static func writeAll(_ descriptor: Int32, _ pieces: [UnsafeRawBufferPointer]) -> Int32 {
        var vectors: [iovec] = []
        vectors.reserveCapacity(min(pieces.count, maxPieces))
        var next = 0
        while next < pieces.count || !vectors.isEmpty {
            while vectors.count < maxPieces, next < pieces.count {
                let piece = pieces[next]
                next += 1
                guard let base = piece.baseAddress, !piece.isEmpty else { continue }
                vectors.append(iovec(iov_base: UnsafeMutableRawPointer(mutating: base), iov_len: piece.count))
            }
            guard !vectors.isEmpty else { return 0 }
            let count = writev(descriptor, vectors, Int32(vectors.count))
            if count == 0 { return EIO }
            if count < 0 {
                guard errno == EINTR else { return errno }
                continue
            }
            drop(count, from: &vectors)
        }
        return 0
    }

    /// Takes away what has been written.
    private static func drop(_ count: Int, from vectors: inout [iovec]) {
        var left = count
        let whole = vectors.prefix { vector in
            guard left >= vector.iov_len else { return false }
            left -= vector.iov_len
            return true
        }.count
        vectors.removeFirst(whole)
        guard left > 0, let first = vectors.first, let base = first.iov_base else { return }
        vectors[0] = iovec(iov_base: base + left, iov_len: first.iov_len - left)
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
            var now = timespec(tv_sec: 0, tv_nsec: 0)
            while sigtimedwait(&pipe, nil, &now) == -1, errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return error
    }
}
