// SPDX-License-Identifier: GPL-2.0-or-later
// The members of timespec belong to the first C module of the target that includes its header.
internal import CHWDLibAV
internal import Glibc
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDSystem

/// The destination of a byte stream: a file, or standard output.
enum ByteSink: Sendable {
    case file(AtomicFile)
    case standardOutput

    /// Standard output.
    /// - Throws: `usage` where it is a terminal, `cannotCreate` where it is closed.
    static func standardOutputNotTerminal() throws(MediaError) -> ByteSink {
        guard StandardDescriptors.isOutputOpen else {
            throw MediaError(.cannotCreate, "standard output is closed")
        }
        guard isatty(STDOUT_FILENO) == 0 else {
            throw MediaError(.usage, "standard output is a terminal: redirect it to a file or a program")
        }
        return .standardOutput
    }

    /// Writes all of `bytes`.
    /// - Throws: `cannotWrite`; `closedPipe` where standard output is a pipe without a reader.
    func write(_ bytes: [UInt8]) throws(MediaError) {
        try check(bytes.withUnsafeBytes { all in attempt { Self.writeAll($0, [all]) } })
    }

    /// Writes all of `pieces` in order, without copying them.
    /// - Throws: as above.
    func write(_ pieces: [UnsafeRawBufferPointer]) throws(MediaError) {
        try check(attempt { Self.writeAll($0, pieces) })
    }

    /// Writes bytes to a file from a position on, to standard output in order.
    ///
    /// - Returns: 0 or an errno.
    func write(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int32 {
        switch self {
        case .file(let file): PositionedIO.write(file.descriptor, bytes, at: position)
        case .standardOutput: attempt { Self.writeAll($0, [bytes]) }
        }
    }

    private func attempt(_ body: (Int32) -> Int32) -> Int32 {
        switch self {
        case .file(let file): body(file.descriptor)
        case .standardOutput: Self.withoutBrokenPipeSignal { body(STDOUT_FILENO) }
        }
    }

    private func check(_ error: Int32) throws(MediaError) {
        guard error == 0 else { throw failure(error) }
    }

    /// The error of a failed write.
    func failure(_ error: Int32) -> MediaError {
        let kind: MediaError.Kind = error == EPIPE && !isFile ? .closedPipe : .cannotWrite
        return MediaError(kind, "\(name) cannot be written: \(MediaError.text(ofErrno: error))")
    }

    /// Completes the output.
    func finish(sync: Bool) throws(MediaError) {
        if case .file(let file) = self { try file.commit(sync: sync) }
    }

    /// Discards a file's contents.
    func discard() {
        if case .file(let file) = self { file.discard() }
    }

    /// Whether it is a file.
    var isFile: Bool { if case .file = self { true } else { false } }

    /// The name in messages.
    var name: String {
        switch self {
        case .file(let file): file.path
        case .standardOutput: "standard output"
        }
    }

    /// Pieces per writev(2): Linux's IOV_MAX (limits.h).
    private static let maxPieces = 1024

    /// Returns 0 or an errno.
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

    /// Removes the first `count` bytes, which are written.
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

    /// Suppresses the SIGPIPE of a write on this thread, so that EPIPE is returned whatever the signal's disposition is.
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
