// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// A POSIX thread, for work that may block for seconds in one C call.
public final class Thread: @unchecked Sendable {
    private let lock = Lock()
    private var handle: pthread_t
    private var isJoined = false

    private init(_ handle: pthread_t) { self.handle = handle }

    deinit { if !isJoined { pthread_detach(handle) } }

    /// Starts a thread; if it is not joined, it is detached when this object is destroyed.
    ///
    /// - Parameters:
    ///   - name: shown by ps and gdb, cut off after 15 bytes.
    ///   - stackSize: bytes.
    /// - Throws: `EAGAIN` if the process may not have more threads.
    public static func spawn(
        name: String, stackSize: Int = 8 << 20, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Thread {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        try syscall("pthread_attr_setstacksize") { -pthread_attr_setstacksize(&attributes, stackSize) }
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var handle = pthread_t()
        let error = pthread_create(
            &handle, &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                _ = chwd_set_name(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard error == 0 else {
            start.release()
            throw SystemError(errno: error, call: "pthread_create", subject: name)
        }
        return Thread(handle)
    }

    /// Waits for the thread to end; further calls return at once.
    public func join() {
        lock.lock()
        defer { lock.unlock() }
        guard !isJoined else { return }
        pthread_join(handle, nil)
        isJoined = true
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
