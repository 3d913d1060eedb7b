// SPDX-License-Identifier: MIT
internal import Glibc
internal import Synchronization

/// Flushes a file's data to the disk on a thread of its own (fdatasync(2)), because that may take longer than a frame does.
///
/// The first flush is that of the file's folder, too (fsync(2)): without it a power cut may leave the data without a name.
/// Requests that come while one is being served are served together.
final class DiskSync: Sendable {
    private struct State {
        var isRequested = false
        var isStopped = false
        /// The errno of the first flush that failed.
        var failure: Int32 = 0
    }

    private let state = Mutex(State())
    private nonisolated(unsafe) let wakeUp = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let descriptor: Int32
    private let folder: Int32
    private nonisolated(unsafe) var thread = pthread_t()

    /// - Parameters:
    ///   - descriptor: must stay open until `stop`.
    ///   - folder: the same; -1 for one that cannot be opened.
    /// - Throws: `io` without a thread.
    init(_ descriptor: Int32, folder: Int32) throws(MovieError) {
        (self.descriptor, self.folder) = (descriptor, folder)
        sem_init(wakeUp, 0, 0)
        // Released by `run`.
        let this = Unmanaged.passRetained(self)
        let error = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<DiskSync>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, this.toOpaque())
        guard error == 0 else {
            this.release()
            throw MovieError(.io, "a recording cannot be started: \(String(cString: strerror(error)))")
        }
    }

    deinit {
        sem_destroy(wakeUp)
        wakeUp.deallocate()
    }

    /// Asks for a flush, and returns at once.
    func request() {
        state.withLock { $0.isRequested = true }
        sem_post(wakeUp)
    }

    /// The errno of the first flush that failed; 0 where none did.
    var failure: Int32 { state.withLock { $0.failure } }

    /// Ends the thread after what was asked for.
    func stop() {
        state.withLock { $0.isStopped = true }
        sem_post(wakeUp)
        pthread_join(thread, nil)
    }

    private func run() {
        var isFolderPending = folder >= 0
        while true {
            guard sem_wait(wakeUp) == 0 else { continue }
            let (isRequested, isStopped) = state.withLock { state in
                defer { state.isRequested = false }
                return (state.isRequested, state.isStopped)
            }
            if isRequested {
                // EINVAL: a kind of file without a disk.
                note(fdatasync(descriptor) == 0 || errno == EINVAL ? 0 : errno)
                if isFolderPending { note(Self.flush(folder: folder)) }
                isFolderPending = false
            }
            if isStopped { return }
        }
    }

    private func note(_ error: Int32) {
        state.withLock { if $0.failure == 0 { $0.failure = error } }
    }

    /// Flushes a folder's names; 0 or an errno: file systems that do not flush folders have their own.
    static func flush(folder: Int32) -> Int32 { fsync(folder) == 0 || errno != EIO ? 0 : EIO }
}
