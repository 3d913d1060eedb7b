// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWImages
import Testing

extension EndToEnd {
    /// HWImages' reader, checked by libheif and by `hwctl decode`.
    @Suite struct ImageReading: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func reader(_ path: String) throws -> ImageReader {
            try ImageReader(path: path, daemon: server.daemon)
        }

        /// The samples of a picture without gaps.
        static func samples(_ image: DecodedImage) -> Data {
            image.withPlanes { planes in
                planes.reduce(into: Data()) { data, plane in
                    for row in 0..<plane.rowCount { data.append(contentsOf: plane[row]) }
                }
            }
        }

        /// The code of the error that `body` throws; nil without one.
        static func code(_ body: () throws -> Void) -> ImageError.Code? {
            do { try body() } catch { return (error as? ImageError)?.code }
            return nil
        }

        /// The error of opening and decoding a file; nil without one.
        private func error(_ path: String, item: UInt32? = nil) -> ImageError? {
            do throws(ImageError) {
                _ = try ImageReader(path: path, daemon: server.daemon).decode(item: item)
                return nil
            } catch { return error }
        }

        @Test(
            "Samples equal libheif's", .enabled(if: Clips.hasShared, Clips.needsShared), .needsLibHEIF,
            arguments: [
                ("still_androidx.heic", ""), ("heic/C006_alpha.heic", ""), ("heic/C013_clap.heic", "-1"),
                ("heic/C018_overlay.heic", "-1"), ("heic/motion_photo_mpvd.heic", ""),
            ])
        func samplesEqualLibheif(_ name: String, _ number: String) throws {
            let input = try StillDecoding.shared(name)
            let image = try reader(input).decode(as: .yu12)
            try Programs.tool("heif-convert", [input, path("theirs.y4m")])
            let size = try Probe(path("theirs\(number).y4m")).size
            #expect(size == (image.width, image.height))
            let theirs = try Y4MFrame.samples(path("theirs\(number).y4m"))
            if image.color.isFullRange {
                #expect(Self.samples(image) == theirs)
            } else {
                // heif-convert goes through RGB to full range.
                try hwctl("decode", input, path("ours.yuv"))
                #expect(try Self.samples(image) == Data(contentsOf: URL(fileURLWithPath: path("ours.yuv"))))
            }
        }

        @Test(
            "A region of a turned grid is what hwctl decodes", .enabled(if: Clips.hasShared, Clips.needsShared))
        func region() throws {
            let input = try StillDecoding.shared("still_arrow.heic")
            try hwctl("decode", "--region", "600x400+1000+700", input, path("part.yuv"))
            let expected = try Data(contentsOf: URL(fileURLWithPath: path("part.yuv")))
            let reader = try reader(input)
            let part = try reader.decode(region: PixelRect(x: 1000, y: 700, width: 600, height: 400))
            #expect((part.width, part.height, part.decodedCount) == (600, 400, 4))
            #expect(Self.samples(part) == expected)
            #expect(part.iccProfile?.isEmpty == false && part.decoder?.usingHardware == false)
            for (x, width) in [(3000, 100), (Int.max, Int.max), (0, 0), (-1, 2)] {
                let region = PixelRect(x: x, y: 0, width: width, height: 1)
                #expect(Self.code { _ = try reader.decode(region: region) } == .parameter, "\(region)")
            }
        }

        @Test("A description has what hwctl info says", .enabled(if: Clips.hasShared, Clips.needsShared))
        func description() throws {
            let reader = try reader(try StillDecoding.shared("still_arrow.heic"))
            let picture = try #require(reader.pictures.first)
            #expect(picture.isPrimary && !picture.isHidden && picture.item == reader.primaryItem)
            #expect((picture.width, picture.height, picture.bitDepth) == (3024, 4032, 8))
            #expect(picture.type == "grid" && picture.tileWidth == 512 && picture.tileHeight == 512)
            #expect(picture.orientation.turns == 3 && !picture.orientation.isMirrored && picture.alphaMode == nil)
            #expect(picture.thumbnails.map(\.item) == [50])
            let exif = try #require(try reader.exif())
            try hwctl("decode", "--exif", path("exif.tiff"), reader.path, path("x.yuv"))
            // hwctl brings the orientation, 6, to 1: its picture is upright.
            let upright = try Data(contentsOf: URL(fileURLWithPath: path("exif.tiff")))
            #expect(exif.count == upright.count)
            #expect(zip(exif, upright).filter { $0 != $1 }.map { [$0, $1] } == [[6, 1]])
            let small = try reader.decode(thumbnailWithin: 200)
            #expect((small.width, small.height, small.decodedCount) == (150, 200, 1))
        }

        @Test("A small picture is the mean of a large one")
        func thumbnail() throws {
            let image = try ImageWriting.image(.yu12, width: 512, height: 256)
            var options = ImageWriting.options(0.9)
            options.thumbnailSize = 0
            let writer = try ImageWriter(to: path("out.heic"), daemon: server.daemon, options: options)
            try writer.add(image)
            _ = try writer.finish()
            let small = try reader(path("out.heic")).decode(thumbnailWithin: 100)
            #expect((small.width, small.height) == (100, 50))
            // Of swscale.
            try hwctl("decode", "--thumbnail", "100", path("out.heic"), path("small.yuv"))
            let theirs = try Data(contentsOf: URL(fileURLWithPath: path("small.yuv")))
            #expect(ImageWriting.quality(Self.samples(small), theirs) > 45)
        }

        @Test("A thumbnail without alpha does not stand for a picture with it")
        func thumbnailAlpha() throws {
            let writer = try ImageWriter(
                to: path("out.heic"), daemon: server.daemon, options: ImageWriting.options(0.9))
            try writer.add(try ImageWriting.image(.yuva, width: 800, height: 400))
            _ = try writer.finish()
            let reader = try reader(path("out.heic"))
            #expect(try reader.picture().thumbnails.map(\.width) == [320])
            let opaque = try reader.decode(thumbnailWithin: 200, as: .yu12)
            #expect((opaque.width, opaque.height, opaque.decodedCount, opaque.format) == (200, 100, 1, .yu12))
            // Of swscale.
            try hwctl("decode", "--thumbnail", "200", path("out.heic"), path("small.png"))
            let theirs = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("small.png"), "-vf", "alphaextract", "-f", "rawvideo", "-pix_fmt",
                    "gray", "-",
                ]
            ).output
            #expect(Set(theirs).count > 32)
            for format in [nil, PixelFormat.yuva] {
                let small = try reader.decode(thumbnailWithin: 200, as: format)
                #expect((small.width, small.height, small.format) == (200, 100, .yuva))
                #expect(small.alphaMode == .straight && small.decodedCount > 1)
                #expect(ImageWriting.quality(Self.samples(small).suffix(200 * 100), theirs) > 40)
            }
            // Without alpha hwctl decodes the thumbnail.
            let run = try hwctl("decode", "--json", "--thumbnail", "200", path("out.heic"), path("small.yuv"))
            let document = try #require(JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(document["decoded_items"] as? Int == 1)
        }

        @Test("Files beyond the limits and sequences without a picture are unsupported")
        func unsupported() throws {
            var bytes = try Data(contentsOf: Clips.fixture("still.heic"))
            for _ in 0...4096 { bytes += [0, 0, 0, 8] + Data("free".utf8) }
            try bytes.write(to: URL(fileURLWithPath: path("boxes.heic")))
            let many = try #require(error(path("boxes.heic")))
            #expect(many.code == .unsupported && many.exitStatus == .badInput, "\(many)")
            try hwctl("info", path("boxes.heic"), status: 65)
            try hwctl("encode", Clips.fixture("bframes.mp4").path, path("out.heics"))
            bytes = try Data(contentsOf: URL(fileURLWithPath: path("out.heics")))
            // The first box of this type is that of the file.
            bytes.replaceSubrange(try #require(bytes.range(of: Data("meta".utf8))), with: Data("free".utf8))
            try bytes.write(to: URL(fileURLWithPath: path("alone.heics")))
            let reader = try reader(path("alone.heics"))
            #expect(reader.primaryItem == nil && reader.items.isEmpty && reader.pictures.isEmpty)
            let alone = try #require(error(path("alone.heics")))
            #expect(alone.code == .unsupported && alone.reason.contains("image sequence"), "\(alone)")
        }

        @Test("Formats that are asked for, and those that are not possible")
        func formats() throws {
            let reader = try reader(Clips.fixture("still.heic").path)
            let plain = try reader.decode()
            #expect(plain.format == .yu12 && plain.alphaMode == nil)
            let opaque = try reader.decode(as: .yuva)
            let color = Self.samples(plain)
            #expect(opaque.format == .yuva && Self.samples(opaque).prefix(color.count) == color)
            #expect(Self.samples(opaque).dropFirst(color.count).allSatisfy { $0 == 255 })
            let deep = try reader.decode(as: .i010)
            #expect((deep.format, deep.width, deep.height) == (.i010, plain.width, plain.height))
            for format in [PixelFormat.bgra8, .nv12] {
                #expect(Self.code { _ = try reader.decode(as: format) } == .parameter)
            }
            #expect(Self.code { _ = try reader.decode(item: 77) } == .noSuchPicture)
            #expect(Self.code { _ = try reader.picture(77) } == .noSuchPicture)
            #expect(Self.code { _ = try reader.decode(auxiliary: .depth) } == .noSuchPicture)
            // The codes of exits stay those of input that does not fit.
            try hwctl("decode", "--item", "77", reader.path, path("x.png"), status: 65)
            try hwctl("decode", "--aux", "depth", reader.path, path("x.png"), status: 65)
            try hwctl("decode", "--region", "64x64+60000+0", reader.path, path("x.png"), status: 65)
            let strict = try ImageReader(
                path: reader.path, daemon: server.daemon, specification: [.requireHardwareDecoder: .bool(true)])
            do throws(ImageError) {
                _ = try strict.decode()
                Issue.record("a decoder in hardware")
            } catch { #expect(error.code == .noHardware, "\(error)") }
            do throws(ImageError) {
                _ = try reader.decode(isCancelled: { true })
                Issue.record("a canceled picture")
            } catch { #expect(error.code == .cancelled, "\(error)") }
        }

        @Test("A damaged file is one error of one line")
        func damaged() throws {
            let small = Clips.fixture("damaged/trunc.heic").path
            let files = [small] + Clips.sharedDamaged.filter { $0.pathExtension == "heic" }.map(\.path)
            for file in files where !file.hasSuffix("pillow_truncated.heic") {
                let error = try #require(self.error(file), "\(file)")
                #expect([.damaged, .unsupported].contains(error.code), "\(error)")
                #expect(!error.reason.contains("\n") && error.reason.contains(file), "\(error)")
                #expect(error.exitStatus == .badInput)
            }
            #expect(error(path("missing.heic"))?.code == .noInput)
            #expect(error(server.folder.root)?.code == .damaged)
            #expect(error(Clips.fixture("bframes.mp4").path)?.code == .damaged)
            #expect(mkfifo(path("fifo"), 0o600) == 0)
            #expect(error(path("fifo"))?.code == .damaged)
        }

        @Test("Pictures that sessions do not decode are named", .enabled(if: Clips.hasShared, Clips.needsShared))
        func otherChroma() throws {
            let error = try #require(self.error(try StillDecoding.shared("still_exif_xmp.heic")))
            #expect(error.code == .unsupported && error.reason.contains("item 1 is of type \"hvc1\""), "\(error)")
        }

        @Test("A picture that is not HEVC is named with its type")
        func otherCodec() throws {
            let writer = try ImageWriter(
                to: path("out.heic"), daemon: server.daemon, options: ImageWriting.options())
            try writer.add(try ImageWriting.image(.yu12, width: 64, height: 64))
            _ = try writer.finish()
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path("out.heic")))
            let type = try #require(bytes.range(of: Data("hvc1".utf8)))
            bytes.replaceSubrange(type, with: Data("jpeg".utf8))
            try bytes.write(to: URL(fileURLWithPath: path("jpeg.heic")))
            let error = try #require(self.error(path("jpeg.heic")))
            #expect(error.code == .unsupported && error.reason.contains("of type \"jpeg\""), "\(error)")
        }
    }
}
