// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Tables of effects in pixel-transfer sessions.
    @Suite struct EffectTables: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func write(_ text: String, _ name: String) throws -> String {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
            return path(name)
        }

        private func writePixels() throws -> String {
            let bytes = EffectFrames.pixels.withUnsafeBytes { Data($0) }
            try bytes.write(to: URL(fileURLWithPath: path("in.f16")))
            return path("in.f16")
        }

        private func pixels(_ name: String) throws -> [Float16] {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path(name)))
            return bytes.withUnsafeBytes { Array($0.bindMemory(to: Float16.self)) }
        }

        /// Planes G, B, R of what ffmpeg makes of the pixels.
        private func ffmpeg(_ filter: String) throws -> [[Float]] {
            let count = EffectFrames.width * EffectFrames.height
            let planes = [1, 2, 0].flatMap { channel in
                (0..<count).map { Float(EffectFrames.pixels[$0 * 4 + channel]) }
            }
            try planes.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: path("in.gbr")))
            let size = "\(EffectFrames.width)x\(EffectFrames.height)"
            let output = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "rawvideo", "-pix_fmt", "gbrpf32le", "-s", size, "-i", path("in.gbr"),
                    "-vf",
                    filter, "-f", "rawvideo", "-pix_fmt", "gbrpf32le", "-",
                ]
            ).output
            try #require(output.count == count * 12)
            let values = output.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
            return (0..<3).map { Array(values[$0 * count..<($0 + 1) * count]) }
        }

        private static let convert = [
            "--size", "\(EffectFrames.width)x\(EffectFrames.height)", "--from", "rgba16f", "--to", "rgba16f",
            "--from-primaries", "709",
            "--to-primaries", "709", "--device", "cpu",
        ]

        @Test("Tables that do not fit into a call give what ffmpeg's lut3d gives", arguments: [2, 33, 65])
        func cubes(size: Int) throws {
            let cube = try write(Cubes.text(size, Cubes.look), "look.cube")
            let arguments = [
                "convert", try writePixels(), path("out.f16"), "--effect", "lut:file=\(cube),space=linear",
            ]
            let run = try Programs.hwctl(arguments + Self.convert, socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let (got, wanted) = (try pixels("out.f16"), try ffmpeg("lut3d=file=\(cube):interp=tetrahedral"))
            var worst = 0.0
            for pixel in 0..<EffectFrames.width * EffectFrames.height {
                for (plane, channel) in [(0, 1), (1, 2), (2, 0)] {
                    let (value, exact) = (Double(got[pixel * 4 + channel]), Double(wanted[plane][pixel]))
                    let unit = Double(Float16(exact).ulp)
                    worst = max(worst, (abs(value - exact) - 1e-6) / unit)
                }
                #expect(got[pixel * 4 + 3] == 1)
            }
            #expect(worst <= 1, "\(worst) units in the last place")
        }

        @Test("Decoding and encoding take large tables, too; an identity in PQ keeps highlights")
        func commands() throws {
            let identity = try write(Cubes.text(65) { $0 }, "identity.cube")
            let clip = Clips.fixture("pq.mov").path
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", clip, "-map", "0:v:0", "-c", "copy", "-frames:v", "2", path("short.mov")])
            let decode = ["decode", "--format", "rgba16f", "--primaries", "p3", "--device", "cpu"]
            for (name, effects) in [("plain", []), ("same", ["--effect", "lut:file=\(identity),space=pq"])] {
                let run = try Programs.hwctl(
                    decode + effects + [path("short.mov"), path("\(name).raw")], socket: server.socket)
                try #require(run.status == 0, "\(run.errors)")
            }
            let (plain, same) = (try pixels("plain.raw"), try pixels("same.raw"))
            try #require(plain.count == same.count && plain.contains { $0 > 1.5 })
            for (value, exact) in zip(same, plain) where exact >= 0 {
                #expect(abs(value - exact) <= exact * 0.004 + 0.004, "\(exact) became \(value)")
            }
            let half = try write(Cubes.text(33) { $0 * 0.5 }, "half.cube")
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.2", "-pix_fmt",
                    "yuv420p", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-c:v",
                    "ffv1", path("plain.mkv"),
                ])
            try hwctl(
                "encode", "--preset", "ultrafast", "--effect", "lut:file=\(half),space=srgb",
                path("plain.mkv"), path("half.mov"))
        }

        @Test(
            "Files that are no tables are refused in one line, and nothing is written",
            arguments: [
                ("LUT_3D_SIZE 2\n0 0 0\n", "has 1 rows, not 8", Int32(65)),
                ("LUT_3D_SIZE 130\n", "the size is 130, not 2 to 129", 65),
                ("LUT_1D_SIZE 2\n0 0 0\nnan 1 1\n", "line 3: nan is not a number", 65),
                ("LUT_1D_SIZE 2\n0 0 0\n1 1 inf\n", "line 3: '1 1 inf' is not three numbers", 65),
                ("LUT_1D_SIZE 2\nLUT_3D_SIZE 2\n", "line 2: a second size", 65),
                ("LUT_1D_SIZE 2\n0,5 0 0\n1 1 1\n", "line 2: '0,5 0 0' is not three numbers", 65),
                ("LUT_1D_SIZE 2\nDOMAIN_MIN 1 0 0\n0 0 0\n1 1 1\n", "domain is empty", 65),
            ])
        func broken(text: String, reason: String, status: Int32) throws {
            let cube = try write(text, "broken.cube")
            try refuse("lut:file=\(cube),space=pq", reason, status)
        }

        @Test("Files that are absent or too large, and effects that are not possible, are refused in one line")
        func refused() throws {
            let large = path("large.cube")
            #expect(FileManager.default.createFile(atPath: large, contents: nil))
            try #require(truncate(large, 64 << 20 + 1) == 0)
            try refuse("lut:file=\(large),space=pq", "large.cube", 66)
            try refuse("lut:file=\(path("absent.cube")),space=pq", "absent.cube", 66)
            let cube = try write(Cubes.text(33) { $0 }, "identity.cube")
            try refuse("lut:file=\(cube)", "with an HDR target, space is needed", 64)
            try refuse("exposure:ev=11", "ev=11 is not within -10.0…10.0", 64)
            try refuse("cdl:power=0", "power=0 is not within", 64)
        }

        private func refuse(_ effect: String, _ reason: String, _ status: Int32) throws {
            let arguments = ["convert", try writePixels(), path("out.f16"), "--effect", effect]
            let run = try Programs.hwctl(arguments + Self.convert, socket: server.socket)
            #expect(run.status == status, "\(run.errors)")
            #expect(run.complaints.count == 1 && run.errors.contains(reason), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: path("out.f16")))
        }

        // MARK: - Messages

        private static func memory(_ text: String) throws -> SharedMemory {
            let memory = try SharedMemory(creating: "test-table", size: text.utf8.count)
            memory.mutableBytes?.copyBytes(from: Array(text.utf8))
            return memory
        }

        /// A frame from the first half of a session's pool to the second.
        private static func frame(_ number: UInt64) -> TransferFrame {
            func place(_ base: Int) -> TransferFrame.Place {
                let size = (RawSession.width, RawSession.height)
                return TransferFrame.Place(
                    poolID: 1,
                    layout: FrameLayout.packed(.rgba16f, width: size.0, height: size.1, base: base).layout)
            }
            return TransferFrame(frameID: number, source: place(0), target: place(1 << 19))
        }

        @Test("What is wrong with an added table is a failed reply, and the table can be added again")
        func tables() throws {
            let session = try RawSession(
                server, transferring: EffectFrames.parameters(["lut:table=0,space=pq"], added: 2))
            try session.addPool()
            let text = Cubes.text(3) { $0 }
            func add(_ number: UInt32, _ text: String, size: Int? = nil) throws -> Reply {
                let memory = try Self.memory(text)
                let message = AddTable(table: number, size: UInt64(size ?? memory.size))
                return try session.reply(to: try session.send(message, fds: [memory.file.rawValue]))
            }
            for (reply, reason) in [
                (try add(2, text), "table 2 is not one that was to be added"),
                (try add(0, text, size: text.utf8.count + 1), "but its memfd has"),
                (try add(0, text, size: 0), "but its memfd has"),
                (try add(0, "LUT_1D_SIZE 2\n0 0 0\n1 1 nan\n"), "table 0: line 3: '1 1 nan' is not three numbers"),
            ] {
                #expect(reply.status == .parameter)
                let text = String(decoding: reply.body, as: UTF8.self)
                #expect(text.contains(reason), "\(text)")
            }
            let folder = try Scratch()
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("plain.cube")))
            let plain = open(folder.path("plain.cube"), O_RDONLY)
            defer { close(plain) }
            let unsealed = try session.reply(
                to: try session.send(AddTable(table: 0, size: UInt64(text.utf8.count)), fds: [plain]))
            #expect(unsealed.status == .parameter)
            let words = String(decoding: unsealed.body, as: UTF8.self)
            #expect(words.contains("of a table is not"), "\(words)")
            #expect(try add(0, text).status == .ok)
            #expect(try add(0, text).status == .parameter)
            // Table 1 is still missing.
            try session.send(Self.frame(1))
            let result = try server.result(session.id)
            #expect(result.finished && result.code == Status.parameter.rawValue)
            #expect(result.reason.contains("comes before table 1 was added"), "\(result.reason)")
            #expect(!server.log.contains("signal"), "\(server.log)")
        }

        @Test("A table that is swapped while it is read harms nobody, and later writes change nothing")
        func swapped() throws {
            // Numbers of the same form, so that any mixture of the two is a table, too.
            let texts = ["1.000 0.500 0.250\n", "0.500 0.250 0.125\n"].map { line in
                Array(("LUT_3D_SIZE 17\n" + String(repeating: line, count: 17 * 17 * 17)).utf8)
            }
            let memory = try Self.memory(String(decoding: texts[0], as: UTF8.self))
            let isDone = Guarded(false)
            let results = try concurrently(2) { lane -> [(first: [UInt8], last: [UInt8])] in
                guard lane == 0 else {
                    defer { isDone.change { $0 = true } }
                    return try (0..<10).map { _ in try self.results(of: memory) }
                }
                var turn = 0
                while !isDone.value {
                    memory.mutableBytes?.copyBytes(from: texts[turn % 2])
                    turn += 1
                }
                return []
            }
            for (first, last) in try results[1].get() {
                let areSame = first == last
                #expect(areSame && first.contains { $0 != 0 })
            }
            #expect(!server.log.contains("signal"), "\(server.log)")
        }

        /// What a session with a table makes of a frame, at first and later; nothing where the table is refused.
        private func results(of memory: SharedMemory) throws -> (first: [UInt8], last: [UInt8]) {
            let session = try RawSession(
                server, transferring: EffectFrames.parameters(["lut:table=0,space=linear"], added: 1))
            defer { session.close() }
            try session.addPool()
            let sequence = try session.send(
                AddTable(table: 0, size: UInt64(memory.size)), fds: [memory.file.rawValue])
            let reply = try session.reply(to: sequence)
            try #require(reply.status == .ok, "\(reply)")
            let bytes = try #require(session.memory?.mutableBytes)
            let half = Float16(0.5).bitPattern
            for index in 0..<(1 << 18) { bytes.storeBytes(of: half, toByteOffset: index * 2, as: UInt16.self) }
            func convert(_ number: UInt64) throws -> [UInt8] {
                try session.send(Self.frame(number))
                try session.send(opcode: Opcode.finishFrames.rawValue)
                while let (opcode, _) = try session.nextMessage() {
                    if opcode == Opcode.frameTransferred.rawValue { return Array(bytes[(1 << 19)...]) }
                }
                return []
            }
            return (try convert(1), try convert(2))
        }
    }
}
