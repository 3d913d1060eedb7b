// SPDX-License-Identifier: MIT
import Glibc
import HWDSystem
import HWDTransport
import Testing

@Suite("Sockets of private daemons") struct PrivateSocketTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try temporaryDirectory()
        defer {
            for name in (try? Directory.names(in: folder)) ?? [] { unlink("\(folder)/\(name)") }
            rmdir(folder)
        }
        try body(folder)
    }

    /// The address at which a private daemon of this user would listen.
    private func address(in folder: String?) throws -> String {
        let listener = try PrivateSocket.listen(in: folder)
        let address = try UnixSocket.address(of: listener.rawValue)
        let connection = try UnixSocket.connect(to: address)
        let stranger = try PeerTrust.stranger(at: address, connection)
        #expect(stranger == nil)
        withExtendedLifetime(listener.rawValue) {}
        return address
    }

    @Test func areInAFolderThatNoOtherUserCanEnter() throws {
        try withFolder { folder in
            let first = try address(in: folder)
            #expect(first.hasPrefix("\(folder)/hwdaemon-private-") && first.hasSuffix(".sock"))
            #expect(try address(in: folder) != first)
            #expect(try Directory.names(in: folder).count == 2)
        }
    }

    @Test(arguments: [mode_t(0o750), 0o705, 0o710, 0o701, 0o777, 0o1777])
    func areAbstractWhereOthersCanEnterTheFolder(_ mode: mode_t) throws {
        try withFolder { folder in
            try #require(chmod(folder, mode) == 0)
            #expect(try address(in: folder).hasPrefix("@"))
            #expect(try Directory.names(in: folder).isEmpty)
        }
    }

    @Test func areAbstractWithoutAFolder() throws {
        try withFolder { folder in
            close(open("\(folder)/file", O_CREAT | O_WRONLY, 0o600))
            let long = folder + String(repeating: "/.", count: 50)
            let places: [String?] = [nil, "", ".", "/nonexistent", "\(folder)/file", long]
            for place in places {
                let address = try address(in: place)
                #expect(address.hasPrefix("@"), "\(place ?? "none")")
            }
        }
    }

    @Test(.enabled(if: getuid() == 0, "skipped: only root can give a folder away"))
    func areAbstractInAnotherUsersFolder() throws {
        try withFolder { folder in
            try #require(chown(folder, 65534, 65534) == 0)
            #expect(try address(in: folder).hasPrefix("@"))
        }
    }

    @Test func staleOnesAreRemovedAndNothingElse() throws {
        try withFolder { folder in
            let stale = [try address(in: folder), try address(in: folder)]
            let own = try PrivateSocket.listen(in: folder)
            let neighbor = try PrivateSocket.listen(in: folder)
            let names = ["hwdaemon-private-file.sock", "hwdaemon-private-1", "other.sock"]
            let others = names.map { "\(folder)/\($0)" }
            close(open(others[0], O_CREAT | O_WRONLY, 0o600))
            for path in others.dropFirst() { _ = try UnixSocket.listen(path: path) }
            let path = try UnixSocket.address(of: own.rawValue)
            let kept = [path, try UnixSocket.address(of: neighbor.rawValue)] + others
            PrivateSocket.removeStale(beside: path, names: try Directory.names(in: folder))
            #expect(stale.allSatisfy { access($0, F_OK) != 0 })
            #expect(kept.allSatisfy { access($0, F_OK) == 0 })
            withExtendedLifetime((own.rawValue, neighbor.rawValue)) {}
        }
    }

    @Test func aSocketThatDoesNotListenYetIsNotRemoved() throws {
        try withFolder { folder in
            let path = try address(in: folder)
            let other = try address(in: folder)
            // As the client that has bound it does.
            let lock = OwnedFD(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
            try #require(flock(lock.rawValue, LOCK_SH) == 0)
            PrivateSocket.removeStale(beside: other, names: try Directory.names(in: folder))
            #expect(access(path, F_OK) == 0)
            // And while a daemon removes them, none is bound.
            try #require(flock(lock.rawValue, LOCK_EX) == 0)
            #expect(try address(in: folder).hasPrefix("@"))
            try #require(flock(lock.rawValue, LOCK_UN) == 0)
            PrivateSocket.removeStale(beside: other, names: try Directory.names(in: folder))
            #expect(access(path, F_OK) != 0)
        }
    }
}
