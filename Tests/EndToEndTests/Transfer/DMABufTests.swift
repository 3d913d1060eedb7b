// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDLinux
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Pictures in dma-bufs, for which memfds stand: what they hold, refusals, fences, failures.
    @Suite struct DMABufs {
        static let (width, height) = (66, 38)
        static let video = CreateTransferSession.Image(pixelFormat: "NV12")
        static let rgb = CreateTransferSession.Image(pixelFormat: "AR24")

        static func noise(_ format: PixelFormat, _ seed: UInt32) -> [UInt8] {
            var state = seed
            let count = (0..<format.planeCount).reduce(0) { sum, plane in
                sum + format.rowBytes(plane: plane, width: width) * format.rows(plane: plane, height: height)
            }
            return (0..<count).map { _ in
                state = state &* 1_664_525 &+ 1_013_904_223
                return UInt8(truncatingIfNeeded: state >> 24)
            }
        }

        static func session(_ server: TestDaemon) throws -> TransferSession {
            try TransferSession(
                server.daemon,
                CreateTransferSession.Parameters(
                    width: width, height: height, source: video, target: rgb, device: "cpu"))
        }

        static func frame(_ number: UInt64, _ source: DMABufPicture, _ target: DMABufPicture) -> TransferFrame {
            TransferFrame(
                frameID: number, source: TransferFrame.Place(poolID: 1, layout: source.layout),
                target: TransferFrame.Place(poolID: 2, layout: target.layout))
        }

        static func answer(_ session: TransferSession) throws -> FrameTransferred {
            guard case .frame(let answer)? = try session.nextEvent(timeout: hangLimit) else {
                throw SessionError(.invalidSession, "no answer came")
            }
            return answer
        }

        @Test("Frames are converted from dma-bufs to dma-bufs as from pools to pools, after a worker's death too")
        func transfers() throws {
            let server = try TestDaemon(environment: FakeBuffer.environment())
            let (from, to) = (
                try FakeBuffer(.nv12, width: Self.width, height: Self.height),
                try FakeBuffer(.bgra8, width: Self.width, height: Self.height)
            )
            let pools = try Transferer(
                server.daemon, Self.video, Self.rgb, width: Self.width, height: Self.height)
            let session = try Self.session(server)
            let (source, target) = (try from.picture(.source), try to.picture(.target))
            try session.addPicture(source, id: 1)
            try session.addPicture(target, id: 2)
            for number in 1...4 as ClosedRange<UInt64> {
                if number == 3 { kill(try server.session(session.created.session).pid, SIGKILL) }
                let frame = Self.noise(.nv12, UInt32(number))
                from.fill(frame)
                try session.transfer(Self.frame(number, source, target))
                let answer = try Self.answer(session)
                try #require(answer.status == .ok, "\(answer.reason)")
                #expect(to.frame == (try pools.convertPacked(frame)))
            }
            #expect(session.restartCount == 1)
            #expect(from.gapsAreUntouched && to.gapsAreUntouched)
            try session.removePool(id: 1)
            let error = #expect(throws: ClientError.self) { try session.addFence(0, to: 1) }
            #expect(error?.status == .parameter)
        }

        @Test("Frames are encoded from dma-bufs as from pools")
        func encoding() throws {
            let server = try TestDaemon(environment: FakeBuffer.environment())
            let buffer = try FakeBuffer(.nv12, width: Self.width, height: Self.height)
            let pooled = try Encoder(server.daemon, .nv12, width: Self.width, height: Self.height)
            let encoder = try Encoder(server.daemon, .nv12, width: Self.width, height: Self.height)
            let picture = try buffer.picture(.source)
            let session = encoder.session
            try session.addPicture(picture, id: 9)
            for number in 0..<5 {
                let frame = Self.noise(.nv12, UInt32(number))
                try pooled.encode(frame)
                buffer.fill(frame)
                try session.encode(
                    EncodeFrame(
                        frameID: UInt64(number), pts: Int64(number), duration: 1, poolID: 9, layout: picture.layout)
                )
                // The encoder has read it: the next frame is written over it.
                var isRead = false
                while !isRead {
                    switch try #require(try session.nextEvent(timeout: hangLimit)) {
                    case .frameReleased: isRead = true
                    case .formatDescription: continue
                    default: Issue.record("a packet came before the session was flushed")
                    }
                }
            }
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
            #expect(packets.count == 5 && packets == pooled.coded.map(\.bytes))
            let notices = try session.copyProperties([.notices])[.notices]?.description
            #expect(notices?.contains("frames in dma-bufs are not kept") == true, "\(notices ?? "none")")
        }

        struct Refusal: Sendable, CustomTestStringConvertible {
            var testDescription: String
            var reason: String
            var status = Status.parameter
            var uses = AddPicture.Uses.source
            var change: @Sendable (inout AddPicture, inout [Int32]) -> Void
        }

        static let refusals = [
            Refusal(testDescription: "no dma-buf", reason: "is not a dma-buf") { $1 = [0] },
            Refusal(testDescription: "one dma-buf and another file", reason: "is not a dma-buf") { $1.append(0) },
            Refusal(
                testDescription: "a modifier", reason: "modifier 0x7 is not imported",
                status: .pixelTransferNotSupported
            ) {
                picture, _ in picture.modifier = 7
            },
            Refusal(testDescription: "an offset that overflows", reason: "ends past") { picture, _ in
                picture.planes[1].offset = .max - 1
            },
            Refusal(testDescription: "an offset past the end", reason: "ends past its dma-buf's") { picture, _ in
                picture.planes[1].offset = 1 << 40
            },
            Refusal(testDescription: "another size", reason: "not like the session's frames, NV12 of 66x38") {
                picture, _ in picture.height = 36
            },
            Refusal(testDescription: "another format", reason: "names 2") { picture, _ in
                picture.fourcc = PixelFormat.bgra8.fourcc
            },
            Refusal(
                testDescription: "another side's format", reason: "not like the session's frames", uses: .target
            ) {
                _, _ in
            },
            Refusal(testDescription: "a dma-buf twice", reason: "no plane is in dma-buf 1") { $1.append($1[0]) },
        ]

        @Test("What cannot be imported is refused, and the session continues", arguments: refusals)
        func refuses(_ refusal: Refusal) throws {
            let server = try TestDaemon(environment: FakeBuffer.environment())
            let (from, to) = (
                try FakeBuffer(.nv12, width: Self.width, height: Self.height),
                try FakeBuffer(.bgra8, width: Self.width, height: Self.height)
            )
            let session = try Self.session(server)
            let error = #expect(throws: ClientError.self) {
                try session.addPicture(try from.picture(refusal.uses, refusal.change), id: 1)
            }
            #expect(error?.status == refusal.status)
            #expect(error?.reason.contains(refusal.reason) == true, "\(error?.reason ?? "")")
            let (source, target) = (try from.picture(.source), try to.picture(.target))
            try session.addPicture(source, id: 1)
            try session.addPicture(target, id: 2)
            let again = #expect(throws: ClientError.self) { try session.addPicture(source, id: 1) }
            #expect(again?.reason.contains("pool 1 exists already") == true, "\(again?.reason ?? "")")
            try session.transfer(Self.frame(1, source, target))
            #expect(try Self.answer(session).status == .ok)
            #expect(session.restartCount == 0)
        }

        @Test("A memfd is not a dma-buf, sealed or not")
        func memfds() throws {
            let server = try TestDaemon()
            let session = try Self.session(server)
            let buffer = try FakeBuffer(.nv12, width: Self.width, height: Self.height)
            let sealed = try sealedMemory(buffer.bytes.count)
            for file in [buffer.file.rawValue, sealed.rawValue] {
                let error = #expect(throws: ClientError.self) {
                    try session.addPicture(try buffer.picture(.source) { $1 = [file] }, id: 1)
                }
                #expect(error?.status == .parameter)
                #expect(error?.reason.contains("is not a dma-buf") == true, "\(error?.reason ?? "")")
            }
            #expect(try server.daemon.call(GetFeatures.self, Empty()).features.contains("dmabufs"))
        }

        @Test(
            "A frame whose planes are not the picture's, or that uses it otherwise, ends the session",
            arguments: [0, 1, 2])
        func wrongFrames(_ fault: Int) throws {
            let server = try TestDaemon(environment: FakeBuffer.environment())
            let buffer = try FakeBuffer(.yu12, width: RawSession.width, height: RawSession.height)
            let session = try RawSession(
                server, transferring: CreateTransferSession.Image(pixelFormat: "YU12"),
                to: CreateTransferSession.Image(pixelFormat: "YU12"))
            let added = try session.send(buffer.message(.source), fds: [buffer.file.rawValue])
            try #require(try session.reply(to: added).status == .ok)
            let target = FrameLayout.packed(.yu12, width: RawSession.width, height: RawSession.height)
            let memory = try SharedMemory(creating: "test", size: target.size)
            try session.send(AddPool(poolID: 2, size: UInt64(target.size)), fds: [memory.file.rawValue])
            let picture = buffer.message(.source).layout
            // The second is that of the copy.
            let (source, from, to): (FrameLayout, UInt32, UInt32) = [
                (picture.moved(by: 2), 1, 2), (target.layout, 1, 2), (target.layout, 2, 1),
            ][fault]
            try session.send(
                TransferFrame(
                    frameID: 1, source: TransferFrame.Place(poolID: from, layout: source),
                    target: TransferFrame.Place(poolID: to, layout: fault == 2 ? picture : target.layout)))
            let end = try session.end()
            #expect(end?.status == .parameter)
            let reason = fault == 2 ? "not registered as a target" : "planes are not those of picture 1"
            #expect(end?.reason.contains(reason) == true, "\(end?.reason ?? "")")
        }

        @Test("Planes may be in dma-bufs of their own, of a source and of a target")
        func severalBuffers() throws {
            let server = try TestDaemon(environment: FakeBuffer.environment())
            let planar = CreateTransferSession.Image(pixelFormat: "YU12")
            let session = try TransferSession(
                server.daemon,
                CreateTransferSession.Parameters(
                    width: Self.width, height: Self.height, source: Self.video, target: planar, device: "cpu"))
            let from = try (0..<2).map { _ in try FakeBuffer(.nv12, width: Self.width, height: Self.height) }
            let to = try (0..<3).map { _ in try FakeBuffer(.yu12, width: Self.width, height: Self.height) }
            func split(_ buffers: [FakeBuffer], _ uses: AddPicture.Uses) throws -> DMABufPicture {
                try buffers[0].picture(uses) { message, files in
                    files = buffers.map { $0.file.rawValue }
                    for plane in message.planes.indices { message.planes[plane].object = UInt32(plane) }
                }
            }
            let (source, target) = (try split(from, .source), try split(to, .target))
            try session.addPicture(source, id: 1)
            try session.addPicture(target, id: 2)
            // The other plane of each dma-buf has other samples.
            let luma = Self.width * Self.height
            let (first, second) = (Self.noise(.nv12, 1), Self.noise(.nv12, 2))
            from[0].fill(first)
            from[1].fill(second)
            try session.transfer(Self.frame(1, source, target))
            let answer = try Self.answer(session)
            try #require(answer.status == .ok, "\(answer.reason)")
            let pools = try Transferer(server.daemon, Self.video, planar, width: Self.width, height: Self.height)
            let expected = try pools.convertPacked(Array(first[..<luma] + second[luma...]))
            let chroma = (Self.width / 2) * (Self.height / 2)
            let parts = [0..<luma, luma..<luma + chroma, luma + chroma..<luma + 2 * chroma]
            for (plane, part) in parts.enumerated() {
                for (buffer, written) in to.enumerated() {
                    let samples = Array(written.frame[part])
                    let untouched = [UInt8](repeating: FakeBuffer.guardByte, count: part.count)
                    #expect(samples == (plane == buffer ? Array(expected[part]) : untouched))
                }
            }
        }

        @Test("A picture has one to four dma-bufs", arguments: [0, 5])
        func countOfBuffers(_ count: Int) throws {
            let buffer = try FakeBuffer(.nv12, width: Self.width, height: Self.height)
            let error = #expect(throws: ClientError.self) {
                try buffer.picture(.source) { $1 = [Int32](repeating: $1[0], count: count) }
            }
            #expect(error?.status == .parameter)
            #expect(error?.reason == "a picture has \(count) dma-bufs, not 1 to 4")
        }

        @Test("A frame onto its own source, in the same dma-buf, is not repeated; one beside it is")
        func sameBuffer() throws {
            let server = try TestDaemon(environment: FakeBuffer.environment())
            let (from, to) = (
                try FakeBuffer(.nv12, width: Self.width, height: Self.height),
                try FakeBuffer(.bgra8, width: Self.width, height: Self.height)
            )
            let file = try unsealedMemory(1 << 16)
            for distance in [0, 1 << 15] as [UInt64] {
                let session = try Self.session(server)
                let (source, target) = (
                    try from.picture(.source) { $1 = [file.rawValue] },
                    try to.picture(.target) { message, files in
                        files = [file.rawValue]
                        message.planes[0].offset += distance
                    }
                )
                try session.addPicture(source, id: 1)
                try session.addPicture(target, id: 2)
                let fence = try Fence()
                try session.addFence(fence.file, to: 1)
                try session.transfer(Self.frame(1, source, target))
                kill(try server.session(session.created.session).pid, SIGKILL)
                if distance == 0 {
                    let error = #expect(throws: ClientError.self) { try session.nextEvent(timeout: hangLimit) }
                    #expect(error?.reason.contains("frame 1 may have overwritten a source") == true)
                } else {
                    try fence.signal()
                    #expect(try Self.answer(session).status == .ok)
                    #expect(session.restartCount == 1)
                }
            }
        }
    }
}
