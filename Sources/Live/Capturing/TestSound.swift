// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Synchronization

/// Clicks of a millisecond in the middle of which a flash of the test source's pictures begins.
package final class TestSound: CaptureSoundSource {
    package let format = CaptureSoundFormat(sampleRate: 48_000, channels: 2)
    /// CLOCK_MONOTONIC of the first picture, in nanoseconds; nil before it.
    private let begin: @Sendable () -> UInt64?
    /// Nanoseconds from flash to flash.
    private let period: UInt64
    private let stopping = Atomic<Bool>(false)
    private let thread = Mutex<Thread?>(nil)

    private static let size = 1024
    /// Half of a click, in seconds.
    private static let width = 0.0005

    package init(begin: @escaping @Sendable () -> UInt64?, period: UInt64) {
        (self.begin, self.period) = (begin, max(1, period))
    }

    package func start(_ sink: any CaptureSoundSink) throws(CommandFailure) {
        stop()
        stopping.store(false, ordering: .relaxed)
        do throws(SystemError) {
            let started = try Thread.spawn(name: "test-sound") { [self] in run(sink) }
            thread.withLock { $0 = started }
        } catch { throw CommandFailure(.software, "\(error)") }
    }

    package func stop() {
        stopping.store(true, ordering: .relaxed)
        let started = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        started?.join()
    }

    private func run(_ sink: any CaptureSoundSink) {
        var count: UInt64 = 0
        var samples = [Float](repeating: 0, count: Self.size * format.channels)
        var origin: UInt64?
        while !stopping.load(ordering: .relaxed) {
            guard let first = origin ?? begin() else {
                usleep(5000)
                continue
            }
            origin = first
            for index in 0..<Self.size {
                let value = click(count + UInt64(index))
                for channel in 0..<format.channels { samples[index * format.channels + channel] = value }
            }
            let time = first + offset(count)
            count += UInt64(Self.size)
            while MonotonicTime.now.nanoseconds < first + offset(count), !stopping.load(ordering: .relaxed) {
                usleep(2000)
            }
            samples.withUnsafeBufferPointer { sink.samples($0, at: time, isExact: true) }
        }
    }

    private func offset(_ sample: UInt64) -> UInt64 {
        let (whole, part) = sample.quotientAndRemainder(dividingBy: UInt64(format.sampleRate))
        return whole * 1_000_000_000 + part * 1_000_000_000 / UInt64(format.sampleRate)
    }

    private func click(_ sample: UInt64) -> Float {
        let after = offset(sample) % period
        let distance = Double(min(after, period - after)) / 1e9
        return distance < Self.width ? Float(0.9 * cos(distance / Self.width * Double.pi / 2)) : 0
    }
}
