// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEIF
import HWDHEVC
import Testing

/// The files that tests read, and the tools that they compare with.
enum Clips {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The media set beside the repository; nil in a clone without it.
    static let mediaSet: String? = {
        let path = root.deletingLastPathComponent().appending(path: "shared/media").path
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }()

    /// The committed picture.
    static let still = root.appending(path: "Tests/Media/still.heic").path

    /// A checker of HEIC files that shares no code with this project; nil in a clone without it.
    static let checker: String? = mediaSet.map {
        URL(filePath: $0).deletingLastPathComponent().appending(path: "tools/check_heic.py").path
    }.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }

    /// A file of the media set.
    static func path(_ name: String) throws -> String { try #require(mediaSet) + "/\(name)" }

    static func source(_ path: String) throws -> MemorySource {
        MemorySource([UInt8](try Data(contentsOf: URL(filePath: path))))
    }

    /// Whether a program is installed.
    static func has(_ tool: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)")
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// For files that are too many for the repository.
    static var needsMediaSet: Self {
        .enabled(if: Clips.mediaSet != nil, "needs the media set beside the repository")
    }

    /// For what libheif's programs judge.
    static var needsLibHEIF: Self {
        .enabled(if: Clips.has("heif-convert") && Clips.has("heif-info"), "needs heif-info and heif-convert")
    }

    static var needsChecker: Self {
        .enabled(if: Clips.checker != nil, "needs check_heic.py beside the repository")
    }
}

/// A tool failed.
struct ToolFailure: Error, CustomStringConvertible {
    let description: String
}

/// Runs a tool found on PATH and returns what it prints; throws when it fails or takes longer than two minutes.
@discardableResult
func run(_ arguments: String...) throws -> String { try run(arguments) }

@discardableResult
func run(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["timeout", "120"] + arguments
    process.standardInput = FileHandle.nullDevice
    let scratch = try Scratch()
    let (out, err) = (scratch.file("out"), scratch.file("err"))
    for path in [out, err] { _ = FileManager.default.createFile(atPath: path, contents: nil) }
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: out))
    process.standardError = try FileHandle(forWritingTo: URL(filePath: err))
    try process.run()
    process.waitUntilExit()
    let text = String(decoding: try Data(contentsOf: URL(filePath: out)), as: UTF8.self)
    guard process.terminationStatus == 0 else {
        let message = String(decoding: try Data(contentsOf: URL(filePath: err)), as: UTF8.self)
        throw ToolFailure(
            description: "\(arguments.joined(separator: " ")) failed: \((text + message).suffix(600))")
    }
    return text
}

/// A temporary directory, deleted with the object.
final class Scratch {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "heif-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// One plane of samples of 8 or 16 bits.
struct Plane: Equatable {
    var width: Int
    var height: Int
    /// Bytes of a sample; the lower one first.
    private var depth = 1
    private var bytes: [UInt8]

    init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        (depth, bytes) = (2, [UInt8](repeating: 0, count: 2 * width * height))
    }

    subscript(x: Int, y: Int) -> Int {
        get {
            let place = (y * width + x) * depth
            return Int(bytes[place]) | (depth == 2 ? Int(bytes[place + 1]) << 8 : 0)
        }
        set {
            let place = (y * width + x) * 2
            (bytes[place], bytes[place + 1]) = (UInt8(newValue & 255), UInt8(newValue >> 8))
        }
    }

    func part(_ rect: PixelRect) -> Plane {
        var part = Plane(width: rect.width, height: rect.height)
        for y in 0..<rect.height {
            for x in 0..<rect.width { part[x, y] = self[rect.x + x, rect.y + y] }
        }
        return part
    }

    /// Mirrored, then turned counter-clockwise, one step after the other.
    func turned(_ orientation: Orientation) -> Plane {
        var plane = self
        if orientation.isMirrored {
            for y in 0..<height { for x in 0..<width { plane[x, y] = self[width - 1 - x, y] } }
        }
        for _ in 0..<orientation.turns {
            var turned = Plane(width: plane.height, height: plane.width)
            for y in 0..<plane.height { for x in 0..<plane.width { turned[y, plane.width - 1 - x] = plane[x, y] } }
            plane = turned
        }
        return plane
    }

    /// The share of samples that differ from another plane's by more than `tolerance`, once `map` has been applied.
    func difference(from other: Plane, tolerance: Int, _ map: (Int) -> Int = { $0 }) -> Double {
        guard width == other.width, height == other.height else { return 1 }
        var count = 0
        for y in 0..<height {
            for x in 0..<width where abs(map(self[x, y]) - other[x, y]) > tolerance { count += 1 }
        }
        return Double(count) / Double(width * height)
    }

    /// The luma of the first picture of a Y4M file.
    init(y4m path: String) throws {
        let data = try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
        let lines = data.prefix(400).split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        let header = String(decoding: try #require(lines.first), as: UTF8.self).split(separator: " ")
        func field(_ letter: Character) -> Int? {
            header.first { $0.first == letter }.flatMap { Int($0.dropFirst()) }
        }
        (width, height) = (try #require(field("W")), try #require(field("H")))
        depth = header.contains { $0.hasPrefix("C") && ($0.contains("p10") || $0.contains("mono10")) } ? 2 : 1
        let start = lines[0].count + lines[1].count + 2
        bytes = [UInt8](data[start..<start + width * height * depth])
    }
}

/// Decodes the coded items of a file with ffmpeg and puts a plan together: the luma of the picture.
struct PlanDecoder {
    let file: HEIFFile
    let source: MemorySource
    private let scratch = try? Scratch()

    func luma(_ plan: DecodePlan) throws -> Plane {
        var result = Plane(width: plan.width, height: plan.height)
        var decoded: [UInt32: Plane] = [:]
        for step in plan.steps {
            guard case .copy(let copy) = step else { continue }
            let picture = try decoded[copy.item] ?? luma(item: copy.item)
            decoded[copy.item] = picture
            let part = picture.part(copy.source).turned(copy.orientation)
            try #require(part.width == copy.destination.width && part.height == copy.destination.height)
            for y in 0..<part.height {
                for x in 0..<part.width { result[copy.destination.x + x, copy.destination.y + y] = part[x, y] }
            }
        }
        return result
    }

    private func luma(item: UInt32) throws -> Plane {
        let description = try file.picture(item)
        let record = try #require(description.hevc)
        var stream: [UInt8] = []
        for unit in record.nalUnits { stream += [0, 0, 0, 1] + unit }
        let data = try file.data(of: item, from: source, limit: 1 << 30)
        var units = try LengthPrefixedNALUnits(data[...], lengthSize: record.lengthSize)
        while let unit = try units.next() { stream += [0, 0, 0, 1] + unit }
        let scratch = try #require(scratch)
        let (input, output) = (scratch.file("\(item).hevc"), scratch.file("\(item).y4m"))
        try Data(stream).write(to: URL(filePath: input))
        try run("ffmpeg", "-v", "error", "-y", "-f", "hevc", "-i", input, "-frames:v", "1", "-strict", "-1", output)
        return try Plane(y4m: output)
    }
}
