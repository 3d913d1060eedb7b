// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWImages
import Testing

extension EndToEnd {
    /// HWImages' writer, checked by libheif, an independent checker and exiftool.
    @Suite(.needsLibHEIF) struct ImageWriting: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// The samples of a picture at full range that ffmpeg draws, as planes without gaps.
        static func planes(
            _ format: PixelFormat, width: Int, height: Int, shift: Int = 0
        ) throws -> (planes: [[UInt8]], strides: [Int]) {
            let names: [PixelFormat: String] = [
                .nv12: "nv12", .p010: "p010le", .yu12: "yuv420p", .i010: "yuv420p10le", .yuva: "yuva420p",
            ]
            let name = try #require(names[format])
            let alpha = format == .yuva ? ",format=yuva420p,geq=lum='lum(X,Y)':a='128+64*sin(X/40)'" : ""
            let run = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc=size=\(width)x\(height):rate=1", "-vf",
                    "select=gte(n\\,\(shift)),gblur=sigma=4" + alpha, "-frames:v", "1", "-pix_fmt", name, "-f",
                    "rawvideo", "-",
                ])
            var (bytes, planes, strides) = (Array(run.output)[...], [[UInt8]](), [Int]())
            for plane in 0..<format.planeCount {
                let row = format.rowBytes(plane: plane, width: width)
                let size = row * format.rows(plane: plane, height: height)
                planes.append(Array(bytes.prefix(size)))
                strides.append(row)
                bytes = bytes.dropFirst(size)
            }
            try #require(bytes.isEmpty && planes.last?.isEmpty == false)
            return (planes, strides)
        }

        static func image(_ format: PixelFormat, width: Int, height: Int, shift: Int = 0) throws -> SourceImage {
            let (planes, strides) = try Self.planes(format, width: width, height: height, shift: shift)
            return try SourceImage(format, width: width, height: height, planes: planes, strides: strides)
        }

        /// Fast options for tests.
        static func options(_ quality: Double = 0.7) -> ImageWriter.Options {
            var options = ImageWriter.Options()
            options.quality = quality
            options.properties = [.x265Preset: .string("veryfast")]
            return options
        }

        /// The PSNR of two planes of samples of 8 bits.
        static func quality(_ first: some Collection<UInt8>, _ second: some Collection<UInt8>) -> Double {
            guard first.count == second.count, !first.isEmpty else { return 0 }
            let sum = zip(first, second).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
            return sum == 0 ? 200 : 10 * log10(255 * 255 * Double(first.count) / Double(sum))
        }

        /// The samples that libheif reads of a file, as a Y4M file has them.
        private func theirs(_ name: String) throws -> Data {
            try Programs.tool("heif-convert", [path(name), path("theirs.y4m")])
            return try Y4MFrame.samples(path("theirs.y4m"))
        }

        private func check(_ expected: [String]) throws {
            let checker = try #require(StillEncoding.checker)
            let run = try Running(
                Programs.required("python3"), [checker, path("out.heic"), "--strict"] + expected
            ).wait()
            #expect(run.status == 0, "\(run.text.split(separator: "\n").filter { !$0.hasPrefix("PASS") })")
        }

        /// Makes out.heic of one picture.
        @discardableResult
        private func write(_ image: SourceImage, _ options: ImageWriter.Options) throws -> ImageWriter.Summary {
            let writer = try ImageWriter(to: path("out.heic"), daemon: server.daemon, options: options)
            #expect(!server.folder.contents.contains("out.heic"))
            try writer.add(image)
            return try writer.finish()
        }

        private func writeGrid(_ format: PixelFormat) throws -> ImageWriter.Summary {
            var options = Self.options()
            options.tileSize = 256
            return try write(Self.image(format, width: 801, height: 601), options)
        }

        private func writeTenBits(_ format: PixelFormat) throws {
            var image = try Self.image(format, width: 300, height: 200)
            image.color = ColorDescription(primaries: 9, transfer: 16, matrix: 9)
            try write(image, Self.options())
        }

        private func writeAlpha(isPremultiplied: Bool) throws {
            var image = try Self.image(.yuva, width: 701, height: 301)
            image.isPremultiplied = isPremultiplied
            var options = Self.options()
            options.alphaQuality = 0.9
            try write(image, options)
        }

        private func writeBurst() throws {
            var options = Self.options()
            (options.primary, options.thumbnailSize) = (1, 64)
            let writer = try ImageWriter(to: path("out.heic"), daemon: server.daemon, options: options)
            for shift in 0..<3 {
                var image = try Self.image(.yu12, width: 200, height: 120, shift: shift)
                if shift == 1 {
                    let map = try Self.planes(.yu12, width: 100, height: 60).planes[0]
                    image.depth = try GrayImage(map, width: 100, height: 60, stride: 100)
                    image.gainMap = image.depth
                    image.orientation = Orientation(turns: 1, isMirrored: false)
                }
                try writer.add(image)
            }
            #expect(try writer.finish().pictures == 3)
            #expect(throws: ImageError.self) { try writer.finish() }
        }

        @Test("The checker accepts a grid", .needsHEICChecker, arguments: [PixelFormat.yu12, .nv12])
        func strictGrid(_ format: PixelFormat) throws {
            _ = try writeGrid(format)
            try check(["--expect-grid", "3x4", "--expect-tile", "256", "--expect-thumb"])
        }

        @Test("The checker accepts samples of 10 bits", .needsHEICChecker, arguments: [PixelFormat.i010, .p010])
        func strictTenBits(_ format: PixelFormat) throws {
            try writeTenBits(format)
            try check([])
        }

        @Test("The checker accepts alpha", .needsHEICChecker, arguments: [true, false])
        func strictAlpha(_ isPremultiplied: Bool) throws {
            try writeAlpha(isPremultiplied: isPremultiplied)
            try check(["--expect-alpha", isPremultiplied ? "premultiplied" : "straight"])
        }

        @Test("The checker accepts a burst", .needsHEICChecker)
        func strictBurst() throws {
            try writeBurst()
            try check(["--expect-depth"])
        }

        @Test("A grid of an app's planes is read by libheif", arguments: [PixelFormat.yu12, .nv12])
        func grid(_ format: PixelFormat) throws {
            let summary = try writeGrid(format)
            #expect(summary.tiles == 12 && summary.pictures == 1 && summary.encoderID.contains("x265"))
            #expect(!summary.usingHardware)
            let size = try FileManager.default.attributesOfItem(atPath: path("out.heic"))[.size] as? Int
            #expect(summary.bytes == size)
            let read = try theirs("out.heic")
            let planes = try Self.planes(format, width: 801, height: 601).planes
            func every(second first: Int) -> [UInt8] {
                stride(from: first, to: planes[1].count, by: 2).map { planes[1][$0] }
            }
            let chroma = format == .nv12 ? every(second: 0) + every(second: 1) : planes[1] + planes[2]
            #expect(Self.quality(read, planes[0] + chroma) > 38)
            #expect(try Programs.tool("heif-info", [path("out.heic")]).text.contains("thumbnail: 320x240"))
        }

        @Test("Samples of 10 bits stay 10 bits", arguments: [PixelFormat.i010, .p010])
        func tenBits(_ format: PixelFormat) throws {
            try writeTenBits(format)
            let reader = try ImageReader(path: path("out.heic"), daemon: server.daemon)
            let picture = try reader.picture()
            #expect(picture.bitDepth == 10 && (picture.color.transfer, picture.color.matrix) == (16, 9))
            let decoded = try reader.decode()
            #expect(decoded.format == .i010 && decoded.color.transfer == 16)
            #expect(try reader.decode(as: .yu12).format == .yu12)
            let source = try Self.planes(.i010, width: 300, height: 200).planes[0]
            func high(_ bytes: some Sequence<UInt8>) -> [UInt8] {
                let all = Array(bytes)
                return stride(from: 0, to: all.count, by: 2).map { all[$0] >> 2 | all[$0 + 1] << 6 }
            }
            let ours = decoded.withPlanes { planes in (0..<planes[0].rowCount).flatMap { Array(planes[0][$0]) } }
            #expect(Self.quality(high(ours), high(source)) > 38)
            try Programs.tool("heif-convert", [path("out.heic"), path("theirs.png")])
            #expect(try Probe(path("theirs.png")).field("pix_fmt") == "rgb48be")
        }

        @Test("Alpha is joined by libheif", arguments: [true, false])
        func alpha(_ isPremultiplied: Bool) throws {
            try writeAlpha(isPremultiplied: isPremultiplied)
            try Programs.tool("heif-convert", [path("out.heic"), path("theirs.png")])
            let alpha = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("theirs.png"), "-vf", "alphaextract", "-f", "rawvideo", "-pix_fmt",
                    "gray", "-",
                ]
            ).output
            let source = try Self.planes(.yuva, width: 701, height: 301).planes[3]
            #expect(Self.quality(alpha, source) > 38)
            let decoded = try ImageReader(path: path("out.heic"), daemon: server.daemon).decode()
            #expect(decoded.format == .yuva)
            #expect(decoded.alphaMode == (isPremultiplied ? .premultiplied : .straight))
            #expect(
                decoded.withPlanes { planes in
                    (0..<planes[3].rowCount).flatMap { Array(planes[3][$0]) } == Array(alpha)
                })
        }

        @Test("A burst has a cover, and what belongs to each picture")
        func burst() throws {
            try writeBurst()
            let info = try Programs.tool("heif-info", [path("out.heic")]).text
            #expect(info.contains("image: 120x200 (id=") && info.contains("depth channel: yes"), "\(info)")
            let reader = try ImageReader(path: path("out.heic"), daemon: server.daemon)
            #expect(reader.pictures.count == 3)
            let cover = try #require(reader.pictures.first)
            #expect(cover.isPrimary && (cover.width, cover.height) == (120, 200))
            #expect(cover.orientation.turns == 1 && cover.thumbnails.count == 1)
            #expect(Set(cover.auxiliaries.compactMap(\.kind)) == [.depth, .gainMap])
            let depth = try reader.decode(auxiliary: .depth)
            #expect((depth.width, depth.height) == (60, 100))
        }

        @Test("Exif, XMP and an ICC profile are in the file", .needsExifTool)
        func documents() throws {
            let exif: [UInt8] = [
                0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0,
            ]
            let xmp = """
                <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>
                """
            var options = Self.options()
            (options.exif, options.xmp) = (exif, Array(xmp.utf8))
            var image = try Self.image(.yu12, width: 128, height: 96)
            image.iccProfile = (0..<300).map { UInt8($0 & 255) }
            let writer = try ImageWriter(to: path("out.heic"), daemon: server.daemon, options: options)
            try writer.add(image)
            _ = try writer.finish()
            let tags = try Programs.tool("exiftool", ["-n", "-s3", "-Orientation", path("out.heic")]).text
            #expect(tags == "1\n")
            let info = try Programs.tool("heif-info", [path("out.heic")]).text
            #expect(
                info.contains("color profile: prof") && info.contains("XMP: \(xmp.utf8.count) bytes"), "\(info)")
            let reader = try ImageReader(path: path("out.heic"), daemon: server.daemon)
            var upright = exif
            upright[19] = 1
            #expect(try reader.exif() == upright)
            #expect(try reader.xmp() == Array(xmp.utf8))
            #expect(try reader.picture().iccProfile == image.iccProfile)
        }

        @Test("What does not fit is refused, and no file appears")
        func refusals() throws {
            func code(_ body: () throws -> Void) -> ImageError.Code? {
                do { try body() } catch { return (error as? ImageError)?.code }
                return nil
            }
            let (planes, strides) = try Self.planes(.yu12, width: 64, height: 64)
            func image(_ format: PixelFormat, _ width: Int, _ height: Int, _ planes: [[UInt8]], _ strides: [Int])
                throws
            {
                _ = try SourceImage(format, width: width, height: height, planes: planes, strides: strides)
            }
            #expect(code { try image(.yu12, 64, 65, planes, strides) } == .parameter)
            #expect(code { try image(.yu12, 66, 64, planes, strides) } == .parameter)
            #expect(code { try image(.yu12, 64, 64, planes, [64, 32, Int.max]) } == .parameter)
            #expect(code { try image(.yu12, 64, 64, planes, [64, 32, -1]) } == .parameter)
            #expect(code { try image(.yu12, 64, 64, Array(planes.prefix(2)), [64, 32]) } == .parameter)
            #expect(code { try image(.yu12, 0, 64, planes, strides) } == .parameter)
            #expect(code { try image(.yu12, 1 << 40, 64, planes, strides) } == .parameter)
            #expect(code { try image(.bgra8, 64, 64, [planes[0]], [256]) } == .parameter)
            var options = Self.options()
            options.tileSize = 63
            #expect(code { _ = try ImageWriter(to: path("x.heic"), options: options) } == .parameter)
            #expect(code { _ = try ImageWriter(to: path("no/x.heic")) } == .cannotCreate)
            let good = try Self.image(.yu12, width: 64, height: 64)
            options = Self.options()
            options.specification = [.requireHardware: .bool(true)]
            let strict = try ImageWriter(to: path("x.heic"), daemon: server.daemon, options: options)
            #expect(code { try strict.add(good) } == .noHardware)
            #expect(code { _ = try strict.finish() } == .parameter)
            let stopped = try ImageWriter(to: path("x.heic"), daemon: server.daemon, isCancelled: { true })
            #expect(code { try stopped.add(good) } == .cancelled)
            let missing = try ImageWriter(to: path("x.heic"), daemon: Daemon(address: path("nobody")))
            #expect(code { try missing.add(good) } == .client(.notRunning))
            #expect(!server.folder.contents.contains { $0.hasPrefix("x.") || $0.hasPrefix(".") })
        }

        @Test("A second finish after a failed one touches no descriptor")
        func finishTwice() throws {
            let folder = path("gone")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let writer = try ImageWriter(
                to: folder + "/x.heic", daemon: server.daemon, options: Self.options())
            try writer.add(try Self.image(.yu12, width: 64, height: 64))
            try FileManager.default.removeItem(atPath: folder)
            #expect(ImageReading.code { _ = try writer.finish() } == .cannotCreate)
            // They take the number that the writer closed.
            let files = try (0..<64).map { number in
                let name = path("other-\(number)")
                #expect(FileManager.default.createFile(atPath: name, contents: nil))
                return (name, try #require(FileHandle(forWritingAtPath: name)))
            }
            #expect(ImageReading.code { _ = try writer.finish() } == .parameter)
            for (name, handle) in files {
                try handle.close()
                #expect(try Data(contentsOf: URL(fileURLWithPath: name)).isEmpty, "\(name)")
            }
        }

        @Test(
            "Pictures that no file or no session takes are refused before any session",
            arguments: [(16_448, 64, 64, "257x1 tiles"), (16_900, 64, 0, "levels"), (16_400, 64, 0, "16400x64")])
        func oversize(_ width: Int, _ height: Int, _ tile: Int, _ word: String) throws {
            let planes = [1, 4, 4].map { [UInt8](repeating: 128, count: width * height / $0) }
            let image = try SourceImage(
                .yu12, width: width, height: height, planes: planes, strides: [width, width / 2, width / 2])
            var options = Self.options()
            options.tileSize = tile
            // A session would find no daemon.
            let writer = try ImageWriter(
                to: path("x.heic"), daemon: Daemon(address: path("nobody")), options: options)
            do throws(ImageError) {
                try writer.add(image)
                Issue.record("a picture of \(width)x\(height)")
            } catch {
                #expect(error.code == .unsupported && error.reason.contains(word), "\(error)")
                #expect(error.exitStatus == .badInput)
            }
        }

        @Test("A task writes and reads without blocking, and a canceled one leaves no file")
        func tasks() async throws {
            let image = try Self.image(.yu12, width: 600, height: 400)
            let summary = try await ImageWriter.write(
                [image], to: path("out.heic"), daemon: server.daemon, options: Self.options())
            #expect(summary.tiles == 2)
            let decoded = try await ImageReader(path: path("out.heic"), daemon: server.daemon).decode()
            #expect(decoded.decodedCount == 2)
            // libheif 1.15 joins tiles in RGB.
            #expect(Self.quality(try theirs("out.heic"), ImageReading.samples(decoded)) > 40)
            // The decoded picture can be written again.
            _ = try await ImageWriter.write(
                [SourceImage(decoded)], to: path("again.heic"), daemon: server.daemon, options: Self.options())
            let (daemon, target) = (server.daemon, path("never.heic"))
            let task = Task {
                try await ImageWriter.write([image, image], to: target, daemon: daemon, options: Self.options())
            }
            task.cancel()
            await #expect(throws: ImageError.self) { try await task.value }
            #expect(!server.folder.contents.contains("never.heic"))
        }
    }
}

/// The first frame of a Y4M file.
enum Y4MFrame {
    static func samples(_ path: String) throws -> Data {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let header = try #require(bytes.firstIndex(of: 10))
        let frame = try #require(bytes[(header + 1)...].firstIndex(of: 10))
        return Data(bytes[(frame + 1)...])
    }
}
