// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDEncoderTesting
import HWDModel
import HWDSessions
import HWDVAAPI

/// What a frame costs beside the simulated driver's own work: `hwd-vaapi-tool NODE time WxH FOURCC FRAMES`.
///
/// All times are CPU times of this thread, on which the driver codes, too. It adds up what its calls take in the file
/// that HWSIM_TRACE names, which is $VAAPI_TOOL_TIMES here. Every other frame is preceded by a plain copy of as many
/// bytes, so that both, the copy and the frame after the next, come right after a picture was coded: with the same
/// caches, on the same machine a few milliseconds apart.
enum Timing {
    static func run(node: String, _ arguments: [String]) throws {
        let size = arguments[0].split(separator: "x").compactMap { Int($0) }
        guard size.count == 2, let format = PixelFormat(rawValue: arguments[1]), let frames = Int(arguments[2]),
            frames >= 4, let trace = ProcessInfo.processInfo.environment["VAAPI_TOOL_TIMES"]
        else {
            throw SessionError(.parameter, "WxH FOURCC FRAMES (from 4 on), and VAAPI_TOOL_TIMES in the environment")
        }
        let clip = Clip(format: format, width: size[0], height: size[1], frames: 2)
        let configuration = try EncodeJob(clip, ["RealTime": .bool(true), "QP": .int(40)]).configuration(.vaapi)
        let file = open(node, O_RDWR | O_CLOEXEC)
        let encoder = try VAAPIEncoder(node: file, path: try VAAPITool.path(configuration, file), configuration)
        // Each is read every fourth frame, as what is copied, and differs from the one before.
        let sources = [clip.native(0), clip.native(1), clip.native(0), clip.native(1)]
        let copy = PlainCopy(of: [clip.native(0).bytes, clip.native(1).bytes])
        var spent: [Int] = []
        var copied: [Int] = []
        var coded = 0
        for index in 0..<frames {
            if index % 2 == 0 { copied.append(copy.time(index / 2)) }
            let source = sources[index % 4]
            try source.bytes.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                let planes = source.layout.planes.map {
                    InputPicture.Plane(base: base + Int($0.offset), stride: Int($0.stride))
                }
                let before = threadTime()
                try encoder.encode(
                    InputPicture(
                        planes: planes, frameID: UInt64(index), pts: Int64(index), forceKeyFrame: false,
                        baseFrameQP: nil)
                ) { (_, bytes) throws(SessionError) in coded += bytes.byteCount }
                spent.append(threadTime() - before)
            }
        }
        let driver = try driverTimes(trace, frames)
        // The first frames are left out: a key frame, and memory that is touched for the first time.
        var rounds: [(own: Int, copy: Int)] = []
        for index in stride(from: 3, to: frames, by: 2) {
            rounds.append((spent[index] - driver[index], copied[index / 2]))
        }
        let own = Spread(rounds.map(\.own))
        let plain = Spread(rounds.map(\.copy))
        let beyond = Spread(rounds.map { $0.own - $0.copy })
        print(
            "\(arguments[0]) \(arguments[1]): beside the driver \(own), plain copy of \(sources[0].bytes.count) bytes "
                + "\(plain), beyond it \(beyond) µs CPU a frame (median, quartiles of \(rounds.count)); the driver takes "
                + "\(Spread(Array(driver.dropFirst(3)))), coded pictures have \(coded / frames) bytes")
    }

    /// What the driver took of each frame, by the sums that it writes after each picture.
    ///
    /// What it did for the picture before after that was coded counts for the next, which is always the same: waiting
    /// for it, mapping its coded buffer and unmapping it.
    private static func driverTimes(_ trace: String, _ frames: Int) throws -> [Int] {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: trace)), as: UTF8.self)
        let sums = text.split(separator: "\n").filter { $0.hasPrefix("calls ") }.compactMap { line in
            line.split(separator: " ").last.flatMap { Int($0) }
        }
        // One more than frames: a grey picture is coded when the encoder opens.
        guard sums.count > frames else {
            throw SessionError(.parameter, "\(trace) has \(sums.count) pictures' sums, not \(frames + 1)")
        }
        return zip(sums.suffix(frames), sums.suffix(frames + 1)).map { $0 - $1 }
    }

    static func threadTime() -> Int {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return now.tv_sec * 1_000_000_000 + now.tv_nsec
    }
}

/// Copies a frame's bytes as a frame is copied to a surface: from one of two places, to memory that was written two
/// frames ago.
private final class PlainCopy {
    private let sources: [[UInt8]]
    private let target: UnsafeMutableRawPointer

    init(of frames: [[UInt8]]) {
        sources = frames
        target = .allocate(byteCount: frames[0].count, alignment: 4096)
        target.initializeMemory(as: UInt8.self, repeating: 0, count: frames[0].count)
    }

    deinit { target.deallocate() }

    /// Nanoseconds of CPU time that one copy takes.
    func time(_ round: Int) -> Int {
        sources[round % 2].withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            let before = Timing.threadTime()
            memcpy(target, base, bytes.count)
            return Timing.threadTime() - before
        }
    }
}

/// The middle one of some times and the quartiles, in microseconds.
private struct Spread: CustomStringConvertible {
    private let sorted: [Int]

    init(_ nanoseconds: [Int]) { sorted = nanoseconds.sorted() }

    var description: String {
        func at(_ part: Double) -> Int { sorted[Int(Double(sorted.count - 1) * part)] / 1000 }
        return "\(at(0.5)) (\(at(0.25))–\(at(0.75)))"
    }
}
