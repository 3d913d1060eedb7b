// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDTransport
import Testing

/// The service manager's end of `$NOTIFY_SOCKET`.
final class NotifySocket {
    /// The value of `NOTIFY_SOCKET`.
    let address: String
    private let file: OwnedFD
    private(set) var received: [String] = []

    /// Listens on a path, or on a name in the abstract namespace.
    init(abstract: Bool) throws {
        let name = "/tmp/hwdaemon-test-notify-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        address = abstract ? "@" + name : name
        file = OwnedFD(Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var path = sockaddr_un()
        path.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &path.sun_path) { $0[(abstract ? 1 : 0)...].copyBytes(from: Array(name.utf8)) }
        let length = socklen_t(2 + name.utf8.count + 1)
        let number = file.rawValue
        let result = withUnsafePointer(to: &path) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
        }
        try #require(result == 0)
    }

    deinit { if !address.hasPrefix("@") { unlink(address) } }

    /// The lines received so far.
    func read() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(file.rawValue, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return received }
            received += String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: "\n").map(
                String.init)
        }
    }

    /// Waits for a line.
    func wait(for line: String) throws { try waitFor("'\(line)'") { read().contains(line) } }

    /// How often a line was received.
    func count(_ line: String) -> Int { read().count { $0 == line } }

    func forget() { received = [] }
}
