// SPDX-License-Identifier: MIT
import Glibc
import HWDTransport
import Testing

@Suite struct WorkQueueTests {
    @Test func keepsOrderAndRefusesWhenFull() {
        let queue = WorkQueue<Int>(capacity: 3)
        for round in 0..<5 {
            for element in 0..<3 { #expect(queue.push(round * 3 + element)) }
            #expect(!queue.push(99))
            #expect(queue.count == 3)
            for element in 0..<3 { #expect(queue.pop(timeout: .zero).value == round * 3 + element) }
        }
        #expect(queue.pop(timeout: .zero).value == nil)
    }

    @Test("An element may join the newest one that waits, also in a full queue")
    func merges() {
        let queue = WorkQueue<[Int]>(capacity: 2)
        let joinsOdd: (Int) -> (inout [Int]) -> Bool = { element in
            { newest in
                guard element % 2 == 1 else { return false }
                newest.append(element)
                return true
            }
        }
        #expect(queue.push([1], merge: joinsOdd(1)))
        #expect(queue.push([2], merge: joinsOdd(2)))
        #expect(queue.push([3], merge: joinsOdd(3)))
        #expect(!queue.push([4], merge: joinsOdd(4)))
        #expect(queue.count == 2)
        #expect(queue.pop(timeout: .zero).value == [1])
        #expect(queue.pop(timeout: .zero).value == [2, 3])
        queue.close()
        #expect(!queue.push([5], merge: joinsOdd(5)))
    }

    @Test func popWaitsForAnotherThread() throws {
        let queue = WorkQueue<Int>(capacity: 4)
        let total = 5_000
        let producer = try Thread.spawn(name: "producer") {
            for element in 0..<total { while !queue.push(element) { sched_yield() } }
            queue.close()
        }
        var next = 0
        while case .element(let element) = queue.pop() {
            guard element == next else { break }
            next += 1
        }
        producer.join()
        #expect(next == total)
    }

    @Test func popEndsAtTheTimeout() {
        let queue = WorkQueue<Int>(capacity: 1)
        let start = MonotonicTime.now
        guard case .timedOut = queue.pop(timeout: .milliseconds(40)) else {
            Issue.record("no timeout")
            return
        }
        let waited = MonotonicTime.now.nanoseconds(since: start)
        #expect(waited >= 40_000_000)
    }

    @Test func closeDrainsTheQueueAndWakesWaiters() throws {
        let queue = WorkQueue<Int>(capacity: 4)
        #expect(queue.push(1))
        queue.close()
        #expect(!queue.push(2))
        #expect(queue.pop().value == 1)
        guard case .closed = queue.pop() else {
            Issue.record("not closed")
            return
        }
        let waited = WorkQueue<Int>(capacity: 1)
        let started = WorkQueue<Int32>(capacity: 3)
        let threads = try (0..<3).map { index in
            try Thread.spawn(name: "waiter\(index)") {
                _ = started.push(currentThread())
                guard case .closed = waited.pop() else {
                    Issue.record("not closed")
                    return
                }
            }
        }
        for _ in threads { waitUntilAsleep(try #require(started.pop(timeout: hangLimit).value)) }
        waited.close()
        for thread in threads { thread.join() }
    }

    @Test func removesAllElements() {
        let queue = WorkQueue<Int>(capacity: 4)
        for element in 0..<4 { #expect(queue.push(element)) }
        #expect(queue.pop().value == 0)
        #expect(queue.push(4))
        #expect(queue.removeAll() == [1, 2, 3, 4])
        #expect(queue.count == 0)
    }

    @Test func releasesElements() {
        final class Token: Sendable {}
        let queue = WorkQueue<Token>(capacity: 2)
        weak var seen: Token?
        do {
            let token = Token()
            seen = token
            #expect(queue.push(token))
        }
        #expect(seen != nil)
        _ = queue.pop()
        #expect(seen == nil)
    }
}

extension WorkQueue.Popped {
    fileprivate var value: Element? { if case .element(let element) = self { element } else { nil } }
}

@Suite struct ThreadAndTimeTests {
    @Test func threadHasNameAndStackSize() throws {
        let results = WorkQueue<String>(capacity: 2)
        let thread = try Thread.spawn(name: "hwd-codec", stackSize: 8 << 20) {
            var name = [UInt8](repeating: 0, count: 16)
            let comm = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
            let count = read(comm, &name, 16)
            close(comm)
            // Four megabytes on the stack, more than the smallest default stack size.
            let sum = withUnsafeTemporaryAllocation(byteCount: 4 << 20, alignment: 16) { bytes in
                bytes.initializeMemory(as: UInt8.self, repeating: 1)
                return bytes.reduce(0) { $0 &+ Int($1) }
            }
            _ = results.push(String(decoding: name.prefix(max(0, count - 1)), as: UTF8.self))
            _ = results.push("\(sum)")
        }
        thread.join()
        thread.join()
        #expect(results.removeAll() == ["hwd-codec", "\(4 << 20)"])
    }

    @Test func deadlinesStayInRange() {
        let time = MonotonicTime(nanoseconds: 5_000)
        #expect((time + .nanoseconds(7)).nanoseconds == 5_007)
        #expect((time + .nanoseconds(-7)).nanoseconds == 4_993)
        #expect((time + .seconds(-1)).nanoseconds == 0)
        #expect((time + .seconds(Int64.max)).nanoseconds == .max)
        #expect((time + .seconds(Int64.min)).nanoseconds == 0)
        #expect((MonotonicTime(nanoseconds: .max) + .seconds(1)).nanoseconds == .max)
        #expect(time.nanoseconds(since: MonotonicTime(nanoseconds: 6_000)) == 0)
        #expect(MonotonicTime.now <= MonotonicTime.now)
    }

    @Test func describesErrors() {
        let error = SystemError(errno: ENOENT, call: "connect", subject: "/run/x")
        #expect(error.description == "connect /run/x: No such file or directory (errno 2)")
        #expect(SystemError(errno: 9999, call: "x").description == "x: unknown error (errno 9999)")
        #expect(TransportError(SystemError(errno: EPIPE, call: "sendmsg")).code == .closed)
    }
}
