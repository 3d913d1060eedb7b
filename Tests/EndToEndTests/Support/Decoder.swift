// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDLibAVReading
import HWDMetadata
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// A coded stream: its format description and its packets in decoding order.
struct CodedStream: Sendable {
    struct Unit: Sendable {
        var bytes: [UInt8]
        var pts: Int64?
        var duration: Int64
        var isSync: Bool
    }

    var description: [UInt8]
    var timeBase: Rational
    var units: [Unit]

    /// The video packets of a file.
    init(_ path: String) throws {
        var options = MediaReader.Options()
        options.decoding = .disabled
        let reader = try MediaReader(path: path, options: options)
        description = reader.video.codecConfiguration
        timeBase = reader.video.timeBase
        units = []
        while let item = try reader.next() {
            guard case .packet(let packet) = item, packet.streamIndex == reader.video.streamIndex else { continue }
            units.append(
                Unit(
                    bytes: packet.withBytes { Array($0) }, pts: packet.pts, duration: packet.duration,
                    isSync: packet.isSync))
        }
    }

    /// A stream of a small moving picture that x265 coded, key frames every `interval` frames.
    init(
        _ format: PixelFormat = .yu12, width: Int = 128, height: Int = 96, frames: Int = 40, interval: Int = 10,
        ending: String = "mp4", options: String = "", in folder: Scratch
    ) throws {
        let path = folder.path("coded-\(format.rawValue)-\(width)x\(height)-\(frames)-\(options.count).\(ending)")
        try Programs.tool(
            "ffmpeg",
            [
                "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(width)x\(height):rate=30", "-frames:v",
                "\(frames)", "-pix_fmt", format.ffmpegName, "-c:v", "libx265", "-preset", "ultrafast",
                "-x265-params", "keyint=\(interval):min-keyint=\(interval):log-level=none:bframes=2" + options,
                path,
            ])
        try self.init(path)
    }
}

/// A decoded picture, its samples copied without gaps.
struct DecodedSamples: Sendable, Equatable {
    var description: FrameDecoded
    var samples: [UInt8]

    static func == (a: DecodedSamples, b: DecodedSamples) -> Bool { a.samples == b.samples }
}

/// A client of one decompression session.
final class Decoder {
    let session: DecompressionSession
    private(set) var frames: [DecodedSamples] = []
    private(set) var reports: [PacketReport] = []
    private(set) var isFinished = false
    /// Off: pictures are held.
    var releasesFrames = true
    /// Off: samples are not copied.
    var copiesSamples = true
    private var held: [DecompressionSession.ReceivedFrame] = []

    init(
        _ daemon: Daemon, _ stream: CodedStream, pixelFormat: PixelFormat? = nil,
        specification: [PropertyKey: PropertyValue] = [:], properties: [PropertyKey: PropertyValue] = [:],
        frames: Int? = nil
    ) throws {
        var parameters = CreateDecompressionSession.Parameters(
            formatDescription: stream.description, timeBase: stream.timeBase, pixelFormat: pixelFormat,
            decoderSpecification: specification, properties: properties)
        parameters.frames = frames
        session = try DecompressionSession(daemon, parameters)
    }

    var id: String { session.created.session }

    /// Sends a packet once the session takes one.
    @discardableResult
    func decode(_ unit: CodedStream.Unit, isOutput: Bool = true, isAsynchronous: Bool = true) throws -> UInt64 {
        while !session.hasRoom() { try #require(try pump(), "no packet is taken") }
        while try pump(within: .zero) {}
        return try unit.bytes.withUnsafeBytes {
            try session.decode(
                $0, pts: unit.pts, duration: unit.duration, isOutput: isOutput, isAsynchronous: isAsynchronous)
        }
    }

    /// Handles one event; false when none came in time.
    @discardableResult
    func pump(within limit: Duration = hangLimit) throws -> Bool {
        guard let event = try session.nextEvent(timeout: limit) else { return false }
        switch event {
        case .finished: isFinished = true
        case .report(let report): reports.append(report)
        case .frame(let frame):
            frames.append(
                DecodedSamples(
                    description: frame.description, samples: copiesSamples ? Self.samples(frame) : []))
            if releasesFrames { try session.release(frame) } else { held.append(frame) }
        }
        return true
    }

    /// Sends all of a stream and takes every picture.
    func decode(_ stream: CodedStream) throws {
        for unit in stream.units { try decode(unit) }
        try finish()
    }

    /// Asks for every picture and takes them.
    func finish() throws {
        isFinished = false
        try session.finishDelayedFrames()
        while !isFinished { try #require(try pump(), "the session does not finish") }
    }

    func releaseAll() throws {
        for frame in held { try session.release(frame) }
        held = []
        releasesFrames = true
    }

    static func samples(_ frame: DecompressionSession.ReceivedFrame) -> [UInt8] {
        let picture = frame.description
        var samples: [UInt8] = []
        for (index, plane) in picture.layout.planes.enumerated() {
            let row = picture.format.rowBytes(plane: index, width: Int(picture.width))
            for line in 0..<picture.format.rows(plane: index, height: Int(picture.height)) {
                let start = Int(plane.offset) + line * Int(plane.stride)
                samples += frame.memory.bytes[start..<start + row]
            }
        }
        return samples
    }
}
