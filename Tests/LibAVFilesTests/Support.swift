// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAV
import HWDLibAVReading
import HWDMetadata
import HWDModel
import Synchronization
import Testing

/// The clips that tests read.
enum Clips {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The clips of the repository.
    static let folder = root.appending(path: "Tests/Media").path

    /// The media set beside the repository; nil in a clone without it.
    static let mediaSet: String? = {
        let path = root.deletingLastPathComponent().appending(path: "shared/media").path
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }()

    /// A clip of the repository, otherwise one of the media set.
    static func path(_ name: String) throws -> String {
        let path = "\(folder)/\(name)"
        if FileManager.default.fileExists(atPath: path) { return path }
        return try #require(mediaSet, "\(name) is neither in Tests/Media nor in the media set") + "/\(name)"
    }

    /// The names in a folder, sorted; none where it does not exist.
    static func names(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    static let h264 = "\(folder)/bbb_720p.mp4"
    static let hevc10 = "\(folder)/bbb_720p_main10.mp4"
}

extension Trait where Self == ConditionTrait {
    /// For clips that are too large for the repository.
    static var needsMediaSet: Self {
        .enabled(if: Clips.mediaSet != nil, "needs the media set beside the repository")
    }
}

/// A temporary directory, deleted with the object.
final class Scratch {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "mediafile-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    var contents: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
}

struct ToolFailure: Error, CustomStringConvertible {
    let description: String
}

/// Runs a program found on PATH and returns its standard output.
@discardableResult
func run(_ arguments: String...) throws -> Data { try run(arguments) }

@discardableResult
func run(_ arguments: [String]) throws -> Data {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    let output = Pipe()
    let errors = FileManager.default.temporaryDirectory.appending(path: "mediafile-\(UUID().uuidString).log")
    _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: errors) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        let text = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
        throw ToolFailure(description: "\(arguments.joined(separator: " ")): \(text)")
    }
    return data
}

/// ffprobe's output as rows of comma separated values.
func probe(_ path: String, _ options: String...) throws -> [[String]] {
    let data = try run(["ffprobe", "-v", "error"] + options + ["-of", "csv=p=0", path])
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map { line in
        line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
}

/// A pool of slots on the heap that counts slots freed twice or never.
final class TestPool: FrameMemory, @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let byteCount: Int
    private let slotSize: Int
    private let state: Mutex<State>

    struct State {
        var free: [Int]
        var lent: Set<Int> = []
        var faults = 0
        var most = 0
    }

    init(slots: Int, slotSize: Int) {
        self.slotSize = (slotSize + 63) / 64 * 64
        byteCount = slots * self.slotSize
        base = .allocate(byteCount: max(64, byteCount), alignment: 64)
        state = Mutex(State(free: Array(0..<slots)))
    }

    deinit { base.deallocate() }

    func allocate(byteCount: Int) -> FrameSlot? {
        guard byteCount <= slotSize else { return nil }
        let id: Int? = state.withLock { state in
            guard let id = state.free.popLast() else { return nil }
            state.lent.insert(id)
            state.most = max(state.most, state.lent.count)
            return id
        }
        return id.map {
            FrameSlot(
                id: $0, base: base + $0 * slotSize, poolOffset: UInt64($0 * slotSize), byteCount: slotSize)
        }
    }

    func free(_ id: Int) {
        state.withLock { state in
            if state.lent.remove(id) == nil { state.faults += 1 } else { state.free.append(id) }
        }
    }

    var lent: Int { state.withLock { $0.lent.count } }
    var faults: Int { state.withLock { $0.faults } }
    var most: Int { state.withLock { $0.most } }

    /// A picture's samples in `layout`, without gaps.
    func samples(_ layout: FrameLayout, _ frame: SourceFrame) throws -> [UInt8] {
        try layout.validate(frame.format, width: frame.width, height: frame.height, poolSize: UInt64(byteCount))
        return tight(UnsafeRawPointer(base), layout, frame)
    }
}

/// A picture's samples without gaps.
func tight(_ base: UnsafeRawPointer, _ layout: FrameLayout, _ frame: SourceFrame) -> [UInt8] {
    let format = frame.format
    let size = (0..<format.planeCount).reduce(0) {
        $0 + format.rowBytes(plane: $1, width: frame.width) * format.rows(plane: $1, height: frame.height)
    }
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        var position = 0
        for plane in 0..<format.planeCount {
            let row = format.rowBytes(plane: plane, width: frame.width)
            for line in 0..<format.rows(plane: plane, height: frame.height) {
                let source = base + Int(layout.planes[plane].offset) + line * Int(layout.planes[plane].stride)
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[position...])
                    .copyMemory(from: UnsafeRawBufferPointer(start: source, count: row))
                position += row
            }
        }
        count = position
    }
}

/// A frame's samples as `copy(to:)` writes them.
func copied(_ frame: SourceFrame) throws -> [UInt8] {
    let (layout, size) = FrameLayout.packed(frame.format, width: frame.width, height: frame.height)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
    defer { memory.deallocate() }
    try frame.copy(to: memory, layout)
    return try tight(UnsafeRawPointer(#require(memory.baseAddress)), layout, frame)
}

extension MediaReader {
    /// A reader that puts its frames into `memory`.
    convenience init(path: String, memory: any FrameMemory) throws {
        try self.init(path: path)
        use(memory)
    }

    /// Calls `body` with every remaining frame and releases it.
    func forEachFrame(_ body: (SourceFrame) throws -> Void) throws {
        while let item = try next() {
            guard case .frame(let frame) = item else { continue }
            try body(frame)
            try frame.release()
        }
    }
}

/// The raw samples that ffmpeg decodes from a stream, frame by frame.
final class Reference {
    private let process = Process()
    private let pipe = Pipe()

    init(_ path: String, stream: Int, options: [String], input: [String] = []) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["ffmpeg", "-v", "quiet", "-nostdin", "-noautorotate"] + input + ["-i", path, "-map", "0:\(stream)"]
            + ["-fps_mode", "passthrough"] + options + ["-f", "rawvideo", "-"]
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    /// The next `count` bytes, fewer at the end.
    func next(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        var filled = 0
        try bytes.withUnsafeMutableBytes { buffer in
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                let done = read(descriptor, rest.baseAddress, rest.count)
                if done == 0 { return }
                guard done > 0 else { throw ToolFailure(description: "ffmpeg's output cannot be read") }
                filled += done
            }
        }
        return Array(bytes.prefix(filled))
    }
}

/// The kind of the MediaError that `body` throws; nil when it throws none.
func errorKind(_ body: () throws -> Void) -> MediaError.Kind? {
    do {
        try body()
        return nil
    } catch let error as MediaError {
        #expect(!error.reason.contains("\n") && !error.reason.isEmpty)
        return error.kind
    } catch {
        Issue.record("not a MediaError: \(error)")
        return nil
    }
}
