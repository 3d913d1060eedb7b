// SPDX-License-Identifier: GPL-2.0-or-later
import HWDTransport
import Testing

@testable import HWClient

/// The buffers of one side of a session for tasks, without a session.
@Suite struct BufferSourceTests {
    @Test("However many frames a daemon says are kept, the memory has a bound", arguments: [0, 3, Int.max])
    func keptFrames(count: Int) throws {
        let sockets = try UnixSocket.pair()
        let thread = try SessionThread.start(socket: sockets.first.rawValue)
        defer {
            thread.stop()
            _ = sockets.first.rawValue  // Open until now.
        }
        // Frames of 6 MiB.
        var source = try BufferSource("NV12", width: 2048, height: 2048)
        source.keptCount = count
        var buffers: [PixelBuffer] = []
        while let buffer = try source.next(wakes: thread) { buffers.append(buffer) }
        // The session may keep the others.
        #expect(buffers.count == 8)
        let memory = try #require(buffers.first).memory
        let spared = source.sparedCount(in: memory)
        #expect(count == Int.max ? spared > 3 : spared == count)
        #expect(memory.size == (8 + spared) * (6 << 20) && memory.size <= 1 << 30)
    }
}
