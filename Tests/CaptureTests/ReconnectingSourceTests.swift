// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDCapturing
import HWDControlCommands
import HWDModel
import Synchronization
import Testing

@Suite struct ReconnectingSourceTests {
    /// Sends two frames as soon as it starts, perhaps states another width, and goes away or ends.
    private final class Source: CaptureSource {
        let format: CaptureFormat
        let newWidth: Int?
        let end: CaptureEnd

        init(width: Int, newWidth: Int? = nil, _ end: CaptureEnd) {
            format = CaptureFormat(.raw(pixelFormat: "NV12"), width: width, height: 64, rate: CaptureRate(30))
            (self.newWidth, self.end) = (newWidth, end)
        }

        func start(_ sink: any CaptureSink) {
            for number in 1...2 as ClosedRange<UInt64> {
                sink.frame([], at: UInt64(format.width) * 1000 + number, sequence: number)
            }
            if let newWidth {
                var other = format
                other.width = newWidth
                sink.changed(other)
            }
            sink.ended(end)
        }

        func stop() {}
    }

    private final class Log: CaptureSink {
        let lines = Mutex<[String]>([])

        func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) { add("frame \(time)") }
        func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {}
        func lost(_ count: Int, at time: UInt64, cause: String) {}
        func changed(_ format: CaptureFormat) { add("changed \(format.width)") }
        func interrupted(from begin: UInt64, to end: UInt64) { add("interrupted \(begin) \(end)") }
        func ended(_ end: CaptureEnd) { add("ended \(end.reason ?? "")") }
        private func add(_ line: String) { lines.withLock { $0.append(line) } }

        /// What was called, up to the end.
        func all() -> [String] {
            while !lines.withLock({ $0.last?.hasPrefix("ended") ?? false }) { usleep(10_000) }
            return lines.withLock { $0 }
        }
    }

    private final class Counter: Sendable {
        private let number = Mutex(-1)

        func next() -> Int {
            number.withLock { number in
                number += 1
                return number
            }
        }
    }

    /// Opens the sources one after the other; nil is one that is not there.
    private func open(_ sources: [Source?]) -> @Sendable () throws(CommandFailure) -> any CaptureSource {
        let counter = Counter()
        return { () throws(CommandFailure) in
            let number = counter.next()
            guard number < sources.count, let source = sources[number] else {
                throw CommandFailure(.noInput, "there is none")
            }
            return source
        }
    }

    @Test func aSourceThatComesBackIsRecordedOn() throws {
        let source = try ReconnectingSource(
            Source(width: 64, .gone("away")), wait: 60_000_000_000,
            open: open([nil, Source(width: 128, .finished)]))
        #expect(source.format.width == 64)
        let log = Log()
        try source.start(log)
        #expect(
            log.all() == [
                "frame 64001", "frame 64002", "changed 128", "interrupted 64002 128001", "frame 128001",
                "frame 128002", "ended ",
            ])
        source.stop()
    }

    @Test func oneThatComesBackAsItBeganStatesItsFormat() throws {
        let source = try ReconnectingSource(
            Source(width: 64, newWidth: 128, .gone("away")), wait: 60_000_000_000,
            open: open([Source(width: 64, .finished)]))
        let log = Log()
        try source.start(log)
        #expect(
            log.all() == [
                "frame 64001", "frame 64002", "changed 128", "changed 64", "interrupted 64002 64002",
                "frame 64001", "frame 64002", "ended ",
            ])
        source.stop()
    }

    @Test func oneThatStaysAwayEndsTheRecording() throws {
        let source = try ReconnectingSource(Source(width: 64, .gone("away")), wait: 600_000_000, open: open([]))
        let log = Log()
        try source.start(log)
        #expect(log.all().last == "ended away, and was not back within 1 s")
        source.stop()
    }

    @Test func stoppingEndsTheWait() throws {
        let source = try ReconnectingSource(
            Source(width: 64, .gone("away")), wait: 3_600_000_000_000, open: open([]))
        let log = Log()
        try source.start(log)
        source.stop()
        #expect(log.lines.withLock { $0 } == ["frame 64001", "frame 64002"])
    }
}
