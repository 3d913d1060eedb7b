// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWMovies
import HWOutput
import Testing

private let patience = Duration.seconds(120)
private let second = Int64(1_000_000_000)

/// What an output of 4K takes, as it counts and as the kernel does.
struct OutputMemory {
    /// Bytes of this process that are in memory: its own, and those of shared memory.
    static func resident() throws -> (own: Int, shared: Int) {
        let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
        func bytes(_ name: String) throws -> Int {
            let line = try #require(lines.first { $0.hasPrefix("\(name):") })
            return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) << 10
        }
        return (try bytes("RssAnon"), try bytes("RssShmem"))
    }

    @Suite(.serialized) struct Long {
        /// A group of 60 pictures has 0.75 GB in 8 bits, and 1.49 GB in 10.
        @Test(arguments: [false, true]) func reverseOf4KStaysWithinItsBound(_ isHDR: Bool) throws {
            let service = try PrivateService()
            let path = try service.clip(
                "4k.mp4", rate: 60, seconds: 3, group: 60, size: "3840x2160", isHDR: isHDR)
            let (clock, before) = (ManualClock(), try OutputMemory.resident())
            let output = try VideoOutput(service.daemon, try MovieVideo(path: path), clock: clock)
            output.seek(to: 3 * second - 1)
            output.play(rate: -1)
            var (shown, own, shared, session): ([Int], Int, Int, UInt64) = ([], 0, 0, 0)
            for refresh in Int64(0)..<180 {
                clock.set(refresh * second / 60)
                if let frame = output.copyFrame(waiting: patience).frame { shown.append(frame.number) }
                let now = try OutputMemory.resident()
                (own, shared) = (max(own, now.own - before.own), max(shared, now.shared - before.shared))
                session = max(session, try service.memory("decompression", width: 3840) ?? 0)
            }
            #expect(shown == (0..<180).reversed().map { $0 }, "\(shown)")
            let counts = output.counts
            #expect(counts.peakBytes <= 512 << 20 && counts.late == 0 && counts.dropped == 0, "\(counts)")
            // The decoder's arenas are mapped as well: two pictures more than those that wait.
            let picture = 3840 * 2160 * 3 / (isHDR ? 1 : 2)
            #expect(shared <= (512 << 20) + 16 * picture, "\(shared) bytes of shared memory")
            print(
                """
                reverse of 4K, \(isHDR ? 10 : 8) bits: counted \(counts.peakBytes >> 20) MiB, shared memory of the app \
                \(shared >> 20) MiB, its own \(own >> 20) MiB, the decoder's session \(session >> 20) MiB
                """)
        }

        /// On the machine's clock: how many are shown is the machine's, when each is shown is not.
        @Test func playOf4KStaysWithinItsBound() throws {
            let service = try PrivateService()
            let path = try service.clip("4k.mp4", rate: 60, seconds: 5, group: 60, size: "3840x2160")
            let before = try OutputMemory.resident()
            let (output, clock) = (try VideoOutput(service.daemon, try MovieVideo(path: path)), HostClock())
            output.play()
            var (shown, own, shared): ([Int], Int, Int) = ([], 0, 0)
            let begin = clock.now
            var refresh = Int64(0)
            while refresh < 1200 {
                let answer = output.copyFrame(at: begin + refresh * second / 60)
                if let frame = answer.frame {
                    #expect(
                        frame.number == Int(frame.displayTime * 60 / second + 1)
                            || frame.number == Int(frame.displayTime * 60 / second))
                    shown.append(frame.number)
                }
                if answer.reason == .afterEnd { break }
                let now = try OutputMemory.resident()
                (own, shared) = (max(own, now.own - before.own), max(shared, now.shared - before.shared))
                let next = begin + (refresh + 1) * second / 60
                while clock.now < next { usleep(1000) }
                refresh = (clock.now - begin) * 60 / second
            }
            #expect(zip(shown, shown.dropFirst()).allSatisfy { $0 < $1 } && !shown.isEmpty, "\(shown)")
            let counts = output.counts
            #expect(counts.peakBytes <= 256 << 20 && shared <= 512 << 20, "\(counts), \(shared) bytes")
            print(
                """
                4K at 60 Hz: \(counts.shown) of 300 shown, \(counts.late) late, \(counts.dropped) dropped, \(counts.skipped) skipped; \
                counted \(counts.peakBytes >> 20) MiB, shared memory of the app \(shared >> 20) MiB, its own \(own >> 20) MiB
                """)
        }
    }
}
