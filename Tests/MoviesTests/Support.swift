// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWMovies
import Testing

/// The files that tests read.
enum Clips {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The media set beside the repository; nil in a clone without it.
    static let mediaSet: String? = {
        let path = root.deletingLastPathComponent().appending(path: "shared/media").path
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }()

    /// A committed file.
    static func path(_ name: String) -> String { root.appending(path: "Tests/Media/\(name)").path }

    static func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }
}

extension Trait where Self == ConditionTrait {
    /// For files that are too many for the repository.
    static var needsMediaSet: Self {
        .enabled(if: Clips.mediaSet != nil, "needs the media set beside the repository")
    }
}

/// A tool failed.
struct ToolFailure: Error, CustomStringConvertible {
    let description: String
}

/// Runs a tool found on PATH and returns what it prints; throws when it fails or takes longer than two minutes.
@discardableResult
func run(_ arguments: [String]) throws -> Data {
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
    guard process.terminationStatus == 0 else {
        let message = String(decoding: try Data(contentsOf: URL(filePath: err)), as: UTF8.self)
        throw ToolFailure(description: "\(arguments.joined(separator: " ")) failed: \(message.suffix(600))")
    }
    return try Data(contentsOf: URL(filePath: out))
}

/// A temporary directory, deleted with the object.
final class Scratch {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "movies-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// What libavformat says of a packet.
struct ProbedPacket: Decodable {
    let streamIndex: Int
    let pts: Int64?
    let dts: Int64?
    let size: String
    let pos: String?
    let flags: String

    enum CodingKeys: String, CodingKey {
        case streamIndex = "stream_index"
        case pts, dts, size, pos, flags
    }

    var isShown: Bool { !flags.contains("D") }

    /// The packets of a file by `track_ID`, in the order of the file's streams.
    static func all(_ path: String) throws -> [UInt32: [ProbedPacket]] {
        struct Stream: Decodable {
            let index: Int
            let id: String
        }
        struct Answer: Decodable {
            let packets: [ProbedPacket]
            let streams: [Stream]
        }
        let answer = try JSONDecoder().decode(
            Answer.self,
            from: try run(["ffprobe", "-v", "error", "-show_packets", "-show_streams", "-of", "json", path]))
        return Dictionary(
            uniqueKeysWithValues: answer.streams.compactMap { stream in
                UInt32(stream.id.dropFirst(2), radix: 16).map { id in
                    (id, answer.packets.filter { $0.streamIndex == stream.index })
                }
            })
    }
}

/// All packets of a track, without their bytes.
func packets(_ movie: Movie, _ track: MovieTrack, reading: Bool = false) throws -> [MoviePacket] {
    var reader = try movie.packets(of: track)
    var result: [MoviePacket] = []
    while let packet = try reader.next(reading: reading) { result.append(packet) }
    return result
}

/// What of a packet libavformat states otherwise, for a known reason.
struct KnownDifferences: OptionSet {
    let rawValue: Int

    /// libavformat does not shift decode times back where composition times precede them.
    static let decodeTimes = KnownDifferences(rawValue: 1)
    /// libavformat marks no packets before the begin in fragments.
    static let hidden = KnownDifferences(rawValue: 2)
}

/// Compares all packets of a file with libavformat's.
/// - Returns: the number of packets.
@discardableResult
func compare(_ path: String, _ known: KnownDifferences = []) throws -> Int {
    let movie = try Movie(path: path)
    let theirs = try ProbedPacket.all(path)
    #expect(Set(movie.tracks.map(\.id)) == Set(theirs.keys))
    var count = 0
    for track in movie.tracks {
        let ours = try packets(movie, track)
        let probed = try #require(theirs[track.id])
        try #require(ours.count == probed.count, "track \(track.id) of \(path)")
        count += ours.count
        for (packet, other) in zip(ours, probed) {
            let name: Comment = "sample \(packet.sample) of track \(track.id) of \(path)"
            #expect(String(packet.size) == other.size && String(packet.position) == other.pos, name)
            #expect(packet.isKey == other.flags.contains("K"), name)
            if !known.contains(.hidden) { #expect(packet.isShown == other.isShown, name) }
            // The times of packets that are not shown are libavformat's own.
            guard other.isShown else { continue }
            #expect(packet.time == other.pts, name)
            if !known.contains(.decodeTimes) { #expect(packet.decodeTime == other.dts, name) }
        }
    }
    return count
}

/// A file whose movie box is changed; what is behind it must not move.
func editMovie(_ path: String, _ edit: (inout Box) throws -> Void) throws -> [UInt8] {
    var bytes = try Clips.bytes(path)
    var position = 0
    while let header = BoxHeader(bytes[position...], available: UInt64(bytes.count - position)) {
        let end = position + Int(header.size)
        if header.type == "moov" {
            var movie = Box("moov", children: try Box.parse(bytes[position + header.headerSize..<end]))
            try edit(&movie)
            bytes.replaceSubrange(position..<end, with: movie.bytes)
            return bytes
        }
        position = end
    }
    throw ToolFailure(description: "\(path) has no movie box")
}
