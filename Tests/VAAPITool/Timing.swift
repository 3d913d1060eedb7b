// SPDX-License-Identifier: GPL-2.0-or-later
import EncoderTesting
import Foundation
import Glibc
import Model
import Sessions
import VAAPI

/// What a frame costs beside the simulated driver's own work: `vaapi-tool NODE time WxH FOURCC FRAMES`.
///
/// The driver codes within vaEndPicture, on the same thread. The file $VAAPI_TOOL_TIMES says how long each call took, in
/// lines `picture … ns N`: HWSIM_TRACE names one such, in wall time, which is right on an idle machine only.
enum Timing {
    static func run(node: String, _ arguments: [String]) throws {
        let size = arguments[0].split(separator: "x").compactMap { Int($0) }
        guard size.count == 2, let format = PixelFormat(rawValue: arguments[1]), let frames = Int(arguments[2]),
            frames > 0, let trace = ProcessInfo.processInfo.environment["VAAPI_TOOL_TIMES"]
        else { throw SessionError(.parameter, "WxH FOURCC FRAMES, and VAAPI_TOOL_TIMES in the environment") }
        let clip = Clip(format: format, width: size[0], height: size[1], frames: 2)
        let configuration = try EncodeJob(clip, ["RealTime": .bool(true), "QP": .int(40)]).configuration(.vaapi)
        let file = open(node, O_RDWR | O_CLOEXEC)
        let encoder = try VAAPIEncoder(node: file, path: try VAAPITool.path(configuration, file), configuration)
        let sources = [clip.native(0), clip.native(1)]
        var spent: [Int] = []
        for index in 0..<frames {
            let source = sources[index % 2]
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
                ) { (_, _) throws(SessionError) in }
                spent.append(threadTime() - before)
            }
        }
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: trace)), as: UTF8.self)
        let driver = text.split(separator: "\n").filter { $0.hasPrefix("picture ") }.compactMap { line in
            let words = line.split(separator: " ")
            return words.firstIndex(of: "ns").flatMap { Int(words[$0 + 1]) }
        }.suffix(frames)
        // Where the driver was interrupted its time is too long: the middle one counts.
        let own = zip(spent, driver).map { $0 - $1 }.sorted()
        let copied = sources[0].bytes.count
        print(
            "\(arguments[0]) \(arguments[1]): \(own[own.count / 2] / 1000) µs a frame beside the driver (median of")
        print(
            "\(frames), least \(own[0] / 1000)); plain cold memcpy of \(copied) bytes \(memcpyTime(sources[0].bytes)) µs"
        )
    }

    /// A copy with caches as cold as after a picture was coded.
    private static func memcpyTime(_ bytes: [UInt8]) -> Int {
        let target = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 64)
        let other = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 20, alignment: 64)
        defer {
            target.deallocate()
            other.deallocate()
        }
        let times = (0..<21).map { round in
            other.initializeMemory(as: UInt8.self, repeating: UInt8(round))
            let before = threadTime()
            bytes.withUnsafeBytes {
                target.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(target), byteCount: $0.count)
            }
            return threadTime() - before
        }
        return times.sorted()[10] / 1000
    }

    private static func threadTime() -> Int {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return now.tv_sec * 1_000_000_000 + now.tv_nsec
    }
}
