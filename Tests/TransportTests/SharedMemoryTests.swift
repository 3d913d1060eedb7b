// SPDX-License-Identifier: MIT
import CHWDLinux
import Glibc
import HWDModel
import HWDSystem
import HWDTransport
import Synchronization
import Testing

@Suite struct SharedMemoryTests {
    private func receive(
        _ fd: consuming OwnedFD, minimum: Int = 1, maximum: Int = 1 << 20,
        access: SharedMemory.Access = .readOnly
    ) throws(SessionError) -> SharedMemory {
        try SharedMemory(receiving: fd, minSize: minimum, maxSize: maximum, access: access)
    }

    private func refusal(_ body: () throws(SessionError) -> SharedMemory) -> SessionError? {
        do throws(SessionError) {
            _ = try body()
            return nil
        } catch {
            return error
        }
    }

    @Test func sharesBytesBetweenBothSides() throws {
        let ours = try SharedMemory(creating: "pool", size: 10_000)
        let theirs = try receive(try ours.file.duplicate(), minimum: 10_000, access: .readWrite)
        ours.mutableBytes?[9_999] = 42
        #expect(theirs.bytes[9_999] == 42)
        theirs.mutableBytes?[0] = 7
        #expect(ours.bytes[0] == 7)
        #expect(theirs.size == 10_000)
    }

    @Test func sealedFileKeepsItsSizeAndSeals() throws {
        let memory = try SharedMemory(creating: "pool", size: 4096)
        for size in [0, 1, 4095, 4097] {
            #expect(ftruncate(memory.file.rawValue, size) == -1)
            #expect(errno == EPERM)
        }
        #expect(chwd_add_seals(memory.file.rawValue, Int32(CHWD_SEAL_WRITE)) == -EPERM)
    }

    /// In a process of its own: the limit holds for a whole process, and the signal would end it.
    @Test func isNotLargerThanTheLimitOfFileSizes() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_DFL)
            for (limit, size) in [(1 << 20, 1 << 21), (4096, 4097), (1, 4096)] {
                try ProcessControl.limit(.fileSize, soft: UInt64(limit), hard: 1 << 30)
                let error = #expect(throws: SystemError.self) {
                    _ = try SharedMemory(creating: "pool", size: size)
                }
                #expect(error?.errno == EFBIG && error?.description.contains("RLIMIT_FSIZE") == true)
                _ = try SharedMemory(creating: "pool", size: limit)
            }
            #expect(try ProcessControl.raiseLimit(.fileSize) == 1 << 30)
            _ = try SharedMemory(creating: "pool", size: 1 << 21)
        }
    }

    @Test func mapsAFileShrunkBeforeSealingAtItsFinalSizeOrNotAtAll() throws {
        let number = Atomic<Int32>(-1)
        let shrinker = try Thread.spawn(name: "shrinker") {
            while true {
                let file = number.load(ordering: .acquiring)
                if file == -2 { return }
                guard file >= 0 else { continue }
                _ = ftruncate(file, 0)
                _ = chwd_add_seals(file, Int32(CHWD_SEAL_SHRINK))
                number.store(-1, ordering: .releasing)
            }
        }
        defer {
            number.store(-2, ordering: .releasing)
            shrinker.join()
        }
        for round in 0..<5000 {
            let file = OwnedFD(chwd_memfd_create("pool"))
            try #require(ftruncate(file.rawValue, 1 << 16) == 0)
            let copy = try file.duplicate()
            number.store(file.rawValue, ordering: .releasing)
            for _ in 0..<(round % 64) { _ = number.load(ordering: .relaxed) }
            let taken = try? receive(copy)
            while number.load(ordering: .acquiring) != -1 {}
            var status = stat()
            try #require(fstat(file.rawValue, &status) == 0)
            // Reading a byte past the file's end would raise SIGBUS.
            if let taken { #expect(taken.size == Int(status.st_size)) }
        }
    }

    @Test func arenaIsReadOnlyToOthers() throws {
        let arena = try SharedMemory(creating: "arena", size: 4096, readOnlyToOthers: true)
        arena.mutableBytes?[5] = 1
        let reader = try receive(try arena.file.duplicate())
        #expect(reader.bytes[5] == 1)
        #expect(reader.mutableBytes == nil)
        let refused = refusal { () throws(SessionError) in
            try receive(OwnedFD(fcntl(arena.file.rawValue, F_DUPFD_CLOEXEC, 0)), access: .readWrite)
        }
        #expect(refused?.status == .parameter)
        // The kernel enforces it for callers that do not use this class.
        let mapped = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, arena.file.rawValue, 0)
        #expect(mapped == MAP_FAILED)
        var byte: UInt8 = 9
        #expect(pwrite(arena.file.rawValue, &byte, 1, 0) == -1)
    }

    @Test func refusesUnsealedMemfds() throws {
        let file = try memfd(4096)
        let number = file.rawValue
        let refused = refusal { () throws(SessionError) in try receive(OwnedFD(fcntl(number, F_DUPFD_CLOEXEC, 0))) }
        #expect(refused?.status == .parameter)
        #expect(refused?.reason.contains("F_SEAL_SHRINK") == true)
        // Sealed against growing only is not enough.
        #expect(chwd_add_seals(number, Int32(CHWD_SEAL_GROW)) == 0)
        #expect(
            refusal { () throws(SessionError) in try receive(OwnedFD(fcntl(number, F_DUPFD_CLOEXEC, 0))) }?.status
                == .parameter)
    }

    @Test(arguments: [(0, 1), (4095, 4096), (1 << 20 + 1, 1)])
    func refusesSizesOutOfRange(_ size: Int, _ minimum: Int) throws {
        let file = try memfd(size)
        #expect(chwd_add_seals(file.rawValue, Int32(CHWD_SEAL_SHRINK)) == 0)
        let number = file.rawValue
        let refused = refusal { () throws(SessionError) in
            try receive(OwnedFD(fcntl(number, F_DUPFD_CLOEXEC, 0)), minimum: minimum)
        }
        #expect(refused?.status == .parameter)
    }

    @Test(arguments: [Program.path, "/dev/null", "/", "/dev/zero"])
    func refusesOtherFiles(_ path: String) throws {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        try #require(number >= 0)
        let refused = refusal { () throws(SessionError) in try receive(OwnedFD(number)) }
        #expect(refused?.status == .parameter)
        #expect(refused?.reason.contains("memfd") == true)
    }

    @Test func refusesSocketsAndReadOnlyDescriptors() throws {
        let pair = try UnixSocket.pair()
        let socket = pair.first.rawValue
        #expect(
            refusal { () throws(SessionError) in try receive(OwnedFD(fcntl(socket, F_DUPFD_CLOEXEC, 0))) }?.status
                == .parameter)
        let memory = try SharedMemory(creating: "pool", size: 4096)
        let readOnly = open("/proc/self/fd/\(memory.file.rawValue)", O_RDONLY | O_CLOEXEC)
        try #require(readOnly >= 0)
        let refused = refusal { () throws(SessionError) in try receive(OwnedFD(readOnly), access: .readWrite) }
        #expect(refused?.status == .parameter)
    }

    @Test func leavesNothingOpenOrMapped() async {
        await #expect(processExitsWith: .success) {
            func mappings() throws -> Int {
                let file = try #require(fopen("/proc/self/maps", "r"))
                defer { fclose(file) }
                var line = [CChar](repeating: 0, count: 4096)
                var count = 0
                while fgets(&line, Int32(line.count), file) != nil {
                    count += strstr(line, "memfd:leak") != nil ? 1 : 0
                }
                return count
            }
            let before = openFileCount()
            for round in 0..<200 {
                let memory = try SharedMemory(creating: "leak", size: 8192, readOnlyToOthers: true)
                let access: SharedMemory.Access = round % 2 == 0 ? .readOnly : .readWrite
                _ = try? SharedMemory(
                    receiving: try memory.file.duplicate(), maxSize: round % 3 == 0 ? 1 : 8192, access: access)
            }
            #expect(openFileCount(settlingTo: before) <= before)
            #expect(try mappings() == 0)
        }
    }
}

@Suite struct StatsPageTests {
    @Test func brokerReadsTheWorkersCounters() throws {
        let broker = try StatsPage()
        #expect(broker[.magic] == 0)
        let worker = try StatsPage(receiving: try OwnedFD.duplicate(broker.fileDescriptor))
        #expect(broker[.magic] == StatsPage.magic)
        worker.set(.width, 1920)
        worker.add(.bytesOut, 40)
        worker.add(.bytesOut, 2)
        #expect(broker[.width] == 1920)
        #expect(broker[.bytesOut] == 42)
        // The broker's mapping is read-only; a write has no effect.
        broker.set(.width, 1)
        broker.add(.bytesOut, 1)
        #expect(worker[.width] == 1920 && worker[.bytesOut] == 42)
    }

    @Test func addsAtomicallyFromManyThreads() throws {
        let broker = try StatsPage()
        let worker = try StatsPage(receiving: try OwnedFD.duplicate(broker.fileDescriptor))
        let threads = try (0..<4).map { index in
            try Thread.spawn(name: "adder\(index)") { for _ in 0..<10_000 { worker.add(.framesIn, 1) } }
        }
        for thread in threads { thread.join() }
        #expect(broker[.framesIn] == 40_000)
    }

    @Test func countersDoNotOverlap() throws {
        let broker = try StatsPage()
        let worker = try StatsPage(receiving: try OwnedFD.duplicate(broker.fileDescriptor))
        for counter in StatsPage.Counter.allCases { worker.set(counter, UInt64(counter.rawValue) + 100) }
        for counter in StatsPage.Counter.allCases { #expect(broker[counter] == UInt64(counter.rawValue) + 100) }
    }

    @Test func refusesPagesOfAnotherSize() throws {
        for size in [8, 4095, 4097, 8192] {
            let memory = try SharedMemory(creating: "page", size: size)
            #expect(throws: SessionError.self) { try StatsPage(receiving: try memory.file.duplicate()) }
        }
    }
}
