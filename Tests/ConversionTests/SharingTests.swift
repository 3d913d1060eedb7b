// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import Foundation
import Glibc
import HWDColor
import HWDConversion
import HWDModel
import Synchronization
import Testing

/// The division of a picture's rows among threads that stay for the next one.
@Suite(.serialized) struct SharingTests {
    private static let process = Int32(PRIO_PROCESS.rawValue)

    /// Rows that are worked on, and at which nice value.
    private final class Rows: Sendable {
        let counts: Mutex<[Int]>
        let lowest = Mutex(Int32.max)
        let failing: Int?

        init(_ count: Int, failing: Int? = nil) {
            counts = Mutex(Array(repeating: 0, count: count))
            self.failing = failing
        }

        /// Divides the rows among three threads.
        func share() -> Bool {
            let work: @convention(c) (UnsafeRawPointer?, Int32, Int32) -> Bool = { context, first, end in
                guard let context else { return false }
                let rows = Unmanaged<Rows>.fromOpaque(context).takeUnretainedValue()
                rows.counts.withLock { counts in for row in Int(first)..<Int(end) { counts[row] += 1 } }
                rows.lowest.withLock { $0 = min($0, getpriority(SharingTests.process, 0)) }
                // Other threads get a share, too.
                usleep(1000)
                return rows.failing.map { !(first..<end).contains(Int32($0)) } ?? true
            }
            let count = counts.withLock { $0.count }
            return hwd_share_rows(
                work, Unmanaged.passUnretained(self).toOpaque(), Int32(count), 4 << 20, 2, 3)
        }
    }

    /// Runs `body` on threads of its own, and waits for them.
    private static func onThreads(_ count: Int, _ body: @escaping @Sendable (_ number: Int) -> Void) {
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            Thread.detachNewThread {
                body(number)
                group.leave()
            }
        }
        group.wait()
    }

    @Test("each row is in one share, and a share that fails is reported")
    func shares() {
        for count in [2, 3, 101, 2160] {
            let rows = Rows(count)
            #expect(rows.share())
            #expect(rows.counts.withLock { $0.allSatisfy { $0 == 1 } })
            let failing = Rows(count, failing: count - 1)
            #expect(!failing.share())
            #expect(failing.counts.withLock { $0.allSatisfy { $0 == 1 } })
        }
    }

    @Test("two threads share large pictures at a time")
    func callers() throws {
        let (width, height) = (1024, 1024)
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        let conversion = CPUConverterTests.conversion(
            .p010, CPUConverterTests.pq, .rgba16f, light, width: width, height: height)
        let pictures = (1...2).map { Picture.any(conversion.source, seed: UInt64($0)) }
        let expected = try pictures.map {
            try $0.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
        }
        Self.onThreads(2) { number in
            for _ in 0..<20 {
                do {
                    let result = try pictures[number].converted(
                        by: CPUConverter(conversion, threads: 4), to: conversion.target)
                    #expect(result.planes == expected[number].planes)
                } catch { Issue.record(error) }
            }
        }
    }

    @Test("no share is done at a higher priority than the caller's, which may have fallen")
    func priority() {
        Self.onThreads(1) { _ in
            // Starts the threads that wait for the next picture.
            #expect(Rows(64).share())
            let lower = min(getpriority(SharingTests.process, 0) + 3, 19)
            #expect(setpriority(SharingTests.process, 0, lower) == 0)
            for _ in 0..<20 {
                let rows = Rows(64)
                #expect(rows.share())
                #expect(rows.lowest.withLock { $0 } >= lower)
            }
        }
    }
}
