// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import HWDSystem

/// A directory of outputs, removed with the object.
private final class Outputs {
    let root: String

    init() throws { root = try temporaryDirectory() }
    deinit { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    func put(_ text: String, _ names: String...) throws {
        for name in names { try Data(text.utf8).write(to: URL(filePath: path(name))) }
    }

    /// What is in it, hidden files and folders too.
    var contents: [String: String] {
        get throws {
            var contents: [String: String] = [:]
            for name in try Directory.names(in: root) {
                let type = try FileManager.default.attributesOfItem(atPath: path(name))[.type] as? FileAttributeType
                contents[name] =
                    type == .typeRegular ? try String(contentsOfFile: path(name), encoding: .utf8) : "no file"
            }
            return contents
        }
    }
}

/// Writes a file's contents.
private func fill(_ file: AtomicFile, _ text: String = "new") throws {
    let error = Array(text.utf8).withUnsafeBytes { PositionedIO.write(file.descriptor, $0, at: 0) }
    try #require(error == 0)
    try file.complete(sync: false)
}

/// Files that get their names together.
@Suite struct FileGroupTests {
    private static let names = ["a", "b", "c"]

    /// A group whose files are complete.
    private func group(_ outputs: Outputs, replaces: Bool = true) throws -> FileGroup {
        let group = FileGroup(replaces: replaces)
        for name in Self.names { try fill(try group.file(outputs.path(name))) }
        return group
    }

    @Test func filesAppearTogether() throws {
        let outputs = try Outputs()
        try outputs.put("before", "b", "other")
        let group = try group(outputs)
        #expect(try outputs.contents.filter { !$0.key.hasPrefix(".") } == ["b": "before", "other": "before"])
        try group.complete()
        #expect(try outputs.contents == ["a": "new", "b": "new", "c": "new", "other": "before"])
    }

    @Test func aReleasedGroupLeavesWhatWasThere() throws {
        let outputs = try Outputs()
        try outputs.put("before", "a", "c")
        _ = try group(outputs)
        #expect(try outputs.contents == ["a": "before", "c": "before"])
    }

    @Test(arguments: [true, false])
    func aFileThatCannotGetItsNameTakesThoseOfAll(_ replaces: Bool) throws {
        let outputs = try Outputs()
        if replaces { try outputs.put("before", "a") }
        let group = try group(outputs, replaces: replaces)
        // A directory cannot be replaced, and without `replaces` nothing is.
        if replaces { mkdir(outputs.path("c"), 0o700) } else { try outputs.put("before", "c") }
        do throws(AtomicFile.Failure) {
            try group.complete()
            Issue.record("the group is complete")
        } catch { #expect(error.kind == .cannotCreate && error.reason.hasPrefix(outputs.path("c"))) }
        #expect(try outputs.contents == (replaces ? ["a": "before", "c": "no file"] : ["c": "before"]))
    }

    @Test func oneNameIsForOneFile() throws {
        let outputs = try Outputs()
        let group = FileGroup()
        _ = try group.file(outputs.path("a"))
        do throws(AtomicFile.Failure) {
            _ = try group.file("\(outputs.root)/./a")
            Issue.record("a name was taken twice")
        } catch { #expect(error.kind == .usage) }
    }

    @Test func filesOfSeveralDirectoriesAppearTogether() throws {
        let (first, second) = (try Outputs(), try Outputs())
        let group = FileGroup()
        for outputs in [first, second] { try fill(try group.file(outputs.path("a"))) }
        mkdir(second.path("a"), 0o700)
        #expect(throws: AtomicFile.Failure.self) { try group.complete() }
        #expect(try first.contents.isEmpty)
    }

    @Test func permissionsOfReplacedFilesStay() throws {
        let outputs = try Outputs()
        try outputs.put("before", "b")
        chmod(outputs.path("b"), 0o640)
        try group(outputs).complete()
        var status = stat()
        stat(outputs.path("b"), &status)
        #expect(status.st_mode & 0o777 == 0o640)
    }

    /// Ends this process within a group: before the files have their names, or when the last one has just got its own.
    static func die(in root: String, isPlaced: Bool) throws {
        let folder = try StagingFolder(try AtomicFile.Target("\(root)/a"))
        for name in names { try fill(try folder.file(try AtomicFile.Target("\(root)/\(name)"), [])) }
        if isPlaced { try folder.place(replaces: true) }
        withExtendedLifetime(folder) { _ = kill(getpid(), SIGKILL) }
    }

    @Test(arguments: [false, true])
    func theNextOutputUndoesWhatAKilledProcessBegan(_ isPlaced: Bool) async throws {
        let outputs = try Outputs()
        try outputs.put("before", "a", "c")
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [root = outputs.root as String, isPlaced = isPlaced as Bool] in
            try FileGroupTests.die(in: root, isPlaced: isPlaced)
        }
        let left = try outputs.contents
        #expect(left.keys.contains { $0.hasPrefix(".a") } && left["b"] == (isPlaced ? "new" : nil))
        _ = try AtomicFile(outputs.path("next"))
        #expect(try outputs.contents == ["a": "before", "c": "before"])
    }

    @Test func whatWasChangedSinceThenStays() async throws {
        let outputs = try Outputs()
        try outputs.put("before", "a", "c")
        await #expect(processExitsWith: .signal(SIGKILL)) { [root = outputs.root as String] in
            try FileGroupTests.die(in: root, isPlaced: true)
        }
        unlink(outputs.path("a"))
        try outputs.put("later", "later")
        rename(outputs.path("later"), outputs.path("b"))
        _ = try AtomicFile(outputs.path("next"))
        #expect(try outputs.contents == ["a": "before", "b": "later", "c": "before"])
    }

    @Test(arguments: ["a", "b"])
    func whatWasModifiedInPlaceStays(_ name: String) async throws {
        let outputs = try Outputs()
        try outputs.put("before", "a", "c")
        await #expect(processExitsWith: .signal(SIGKILL)) { [root = outputs.root as String] in
            try FileGroupTests.die(in: root, isPlaced: true)
        }
        let file = open(outputs.path(name), O_WRONLY | O_APPEND | O_CLOEXEC)
        try #require(write(file, "er", 2) == 2)
        close(file)
        _ = try AtomicFile(outputs.path("next"))
        let expected = ["a": "before", "c": "before"].merging([name: "newer"]) { $1 }
        #expect(try outputs.contents == expected)
    }
}

/// Hidden files and folders of processes that were killed.
@Suite struct LeftoverTests {
    private static let folder = ".x\(Leftovers.folderMark)abcdef"
    private static let file = "\(Leftovers.filePrefix)1\(Leftovers.fileSuffix)"

    @Test func deadOnesAreRemoved() throws {
        let outputs = try Outputs()
        mkdir(outputs.path(Self.folder), 0o700)
        mkdir(outputs.path("\(Self.folder)/new"), 0o700)
        try outputs.put("part", Self.file, "\(Self.folder)/part", "\(Self.folder)/new/part")
        try outputs.put("", "\(Self.folder)/\(Leftovers.ownershipName)")
        _ = try AtomicFile(outputs.path("next"))
        #expect(try outputs.contents.isEmpty)
    }

    @Test func thoseOfLivingOwnersStay() throws {
        let outputs = try Outputs()
        let folder = try HiddenFolder(beside: outputs.path("out"))
        try outputs.put("part", Self.file)
        let file = open(outputs.path(Self.file), O_RDWR | O_CLOEXEC)
        defer { close(file) }
        #expect(OwnerLock.take(file))
        _ = try AtomicFile(outputs.path("next"))
        #expect(try outputs.contents.count == 2)
        folder.remove()
        #expect(try outputs.contents == [Self.file: "part"])
    }

    @Test func nothingElseIsRemoved() throws {
        let (outputs, others) = (try Outputs(), try Outputs())
        try others.put("kept", "kept")
        // Others can write in it, so it is nobody's hidden folder.
        mkdir(outputs.path(Self.folder), 0o700)
        chmod(outputs.path(Self.folder), 0o777)
        symlink(others.root, outputs.path(".y\(Leftovers.folderMark)abcdef"))
        symlink(others.path("kept"), outputs.path(Self.file))
        mkfifo(outputs.path("\(Leftovers.filePrefix)2\(Leftovers.fileSuffix)"), 0o600)
        mkdir(outputs.path(".x.hwd-parts-other-abcdef"), 0o700)
        try outputs.put("kept", ".hwd-other-1.tmp", ".hwd", "x\(Leftovers.folderMark)abcdef", ".x.parts-abcdef")
        let before = try outputs.contents
        #expect(before.count == 9)
        _ = try AtomicFile(outputs.path("next"))
        #expect(try outputs.contents == before && others.contents == ["kept": "kept"])
    }

    /// Who can write in a directory can rename the folders of others there.
    @Test(arguments: [mode_t(0o700), 0o750, 0o755])
    func foldersThatWereRenamedKeepTheirContents(_ mode: mode_t) throws {
        let outputs = try Outputs()
        mkdir(outputs.path("private"), 0o700)
        mkdir(outputs.path("private/new"), 0o700)
        chmod(outputs.path("private"), mode)
        try outputs.put("kept", "private/kept", "private/placing", "private/new/kept")
        rename(outputs.path("private"), outputs.path(Self.folder))
        _ = try AtomicFile(outputs.path("next"))
        for name in ["kept", "placing", "new/kept"] {
            #expect(FileManager.default.fileExists(atPath: outputs.path("\(Self.folder)/\(name)")), "\(name)")
        }
    }

    @Test func linksInADeadFolderAreNotFollowed() throws {
        let (outputs, others) = (try Outputs(), try Outputs())
        try others.put("kept", "kept")
        mkdir(outputs.path(Self.folder), 0o700)
        symlink(others.root, outputs.path("\(Self.folder)/new"))
        symlink(others.root, outputs.path("\(Self.folder)/old"))
        try outputs.put("", "\(Self.folder)/placing", "\(Self.folder)/\(Leftovers.ownershipName)")
        _ = try AtomicFile(outputs.path("next"))
        #expect(try outputs.contents.isEmpty && others.contents == ["kept": "kept"])
    }
}
