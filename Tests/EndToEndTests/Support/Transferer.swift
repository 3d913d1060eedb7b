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

    init(
        _ daemon: Daemon, _ from: CreateTransferSession.Image, _ to: CreateTransferSession.Image, width: Int,
        height: Int, device: String = "cpu", sealsSource: Bool = false
    ) throws {
        session = try TransferSession(
            daemon,
            CreateTransferSession.Parameters(width: width, height: height, source: from, target: to, device: device)
        )
        func place(_ image: CreateTransferSession.Image, _ isSealed: Bool) throws -> (FrameLayout, SharedMemory) {
            let format = try #require(PixelFormat(rawValue: image.pixelFormat))
            let packed = FrameLayout.packed(format, width: width, height: height)
            return (
                packed.layout,
                try SharedMemory(creating: "test-frames", size: packed.size, readOnlyToOthers: isSealed)
            )
        }
        source = try place(from, sealsSource)
        target = try place(to, false)
        try session.addPool(source.memory, id: 1)
        try session.addPool(target.memory, id: 2)
    }

    /// Writes 16-bit words to the source.
    func fill(_ word: (Int) -> UInt16) throws {
        let words = try #require(source.memory.mutableBytes, "the source cannot be written")
            .bindMemory(to: UInt16.self)
        for index in words.indices { words[index] = word(index) }
    }

    /// Sends a frame and waits for its answer.
    func convert(_ color: ColorDescription? = nil) throws -> FrameTransferred {
        sent += 1
        try session.transfer(
            TransferFrame(
                frameID: sent, source: TransferFrame.Place(poolID: 1, layout: source.layout),
                target: TransferFrame.Place(poolID: 2, layout: target.layout), color: color))
        guard case .frame(let answer)? = try session.nextEvent(timeout: .seconds(30)) else {
            throw SessionError(.invalidSession, "no answer came")
        }
        if answer.status == .ok { results.append(Array(target.memory.bytes)) }
        return answer
    }
}
