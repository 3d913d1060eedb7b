// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDCoding
import HWDEncoderTesting
import HWDModel
import HWDPolicy
import HWDVAAPI

/// Measures a frame's cost without the simulated driver's work: `hwd-vaapi-tool NODE time WxH FOURCC FRAMES`.
///
/// All times are CPU times of this thread, on which the driver codes too. The driver writes the sum of its calls' times to
/// the file that HWSIM_TRACE names, which is $VAAPI_TOOL_TIMES here. Every other frame is preceded by a plain copy of as many
/// bytes, so that the copy and the frame after the next both follow a coded picture, with the same state of the caches.
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
        // Each source is read every fourth frame, like the copied ones, and differs from the previous.
        let sources = [clip.native(0), clip.native(1), clip.native(0), clip.native(1)]
        let copy = PlainCopy(of: [clip.native(0).bytes, clip.native(1).bytes])
        var spent: [Int] = []
        var copied: [Int] = []
        var coded = 0
        for index in 0..<frames {
            if index % 2 == 0 { copied.append(copy.time(index / 2)) }
            let source = sources[index % 4]
            try source.bytes.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { fatalError("a picture without memory") }
                let planes = source.layout.planes(at: base)
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
        // The first frames are a key frame and touch memory for the first time.
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

    /// The driver's time for each frame, from the sums that it writes after each picture.
    ///
    /// Waiting for a picture and mapping its coded buffer, which take constant time, count for the next picture.
    private static func driverTimes(_ trace: String, _ frames: Int) throws -> [Int] {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: trace)), as: UTF8.self)
        let sums = text.split(separator: "\n").filter { $0.hasPrefix("calls ") }.compactMap { line in
            line.split(separator: " ").last.flatMap { Int($0) }
        }
        // One more than frames: opening codes a gray picture.
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

/// Copies a frame's bytes with the memory access pattern of frames that are copied to surfaces.
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

/// Median and quartiles of times, in microseconds.
private struct Spread: CustomStringConvertible {
    private let sorted: [Int]

    init(_ nanoseconds: [Int]) { sorted = nanoseconds.sorted() }

    var description: String {
        func at(_ part: Double) -> Int { sorted[Int(Double(sorted.count - 1) * part)] / 1000 }
        return "\(at(0.5)) (\(at(0.25))–\(at(0.75)))"
    }
}
