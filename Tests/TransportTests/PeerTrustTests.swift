// SPDX-License-Identifier: MIT
import Glibc
import HWDTransport
import Testing

@Suite("Listeners that a client trusts") struct PeerTrustTests {
    /// Whether user 1000 trusts the user who listens.
    private func trusts(
        _ peer: UInt32, socketOwner: UInt32? = nil, _ folders: (owner: UInt32, mode: UInt32)...
    ) -> Bool {
        PeerTrust.allows(
            peer: peer, own: 1000, socketOwner: socketOwner,
            folders: folders.map { PeerTrust.Folder(owner: $0.owner, mode: $0.mode) })
    }

    @Test(arguments: [UInt32(0), 1000])
    func rootAndTheUserAreTrustedWhereverTheyListen(_ peer: UInt32) {
        #expect(trusts(peer))
        #expect(trusts(peer, socketOwner: 1001, (0, 0o755), (1001, 0o777)))
    }

    @Test(arguments: [UInt32(1), 999, 1001, 65534, .max])
    func othersAreNotTrustedWithoutAFile(_ peer: UInt32) {
        #expect(!trusts(peer))
        #expect(!trusts(peer, socketOwner: peer))
    }

    @Test func whoAloneCanReplaceTheSocketIsTrusted() {
        #expect(trusts(998, socketOwner: 998, (0, 0o755), (0, 0o755), (998, 0o755)))
        #expect(trusts(998, socketOwner: 998, (0, 0o755), (998, 0o2710)))
        // The client's own folders are safe from others, too.
        #expect(trusts(998, socketOwner: 998, (0, 0o755), (1000, 0o700), (0, 0o755)))
    }

    @Test(arguments: [UInt32(0o775), 0o757, 0o777, 0o1777, 0o3770, 0o720, 0o702])
    func anyFolderThatOthersCanWriteIsNotTrusted(_ mode: UInt32) {
        #expect(!trusts(998, socketOwner: 998, (0, 0o755), (998, mode)))
        #expect(!trusts(998, socketOwner: 998, (0, mode), (998, 0o755)))
        #expect(!trusts(998, socketOwner: 998, (0, 0o755), (0, mode), (998, 0o700)))
    }

    @Test(arguments: [UInt32(1), 997, 65534])
    func foldersAndSocketsOfThirdUsersAreNotTrusted(_ third: UInt32) {
        #expect(!trusts(998, socketOwner: 998, (0, 0o755), (third, 0o755)))
        #expect(!trusts(998, socketOwner: 998, (third, 0o755), (998, 0o755)))
        #expect(!trusts(998, socketOwner: third, (0, 0o755), (998, 0o755)))
    }

    @Test func theUsersOwnListenerIsTrusted() throws {
        let folder = try temporaryDirectory()
        let path = "\(folder)/socket"
        defer {
            unlink(path)
            rmdir(folder)
        }
        let listener = try UnixSocket.listen(path: path)
        let abstract = try UnixSocket.listenAbstractAutobind()
        for address in [path, try UnixSocket.address(of: abstract.rawValue)] {
            let connection = try UnixSocket.connect(to: address)
            let stranger = try PeerTrust.stranger(at: address, connection)
            #expect(stranger == nil)
        }
        withExtendedLifetime((listener.rawValue, abstract.rawValue)) {}
    }

    /// How another user's listener is reached.
    enum Place: CaseIterable {
        case abstract, ownFolder, folderInTmp, folderOfAll, linkToOwnFolder
    }

    @Test(.enabled(if: getuid() == 0, "skipped: only root can become another user"), arguments: Place.allCases)
    func anotherUsersListenerIsTrustedInAFolderOfItsOwnOnly(_ place: Place) throws {
        // /run is root's and not writable by others; /tmp is.
        var template = Array("\(place == .folderInTmp ? "/tmp" : "/run")/transport-XXXXXX".utf8CString)
        let made = mkdtemp(&template) != nil
        try #require(made)
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let path = "\(folder)/socket"
        let link = "\(folder)-link"
        defer {
            unlink(link)
            unlink(path)
            rmdir(folder)
        }
        try #require(chown(folder, 65534, 65534) == 0)
        try #require(chmod(folder, place == .folderOfAll ? 0o777 : 0o755) == 0)
        try #require(symlink(folder, link) == 0)
        let bound = place == .abstract ? "@transport-test-\(getpid())" : path
        let other = try listen(bound, user: 65534)
        defer {
            try? other.kill(SIGKILL)
            _ = try? other.waitForExit()
        }
        let address = place == .linkToOwnFolder ? "\(link)/socket" : bound
        let connection = try connect(to: address)
        let stranger = try PeerTrust.stranger(at: address, connection)
        #expect(stranger == (place == .ownFolder ? nil : 65534))
    }

    /// Starts a process of another user that listens.
    private func listen(_ address: String, user: Int) throws -> ChildProcess {
        let script = """
            import os, socket, sys, time
            address, user = sys.argv[1], int(sys.argv[2])
            os.setgroups([]); os.setgid(user); os.setuid(user)
            s = socket.socket(socket.AF_UNIX); s.bind('\\0' + address[1:] if address[0] == '@' else address); s.listen(8)
            time.sleep(600)
            """
        return try ChildProcess(
            spawning: "/usr/bin/env", arguments: ["python3", "-c", script, address, "\(user)"])
    }

    /// Connects as soon as somebody listens.
    private func connect(to address: String) throws -> OwnedFD {
        let deadline = MonotonicTime.now + hangLimit
        while true {
            do throws(SystemError) { return try UnixSocket.connect(to: address) } catch {
                guard MonotonicTime.now < deadline else { throw error }
                usleep(10_000)
            }
        }
    }
}
