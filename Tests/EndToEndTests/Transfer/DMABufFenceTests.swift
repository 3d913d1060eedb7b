// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDLinux
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// Fences, and devices that do not release a dma-buf.
extension EndToEnd.DMABufs {
    /// A fence that waits as long as it takes until it is signaled, on a slow machine, too.
    struct Fence {
        private let pipe = Pipe()
        var file: Int32 { pipe.fileHandleForReading.fileDescriptor }

        init() throws { try #require(fcntl(file, F_SETFL, O_NONBLOCK) == 0) }

        func signal() throws { try pipe.fileHandleForWriting.write(contentsOf: [1]) }
    }

    /// Round trips through the session's process, in which a frame that does not wait for its fence is read.
    static func roundTrips(_ session: TransferSession) throws {
        for _ in 0..<20 { _ = try session.copyProperties() }
    }

    @Test("A frame waits for its fence, which is a sync file and is waited for in bounds")
    func fences() throws {
        let server = try TestDaemon(environment: FakeBuffer.environment())
        let (from, to) = (
            try FakeBuffer(.nv12, width: Self.width, height: Self.height),
            try FakeBuffer(.bgra8, width: Self.width, height: Self.height)
        )
        let session = try Self.session(server)
        let (source, target) = (try from.picture(.source), try to.picture(.target))
        try session.addPicture(source, id: 1)
        try session.addPicture(target, id: 2)
        let null = open("/dev/null", O_RDWR)
        var sockets: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
        defer { for file in sockets + [null] { close(file) } }
        for (file, pool) in [(from.file.rawValue, UInt32(1)), (null, 2), (sockets[0], 1)] {
            let error = #expect(throws: ClientError.self) { try session.addFence(file, to: pool) }
            #expect(error?.reason.contains("is not a sync file") == true, "\(error?.reason ?? "")")
        }
        let (replaced, fence) = (try Fence(), try Fence())
        for pool in 1...2 as ClosedRange<UInt32> {
            // Another one for the same frame replaces it.
            try session.addFence(replaced.file, to: pool)
            try session.addFence(fence.file, to: pool)
        }
        try session.transfer(Self.frame(1, source, target))
        try Self.roundTrips(session)
        #expect(try session.nextEvent(timeout: .zero) == nil, "the frame did not wait")
        // Samples that come before the fence is signaled are those that are converted.
        from.fill(Self.noise(.nv12, 7))
        try fence.signal()
        #expect(try Self.answer(session).status == .ok)
        let pools = try Transferer(
            server.daemon, Self.video, Self.rgb, width: Self.width, height: Self.height)
        #expect(to.frame == (try pools.convertPacked(Self.noise(.nv12, 7))))

        let never = Pipe()
        try session.addFence(never.fileHandleForReading.fileDescriptor, to: 1)
        try session.transfer(Self.frame(2, source, target))
        let answer = try Self.answer(session)
        #expect(answer.status == .parameter && answer.reason.contains("was not signaled within the 2 s"))
        // It held for that frame only.
        try session.transfer(Self.frame(3, source, target))
        #expect(try Self.answer(session).status == .ok)
    }

    @Test("A frame is answered while the next one waits for its fence")
    func fenceOfNextFrame() throws {
        let server = try TestDaemon(environment: FakeBuffer.environment())
        let (from, to) = (
            try FakeBuffer(.nv12, width: Self.width, height: Self.height),
            try FakeBuffer(.bgra8, width: Self.width, height: Self.height)
        )
        let session = try Self.session(server)
        let (source, target) = (try from.picture(.source), try to.picture(.target))
        try session.addPicture(source, id: 1)
        try session.addPicture(target, id: 2)
        // Both sides of the frame before are others.
        let (free, result) = (
            try FakeBuffer(.nv12, width: Self.width, height: Self.height).picture(.source),
            try FakeBuffer(.bgra8, width: Self.width, height: Self.height).picture(.target)
        )
        try session.addPicture(free, id: 3)
        try session.addPicture(result, id: 4)
        let fence = try Fence()
        try session.addFence(fence.file, to: 1)
        try session.transfer(
            TransferFrame(
                frameID: 1, source: TransferFrame.Place(poolID: 3, layout: free.layout),
                target: TransferFrame.Place(poolID: 4, layout: result.layout)))
        try session.transfer(Self.frame(2, source, target))
        #expect(try Self.answer(session).frameID == 1)
        try fence.signal()
        let answer = try Self.answer(session)
        #expect(answer.frameID == 2 && answer.status == .ok, "\(answer.reason)")
    }

    @Test("A device that does not release a dma-buf is waited for in bounds, and the session continues")
    func busyBuffers() throws {
        let server = try TestDaemon(environment: FakeBuffer.environment())
        let (from, to, busy) = (
            try FakeBuffer(.nv12, width: Self.width, height: Self.height),
            try FakeBuffer(.bgra8, width: Self.width, height: Self.height),
            try FakeBuffer(.nv12, width: Self.width, height: Self.height)
        )
        try #require(chwd_add_seals(busy.file.rawValue, Int32(CHWD_SEAL_GROW)) == 0)
        let session = try Self.session(server)
        let (source, target, never) = (
            try from.picture(.source), try to.picture(.target), try busy.picture(.source)
        )
        try session.addPicture(source, id: 1)
        try session.addPicture(target, id: 2)
        try session.addPicture(never, id: 3)
        try session.transfer(
            TransferFrame(
                frameID: 1, source: TransferFrame.Place(poolID: 3, layout: never.layout),
                target: TransferFrame.Place(poolID: 2, layout: target.layout)))
        let answer = try Self.answer(session)
        #expect(
            answer.status == .parameter
                && answer.reason.hasPrefix("a device did not release a dma-buf within the 2 s"),
            "\(answer.reason)")
        try session.transfer(Self.frame(2, source, target))
        #expect(try Self.answer(session).status == .ok)
    }

    @Test("A frame to encode waits for its fence; one that is not signaled ends the session")
    func fencesOfEncoding() throws {
        let server = try TestDaemon(environment: FakeBuffer.environment())
        let buffer = try FakeBuffer(.nv12, width: Self.width, height: Self.height)
        let pooled = try Encoder(server.daemon, .nv12, width: Self.width, height: Self.height)
        let encoder = try Encoder(server.daemon, .nv12, width: Self.width, height: Self.height)
        let session = encoder.session
        // A request that meets a dead process is made again in another one.
        kill(try server.session(session.created.session).pid, SIGKILL)
        let fence = try Fence()
        let error = #expect(throws: ClientError.self) { try session.addFence(fence.file, to: 9) }
        #expect(error?.reason.contains("there is no picture 9") == true, "\(error?.reason ?? "")")
        #expect(session.restartCount == 1)
        let picture = try buffer.picture(.source)
        try session.addPicture(picture, id: 9)
        func encode(_ number: Int64) throws {
            try session.encode(
                EncodeFrame(
                    frameID: UInt64(number), pts: number, duration: 1, poolID: 9, layout: picture.layout))
        }
        try session.addFence(fence.file, to: 9)
        try encode(0)
        for _ in 0..<20 { _ = try session.copyProperties([.notices]) }
        #expect(session.framesInFlight == 1)
        buffer.fill(Self.noise(.nv12, 3))
        try fence.signal()
        try pooled.encode(Self.noise(.nv12, 3))
        try pooled.finish()
        try session.complete()
        var packets: [[UInt8]] = []
        loop: while let event = try session.nextEvent(timeout: hangLimit) {
            switch event {
            case .packet(let packet):
                packets.append(Array(packet.bytes))
                try session.release(packet)
            case .completed: break loop
            default: continue
            }
        }
        #expect(packets.count == 1 && packets == pooled.coded.map(\.bytes))
        let never = Pipe()
        try session.addFence(never.fileHandleForReading.fileDescriptor, to: 9)
        try encode(1)
        let end = #expect(throws: ClientError.self) {
            while try session.nextEvent(timeout: hangLimit) != nil {}
        }
        #expect(end?.status == .parameter)
        #expect(end?.reason.contains("was not signaled within the 2 s") == true, "\(end?.reason ?? "")")
    }
}
