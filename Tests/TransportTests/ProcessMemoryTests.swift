// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import Testing

@testable import HWDTransport

@Suite struct ProcessMemoryTests {
    @Test func parsesPagesAsBytes() {
        let page = UInt64(sysconf(Int32(_SC_PAGESIZE)))
        #expect(
            ProcessMemory.parse(Array("5000 300 100 20 0 700 0\n".utf8))
                == ProcessMemory.Reading(resident: 200 * page, data: 700 * page))
        for text in ["", "1 2 3 4 5", "1 2 3 4 5 99999999999999999999", "x"] {
            #expect(ProcessMemory.parse(Array(text.utf8)) == nil, "\(text)")
        }
        #expect(ProcessMemory.parse(Array("1 2 3 4 5 6 7".utf8))?.resident == 0, "fewer resident than shared pages")
    }

    @Test("Memory that is written to counts, reserved memory only as data")
    func growth() throws {
        let memory = try ProcessMemory()
        let size = 64 << 20
        let before = try #require(memory.reading)
        let block = try #require(
            mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        try #require(block != MAP_FAILED)
        defer { munmap(block, size) }
        let reserved = try #require(memory.reading)
        #expect(reserved.data >= before.data + UInt64(size) / 2)
        memset(block, 1, size)
        let touched = try #require(memory.reading)
        #expect(touched.resident >= reserved.resident + UInt64(size) / 2)
    }

    @Test("The pages of a memfd count once they are written to")
    func sharedPages() throws {
        let memory = try SharedMemory(creating: "test", size: 1 << 20)
        #expect(memory.allocatedBytes == 0)
        try #require(memory.mutableBytes)[5000] = 1
        #expect(memory.allocatedBytes > 0 && memory.allocatedBytes < 1 << 20)
        memset(try #require(memory.mutableBytes?.baseAddress), 1, 1 << 20)
        #expect(memory.allocatedBytes == 1 << 20)
    }

    @Test("The private memory of a child is limited from outside, and the limit can be raised")
    func limit() throws {
        let child = try ChildProcess(spawning: "/bin/sleep", arguments: ["30"])
        defer {
            try? child.kill(SIGKILL)
            _ = try? child.waitForExit()
        }
        func softLimit() throws -> Substring? {
            let text = try String(contentsOfFile: "/proc/\(child.pid)/limits", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("Max data size") })
            return line.dropFirst("Max data size".count).split(separator: " ").first
        }
        try child.limitPrivateMemory(to: 100 << 20)
        #expect(try softLimit() == "104857600")
        try child.limitPrivateMemory(to: 200 << 20)
        #expect(try softLimit() == "209715200")
        try child.kill(SIGKILL)
        _ = try child.waitForExit()
        try child.limitPrivateMemory(to: 1)
    }
}
