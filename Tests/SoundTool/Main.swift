// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDClickSource
import Foundation
import HWDCaptureSound
import HWDCapturing
import HWDControlCommands
import HWDSoundInput
import HWMovies

/// For `scripts/check-capture-sound`: a microphone that clicks, and a recording of sound alone.
@main
enum SoundTool {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "clicks" where arguments.count == 2: exit(hwd_click_source(arguments[1]))
            case "list" where arguments.count == 1:
                for node in try PipeWireMicrophone.list() {
                    print(node.isMonitor ? "sink" : "source", node.name, node.description, separator: "\t")
                }
            case "record" where arguments.count == 4:
                try record(arguments[1], Double(arguments[2]) ?? 0, arguments[3])
            default:
                print("usage: hwd-sound-tool clicks NAME | list | record NODE SECONDS FILE")
                exit(64)
            }
        } catch let failure as CommandFailure {
            FileHandle.standardError.write(Data("hwd-sound-tool: \(failure.reason)\n".utf8))
            exit(failure.exitCode)
        }
    }

    /// Records a node's sound and prints "recording" once it does, and at the end when the movie begins, in nanoseconds of CLOCK_MONOTONIC, and what the receipt says.
    private static func record(_ node: String, _ seconds: Double, _ path: String) throws {
        let source = try PipeWireMicrophone(PipeWireMicrophone.Node(node))
        let track = try SoundTrack(
            sampleRate: source.format.sampleRate, channels: source.format.channels, isQuickTime: true)
        let recorder = try MovieRecorder(path: path)
        let number = try recorder.addSound(track.settings)
        let sink = Sink(track)
        try source.start(sink)
        let begin = now()
        track.begin(at: begin)
        FileHandle.standardOutput.write(Data("recording\n".utf8))
        let end = begin + UInt64(seconds * 1e9)
        // Half a second more, so that all sound of the movie is known.
        while now() < end + 500_000_000 {
            usleep(50_000)
            for packet in try track.packets(now: now()) { try recorder.append(packet, to: number) }
        }
        source.stop()
        for packet in try track.finish(at: end) { try recorder.append(packet, to: number) }
        try recorder.end(track: number, at: track.duration)
        try recorder.finish()
        let receipt = track.receipt
        print(
            begin, receipt.silence, receipt.drift, receipt.greatestCorrection, sink.shares.exact,
            sink.shares.buffers)
        for gap in receipt.gaps { print("gap", gap.time, gap.seconds, gap.cause.rawValue) }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private final class Sink: CaptureSoundSink, @unchecked Sendable {
        private let track: SoundTrack
        /// Of the source's thread, until the source is stopped.
        private(set) var shares = (exact: 0, buffers: 0)

        init(_ track: SoundTrack) { self.track = track }

        func samples(_ samples: UnsafeBufferPointer<Float>, at time: UInt64, isExact: Bool) {
            shares.buffers += 1
            if isExact { shares.exact += 1 }
            track.samples(samples, at: time, isExact: isExact)
        }

        func ended(_ end: CaptureEnd) {
            track.sourceEnded()
            FileHandle.standardError.write(Data("\(end.reason ?? "finished")\n".utf8))
        }
    }
}
