// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// A suite that runs `hwctl` with a daemon and files of its own.
protocol CommandSuite {
    var server: TestDaemon { get }
}

extension CommandSuite {
    /// A file in the daemon's folder.
    func path(_ name: String) -> String { server.folder.path(name) }

    /// Runs `hwctl`, which must end with a status.
    @discardableResult
    func hwctl(_ arguments: String..., status: Int32 = 0) throws -> Finished {
        let run = try Programs.hwctl(arguments, socket: server.socket)
        try #require(run.status == status, "\(arguments): \(run.errors)")
        return run
    }
}
