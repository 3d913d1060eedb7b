// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Pixel-transfer sessions that scale, and `hwctl convert --to-size`.
    @Suite struct Scaling {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// A session from 64x48 to a size, both of I010, and its memory.
        private final class Scaler {
            let session: TransferSession
            let target: SharedMemory
            private let source: SharedMemory
            private let from = FrameLayout.packed(.i010, width: 64, height: 48)
            private let to: (layout: FrameLayout, size: Int)
            private var sent: UInt64 = 0

            init(_ daemon: Daemon, width: Int, height: Int, _ options: CreateTransferSession.Options? = nil) throws
            {
                let image = CreateTransferSession.Image(pixelFormat: PixelFormat.i010.rawValue)
                session = try TransferSession(
                    daemon,
                    CreateTransferSession.Parameters(
                        width: 64, height: 48, targetWidth: width, targetHeight: height, source: image,
                        target: image,
                        options: options, device: "cpu"))
                to = FrameLayout.packed(.i010, width: width, height: height)
                source = try SharedMemory(creating: "source", size: from.size)
                target = try SharedMemory(creating: "target", size: to.size)
                let words = try #require(source.mutableBytes).bindMemory(to: UInt16.self)
                for index in words.indices { words[index] = 700 }
                try session.addPool(source, id: 1)
                try session.addPool(target, id: 2)
            }

            /// Luma of the first samples of the first row and of the middle row.
            func scale() throws -> (corner: UInt16, middle: UInt16) {
                sent += 1
                try session.transfer(
                    TransferFrame(
                        frameID: sent, source: TransferFrame.Place(poolID: 1, layout: from.layout),
                        target: TransferFrame.Place(poolID: 2, layout: to.layout)))
                guard case .frame(let answer)? = try session.nextEvent(timeout: hangLimit) else {
                    throw SessionError(.invalidSession, "no answer came")
                }
                try #require(answer.status == .ok, "\(answer.reason)")
                let plane = to.layout.planes[0]
                let middle = Int(plane.offset) + Int(plane.stride) * 48
                return (
                    target.bytes.loadUnaligned(fromByteOffset: Int(plane.offset), as: UInt16.self),
                    target.bytes.loadUnaligned(fromByteOffset: middle, as: UInt16.self)
                )
            }
        }

        @Test("ScalingMode and CleanAperture change between frames")
        func properties() throws {
            let scaler = try Scaler(server.daemon, width: 64, height: 96)
            #expect(try scaler.session.copyProperties([.scalingMode]) == [.scalingMode: .string("Normal")])
            #expect(try scaler.scale() == (700, 700))
            try scaler.session.setProperties([.scalingMode: .string("Letterbox")])
            #expect(try scaler.scale() == (64, 700))
            try scaler.session.setProperties([.scalingMode: .string("Trim"), .cleanAperture: .string("32x24+8+8")])
            #expect(try scaler.scale() == (700, 700))
            #expect(
                try scaler.session.copyProperties([.scalingMode, .cleanAperture]) == [
                    .scalingMode: .string("Trim"), .cleanAperture: .string("32x24+8+8"),
                ])
            for (key, value, status) in [
                (PropertyKey.scalingMode, "Squeeze", Status.parameter), (.cleanAperture, "65x48+0+0", .parameter),
                (.pixelTransferDevice, "none", .propertyReadOnly), (.averageBitRate, "1", .propertyNotSupported),
            ] {
                let error = #expect(throws: ClientError.self) {
                    try scaler.session.setProperties([key: .string(value)])
                }
                #expect(error?.code == .session(status), "\(key)")
            }
            #expect(try scaler.scale() == (700, 700), "the session continues")
        }

        @Test("A session that continues in another process keeps its properties")
        func succession() throws {
            let scaler = try Scaler(server.daemon, width: 64, height: 96)
            try scaler.session.setProperties([.scalingMode: .string("Letterbox")])
            #expect(try scaler.scale() == (64, 700))
            let sessions = try server.daemon.call(ListSessions.self, Empty()).sessions
            let own = try #require(sessions.first { $0.session == scaler.session.created.session })
            #expect(kill(Int32(own.pid), SIGKILL) == 0)
            #expect(try scaler.scale() == (64, 700))
            #expect(scaler.session.restartCount == 1)
        }

        @Test("Impossible sizes and options are refused at Create")
        func refuses() throws {
            let daemon = server.daemon
            func code(_ width: Int, _ height: Int, _ options: CreateTransferSession.Options? = nil) -> ClientError
                .Code?
            {
                do {
                    _ = try Scaler(daemon, width: width, height: height, options)
                    return nil
                } catch let error as ClientError { return error.code } catch { return nil }
            }
            for size in [(0, 48), (-1, 48), (64, 16385), (7, 48), (64, 400)] {
                #expect(code(size.0, size.1) == .session(.parameter), "\(size)")
            }
            var options = CreateTransferSession.Options()
            options.scalingFilter = "nearest"
            #expect(code(32, 24, options) == .session(.parameter))
            options.scalingFilter = nil
            options.cleanAperture = "64x49+0+0"
            #expect(code(32, 24, options) == .session(.parameter))
        }

        @Test("hwctl convert --to-size is zscale's filter")
        func convert() throws {
            let (input, output, judge) = (
                server.folder.path("in"), server.folder.path("out"), server.folder.path("judge")
            )
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=1280x720:duration=0.2", "-pix_fmt",
                    "yuv420p10le",
                    "-f", "rawvideo", input,
                ])
            let raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p10le"]
            try Programs.tool(
                "ffmpeg",
                ["-v", "error"] + raw + ["-s", "1280x720", "-i", input, "-vf", "zscale=214:120:filter=lanczos"]
                    + raw
                    + [judge])
            let run = try Programs.hwctl(
                [
                    "convert", input, output, "--size", "1280x720", "--to-size", "214x120", "--from", "i010",
                    "--to",
                    "i010",
                ], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let size = raw + ["-s", "214x120", "-i"]
            #expect(try psnr(size + [output], size + [judge], as: "yuv420p10le") >= 60)
            for (options, status) in [
                (["--to-size", "0x10"], 64), (["--to-size", "10"], 64), (["--to-size", "158x720"], 64),
                (["--to-size", "320x180", "--filter", "nearest"], 64), (["--clean-aperture", "10x10"], 64),
                (["--to-size", "320x180", "--scaling-mode", "Trim", "--clean-aperture", "1280x721+0+0"], 64),
            ] as [([String], Int32)] {
                let refused = try Programs.hwctl(
                    [
                        "convert", input, server.folder.path("none"), "--size", "1280x720", "--from", "i010",
                        "--to", "i010",
                    ]
                        + options, socket: server.socket)
                #expect(refused.status == status, "\(options): \(refused.errors)")
                #expect(!FileManager.default.fileExists(atPath: server.folder.path("none")))
            }
        }
    }
}
