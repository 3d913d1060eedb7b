// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// A client of one pixel-transfer session, as an app would be.
final class Transferer {
    let session: TransferSession
    /// The converted frames.
    private(set) var results: [[UInt8]] = []

    private let source: (layout: FrameLayout, memory: SharedMemory)
    private let target: (layout: FrameLayout, memory: SharedMemory)
    private var sent: UInt64 = 0
    private typealias Side = (format: PixelFormat, width: Int, height: Int)
    private let sides: (source: Side, target: Side)

    init(
        _ daemon: Daemon, _ from: CreateTransferSession.Image, _ to: CreateTransferSession.Image, width: Int,
        height: Int, targetWidth: Int? = nil, targetHeight: Int? = nil,
        options: CreateTransferSession.Options? = nil, device: String = "cpu", sealsSource: Bool = false
    ) throws {
        session = try TransferSession(
            daemon,
            CreateTransferSession.Parameters(
                width: width, height: height, targetWidth: targetWidth, targetHeight: targetHeight, source: from,
                target: to, options: options, device: device))
        func place(
            _ image: CreateTransferSession.Image, _ isSealed: Bool, _ width: Int, _ height: Int
        ) throws -> (FrameLayout, SharedMemory) {
            let format = try #require(PixelFormat(rawValue: image.pixelFormat))
            let packed = FrameLayout.packed(format, width: width, height: height)
            return (
                packed.layout,
                try SharedMemory(creating: "test-frames", size: packed.size, readOnlyToOthers: isSealed)
            )
        }
        source = try place(from, sealsSource, width, height)
        target = try place(to, false, targetWidth ?? width, targetHeight ?? height)
        sides = (
            (try #require(PixelFormat(rawValue: from.pixelFormat)), width, height),
            (try #require(PixelFormat(rawValue: to.pixelFormat)), targetWidth ?? width, targetHeight ?? height)
        )
        try session.addPool(source.memory, id: 1)
        try session.addPool(target.memory, id: 2)
    }

    /// Writes 16-bit words to the source.
    func fill(_ word: (Int) -> UInt16) throws {
        let words = try #require(source.memory.mutableBytes, "the source cannot be written")
            .bindMemory(to: UInt16.self)
        for index in words.indices { words[index] = word(index) }
    }

    /// Converts a frame whose rows have no gaps, to one of that kind.
    func convertPacked(_ frame: [UInt8]) throws -> [UInt8] {
        let memory = try #require(source.memory.mutableBytes, "the source cannot be written")
        var position = 0
        for (start, count) in rows(source.layout, sides.source) {
            memory[start..<start + count].copyBytes(from: frame[position..<position + count])
            position += count
        }
        let answer = try convert()
        try #require(answer.status == .ok, "\(answer.reason)")
        let bytes = target.memory.bytes
        return rows(target.layout, sides.target).flatMap { start, count in Array(bytes[start..<start + count]) }
    }

    /// Where the rows of a frame begin, and their bytes.
    private func rows(_ layout: FrameLayout, _ side: Side) -> [(start: Int, count: Int)] {
        layout.planes.enumerated().flatMap { index, plane in
            (0..<side.format.rows(plane: index, height: side.height)).map { row in
                (
                    Int(plane.offset) + row * Int(plane.stride),
                    side.format.rowBytes(plane: index, width: side.width)
                )
            }
        }
    }

    /// Sends a frame and waits for its answer.
    func convert(_ color: ColorDescription? = nil) throws -> FrameTransferred {
        sent += 1
        try session.transfer(
            TransferFrame(
                frameID: sent, source: TransferFrame.Place(poolID: 1, layout: source.layout),
                target: TransferFrame.Place(poolID: 2, layout: target.layout), color: color))
        guard case .frame(let answer)? = try session.nextEvent(timeout: hangLimit) else {
            throw SessionError(.invalidSession, "no answer came")
        }
        if answer.status == .ok { results.append(Array(target.memory.bytes)) }
        return answer
    }
}
