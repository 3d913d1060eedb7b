// SPDX-License-Identifier: MIT
import Glibc
import HWDSystem
import Testing

@Suite struct DirectoryTests {
    @Test func listsNamesWithoutDotEntries() throws {
        let folder = try temporaryDirectory()
        defer { rmdir(folder) }
        let names = ["a.conf", ".hidden", String(repeating: "n", count: 255)]
        for name in names { close(open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)) }
        defer { for name in names { unlink("\(folder)/\(name)") } }
        #expect(Set(try Directory.names(in: folder)) == Set(names))
        #expect(try Directory.names(in: folder, limit: 2).count == 2)
    }

    @Test func reportsWhyADirectoryCannotBeRead() throws {
        #expect(throws: Directory.Failure.self) { try Directory.names(in: Program.path) }
        do throws(Directory.Failure) {
            _ = try Directory.names(in: "\(Program.folder)/none/such")
            Issue.record("a directory that does not exist was read")
        } catch { #expect(error.errno == ENOENT) }
    }

    /// In a separate process, because setenv(3) is not safe beside threads that read the environment.
    @Test func readsTheEnvironment() async {
        await #expect(processExitsWith: .success) {
            #expect(Environment.value("PATH") != nil)
            setenv("HWDAEMON_TEST_EMPTY", "", 1)
            #expect(Environment.value("HWDAEMON_TEST_EMPTY") == nil)
            #expect(Environment.value("HWDAEMON_TEST_UNSET") == nil)
        }
    }
}
