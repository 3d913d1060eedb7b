// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import Foundation
import Glibc
import HWDControlCommands
import HWDPortal
import Testing

/// A folder that is removed with this object.
private final class Folder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/portal-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func token(_ kind: String) throws -> RestoreToken {
        try #require(RestoreToken(kind) { $0 == "XDG_STATE_HOME" ? "\(self.path)/state" : nil })
    }
}

/// nil where there is no file.
private func permissions(of path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
}

struct RestoreTokenTests {
    @Test func isKeptForOneKindAndOneUser() throws {
        let folder = try Folder()
        let token = try folder.token("screen")
        #expect(token.read() == nil)
        #expect(token.write("0b2a-é") == nil)
        let read = try #require(try folder.token("screen").read())
        #expect(read == "0b2a-é")
        #expect(try folder.token("window").read() == nil)
        #expect(permissions(of: token.path) == 0o600)
    }

    @Test func replacesWithoutWideningPermissions() throws {
        let folder = try Folder()
        let token = try folder.token("screen")
        #expect(token.write("one") == nil)
        #expect(chmod(token.path, 0o666) == 0)
        #expect(token.write("two") == nil)
        #expect(permissions(of: token.path) == 0o600)
        let read = try #require(token.read())
        #expect(read == "two")
        #expect(token.write(nil) == nil)
        #expect(!FileManager.default.fileExists(atPath: token.path))
    }

    @Test func leavesTheTargetOfALink() throws {
        let folder = try Folder()
        let token = try folder.token("screen")
        #expect(token.write("one") == nil)
        let other = folder.path + "/other"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: other))
        try FileManager.default.removeItem(atPath: token.path)
        try FileManager.default.createSymbolicLink(atPath: token.path, withDestinationPath: other)
        #expect(token.write("two") == nil)
        #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == Data("mine".utf8))
        let read = try #require(token.read())
        #expect(read == "two")
    }

    @Test(arguments: ["", "a\nb", "a b", "a\u{0}b", String(repeating: "x", count: 4097)])
    func otherTextsAreNoTokens(text: String) throws {
        let folder = try Folder()
        let token = try folder.token("screen")
        #expect(token.write("one") == nil)
        #expect(token.write(text) != nil)
        #expect(token.read() == nil)
        try Data(text.utf8).write(to: URL(fileURLWithPath: token.path))
        #expect(token.read() == nil)
    }

    @Test func otherBytesAreNoToken() throws {
        let folder = try Folder()
        let token = try folder.token("screen")
        #expect(token.write("one") == nil)
        try Data([0x61, 0xFF]).write(to: URL(fileURLWithPath: token.path))
        #expect(token.read() == nil)
    }

    @Test func followsTheVariables() throws {
        let home = try #require(RestoreToken("window") { ["HOME": "/home/alice", "XDG_STATE_HOME": "state"][$0] })
        #expect(home.path == "/home/alice/.local/state/hwdaemon/screencast-window")
        let state = try #require(RestoreToken("window") { ["HOME": "/home/alice", "XDG_STATE_HOME": "/s"][$0] })
        #expect(state.path == "/s/hwdaemon/screencast-window")
        #expect(RestoreToken("window") { _ in nil } == nil)
    }

    @Test func aFolderThatCannotBeCreatedIsAReason() throws {
        let folder = try Folder()
        try Data().write(to: URL(fileURLWithPath: folder.path + "/state"))
        let reason = try #require(try folder.token("screen").write("one"))
        #expect(reason.contains("/state/hwdaemon/screencast-screen cannot be created"))
    }
}

struct CursorOptionTests {
    @Test func areForScreensAndWindows() throws {
        let arguments = try CaptureArguments.parse(
            ["--source", "window", "--cursor", "hidden", "--choose", "a.mov"])
        #expect(arguments.cursor == .hidden)
        #expect(arguments.choose)
        for options in [["--cursor", "hidden"], ["--choose"]] {
            let error = #expect(throws: (any Error).self) {
                try CaptureArguments.parse(["--source", "test", "a.mov"] + options)
            }
            let message = CaptureArguments.message(for: try #require(error))
            #expect(message.contains("is for the sources screen and window"))
        }
    }
}
