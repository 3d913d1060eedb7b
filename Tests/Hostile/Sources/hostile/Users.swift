// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDSystem
import HWDTransport

/// Processes of other users, which only root can start.
enum Users {
    /// User ids that no account of a machine has.
    static let bystander: UInt32 = 64101
    static let attacker: UInt32 = 64102
    static let caller: UInt32 = 64103

    static let isRoot = geteuid() == 0

    /// Whether attacks of several users can run; prints why not.
    static func canSwitch(for attack: String) -> Bool {
        if isRoot, access("/usr/bin/setpriv", X_OK) == 0 { return true }
        print("  skipped: \(attack): only root can become another user, with setpriv(1)")
        return false
    }
}

/// This program as a child in one of its modes, as another user where that is possible.
///
/// Its standard input is a pipe that `finish` closes; it prints its result.
final class Helper {
    private let process: ChildProcess
    private var input: OwnedFD?
    private let output: OwnedFD
    private let errors: OwnedFD

    init(_ arguments: [String], user: UInt32) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Finding("no pipe: errno \(errno)") }
        let reading = OwnedFD(ends[0])
        // Other children must not keep the pipe open.
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        input = OwnedFD(ends[1])
        output = try Self.nameless()
        errors = try Self.nameless()
        let isOther = Users.isRoot && user != 0
        let prefix = isOther ? ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", Program.path] : []
        process = try ChildProcess(
            spawning: isOther ? "/usr/bin/setpriv" : Program.path, arguments: prefix + arguments,
            files: [
                ChildProcess.File(reading.rawValue, as: 0), ChildProcess.File(output.rawValue, as: 1),
                ChildProcess.File(errors.rawValue, as: 2),
            ])
        _ = reading.rawValue
    }

    deinit {
        if (try? process.tryReap()) == nil {
            try? process.kill(SIGKILL)
            _ = try? process.wait()
        }
    }

    /// What it has printed so far.
    var text: String { String(decoding: Self.contents(output), as: UTF8.self) }

    /// Waits until it has printed something.
    func waitForOutput() throws {
        let deadline = MonotonicTime.now + .seconds(hang)
        while Self.contents(output).isEmpty {
            let exit = try process.tryReap()
            guard exit == nil, MonotonicTime.now < deadline else {
                throw Finding(
                    "a helper is not ready: \(exit.map(String.init(describing:)) ?? "too slow") \(complaint)")
            }
            usleep(5000)
        }
    }

    /// Ends it and returns what it printed.
    func finish(seconds: Int = 60) throws -> [UInt8] {
        input = nil
        guard let exit = try process.wait(until: MonotonicTime.now + .seconds(seconds)) else {
            throw Finding("a helper does not end")
        }
        guard exit == .exited(0) else { throw Finding("a helper \(exit): \(complaint)") }
        return Self.contents(output)
    }

    private var complaint: String { String(decoding: Self.contents(errors), as: UTF8.self) }

    private static func nameless() throws -> OwnedFD {
        var name = Array("/tmp/hwd-hostile-XXXXXX".utf8CString)
        let number = mkstemp(&name)
        guard number >= 0 else { throw Finding("no temporary file: errno \(errno)") }
        unlink(name)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        return OwnedFD(number)
    }

    private static func contents(_ file: borrowing OwnedFD) -> [UInt8] {
        var status = stat()
        guard fstat(file.rawValue, &status) == 0, status.st_size > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(file.rawValue, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }
}

/// Whether the standard input has ended.
func inputHasEnded() -> Bool {
    var entry = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0
}
