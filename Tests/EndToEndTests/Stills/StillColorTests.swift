// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

/// Pictures by what states their color, range, matrix and depth: each output shows the colors that were coded, and those that
/// libheif and ffmpeg decode.
extension EndToEnd.StillDecoding {
    /// One kind of file.
    struct ColorKind: CustomTestStringConvertible, Sendable {
        /// `hvc1` or `av01`.
        var codec: String
        /// What states matrix and range: nclx, icc (beside the stream), stream, none, or nclx that the stream contradicts.
        var statement: String
        var isFull: Bool
        var matrix: Int
        var depth: Int
        var chroma = "420"

        var testDescription: String {
            "\(codec), \(statement), \(isFull ? "full" : "video") range, matrix \(matrix), \(depth) bits, \(chroma)"
        }

        /// ffmpeg's name of the matrix.
        var matrixName: String { [0: "rgb", 1: "bt709", 9: "bt2020nc"][matrix] ?? "smpte170m" }
        var pixels: String { (matrix == 0 ? "gbrp" : "yuv\(chroma)p") + (depth > 8 ? "\(depth)le" : "") }

        /// All that can be stated; a stream without a statement is BT.601 in video range.
        static let all: [ColorKind] = {
            var kinds: [ColorKind] = []
            for codec in ["hvc1", "av01"] {
                for statement in ["nclx", "icc", "stream", "none", "contradicted"] {
                    for isFull in [false, true] {
                        for (matrix, depth) in [1, 6, 9].flatMap({ matrix in [8, 10].map { (matrix, $0) } }) {
                            let isKnown = statement != "none" || !isFull && matrix == 6
                            // libaom writes its range in any case.
                            guard isKnown, codec == "hvc1" || statement != "none" else { continue }
                            kinds.append(
                                ColorKind(
                                    codec: codec, statement: statement, isFull: isFull, matrix: matrix, depth: depth
                                ))
                        }
                    }
                }
            }
            return kinds
        }()

        /// Pictures that are not 4:2:0.
        static let dense: [ColorKind] = {
            var kinds: [ColorKind] = []
            let forms: [(matrix: Int, chroma: String)] = [(0, "444"), (1, "444"), (6, "444"), (6, "422")]
            for statement in ["nclx", "stream"] {
                for form in forms {
                    for isFull in [true, false] where form.matrix != 0 || isFull {
                        kinds.append(
                            ColorKind(
                                codec: "hvc1", statement: statement, isFull: isFull, matrix: form.matrix, depth: 8,
                                chroma: form.chroma))
                    }
                }
            }
            return kinds
        }()
    }

    /// The colors of squares of 32x32 samples, 4 in a row.
    private static let patches: [[UInt8]] = [
        [0, 0, 0], [255, 255, 255], [191, 191, 191], [191, 0, 0], [0, 191, 0], [0, 0, 191], [191, 191, 0],
        [224, 172, 105],
    ]
    private static let (width, height) = (128, 64)

    private static func patch(_ x: Int, _ y: Int) -> [UInt8] { patches[y / 32 * 4 + x / 32] }

    /// Writes in.heic or in.avif.
    private func craft(_ kind: ColorKind) throws -> String {
        let still = try still(kind)
        let name = kind.codec == "hvc1" ? "in.heic" : "in.avif"
        try still.bytes.write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    private func still(_ kind: ColorKind) throws -> CraftedStill {
        var samples = Data("P6 \(Self.width) \(Self.height) 255\n".utf8)
        for y in 0..<Self.height { for x in 0..<Self.width { samples += Self.patch(x, y) } }
        try samples.write(to: URL(fileURLWithPath: path("in.ppm")))
        let range = kind.isFull ? "pc" : "tv"
        // Frames of raw video state nothing.
        let target = "out_color_matrix=\(kind.matrixName):out_range=\(range)"
        let scale = kind.matrix == 0 ? "" : "scale=\(target):flags=accurate_rnd,"
        try Programs.tool(
            "ffmpeg",
            [
                "-v", "error", "-y", "-i", path("in.ppm"), "-vf", "\(scale)format=\(kind.pixels)", "-f", "rawvideo",
                path("in.yuv"),
            ])
        var stated: [String] = []
        switch kind.statement {
        case "stream", "icc": stated = ["-color_range", range, "-colorspace", kind.matrixName]
        case "contradicted":
            let other = kind.matrix == 1 ? "smpte170m" : "bt709"
            stated = ["-color_range", kind.isFull ? "tv" : "pc", "-colorspace", other]
        default: break
        }
        let coder =
            kind.codec == "hvc1"
            ? ["-c:v", "libx265", "-tag:v", "hvc1", "-x265-params", "log-level=none:qp=4"]
            : ["-c:v", "libaom-av1", "-crf", "4", "-cpu-used", "8", "-still-picture", "1"]
        let size = "\(Self.width)x\(Self.height)"
        let raw = ["-f", "rawvideo", "-pix_fmt", kind.pixels, "-s", size, "-i", path("in.yuv")]
        try Programs.tool(
            "ffmpeg", ["-v", "error", "-y"] + raw + ["-frames:v", "1"] + coder + stated + [path("in.mp4")])
        var still = try CraftedStill(
            kind.codec, brand: kind.codec == "hvc1" ? "heic" : "avif",
            record: kind.codec == "hvc1" ? "hvcC" : "av1C", mp4: path("in.mp4"))
        (still.width, still.height) = (Self.width, Self.height)
        if ["nclx", "contradicted"].contains(kind.statement) {
            still.colors = [CraftedStill.codePoints(1, 13, kind.matrix, isFullRange: kind.isFull)]
        } else if kind.statement == "icc" {
            still.colors = [Data("prof".utf8) + Data(count: 200)]
        }
        return still
    }

    /// R, G and B of a picture's samples in 8 bits.
    private func pixels(_ file: String) throws -> [UInt8] {
        try Programs.tool("ffmpeg", ["-v", "error", "-i", file, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]).output
    }

    /// The largest difference of the samples inside of patches from the colors that were coded.
    private func error(_ file: String) throws -> Int {
        let samples = try pixels(file)
        try #require(samples.count == 3 * Self.width * Self.height)
        var most = 0
        for y in 0..<Self.height where (4..<28).contains(y % 32) {
            for x in 0..<Self.width where (4..<28).contains(x % 32) {
                for (component, value) in Self.patch(x, y).enumerated() {
                    most = max(most, abs(Int(samples[3 * (y * Self.width + x) + component]) - Int(value)))
                }
            }
        }
        return most
    }

    @Test(
        "Every output has the colors that were coded, whatever states them", .needsLibHEIF,
        arguments: sampled(ColorKind.all, oneIn: 5))
    func colors(_ kind: ColorKind) throws {
        let file = try craft(kind)
        try hwctl("decode", file, path("out.png"))
        #expect(try error(path("out.png")) <= 3)
        try hwctl("decode", file, path("out.jpg"))
        #expect(try error(path("out.jpg")) <= 5)
        try hwctl("encode", "--quality", "1", file, path("again.heic"))
        // ffmpeg does not read a PNG with the profile of zeros, which libheif copies.
        if kind.statement != "icc" {
            try Programs.tool("heif-convert", [path("again.heic"), path("again.png")])
            #expect(try error(path("again.png")) <= 5)
        }
        // libheif 1.15 takes samples without nclx to be full BT.601, whatever the stream says.
        if kind.codec == "hvc1", ["nclx", "contradicted"].contains(kind.statement) {
            try Programs.tool("heif-convert", [file, path("theirs.png")])
            #expect(try error(path("theirs.png")) <= 5)
        }
    }

    @Test(
        "Pictures with chroma for every sample keep it in PNG", .needsLibHEIF,
        arguments: sampled(ColorKind.dense, oneIn: 2))
    func denseColors(_ kind: ColorKind) throws {
        let file = try craft(kind)
        try hwctl("decode", file, path("out.png"))
        try hwctl("decode", file, path("out.jpg"))
        #expect(try error(path("out.jpg")) <= 5)
        #expect(try error(path("out.png")) <= 3)
        // At the edges of patches too: 4:2:2 has chroma for each row, 4:4:4 for each sample.
        let samples = try pixels(path("out.png"))
        let columns = kind.chroma == "444" ? 0..<32 : 4..<28
        var most = 0
        for y in 0..<Self.height {
            for x in 0..<Self.width where columns.contains(x % 32) {
                for (component, value) in Self.patch(x, y).enumerated() {
                    let sample = samples[3 * (y * Self.width + x) + component]
                    most = max(most, abs(Int(sample) - Int(value)))
                }
            }
        }
        #expect(most <= 8)
    }

    @Test("A region at any place is the part of the picture", arguments: ["png", "jpg"])
    func oddRegion(_ kind: String) throws {
        let file = try craft(ColorKind(codec: "hvc1", statement: "nclx", isFull: true, matrix: 6, depth: 8))
        try hwctl("decode", file, path("all.\(kind)"))
        let all = try pixels(path("all.\(kind)"))
        for (x, y) in [(0, 0), (16, 16), (17, 16), (16, 17), (33, 13), (95, 31)] {
            try hwctl("decode", "--region", "31x29+\(x)+\(y)", file, path("part.\(kind)"))
            let part = try pixels(path("part.\(kind)"))
            var most = 0
            // JPEG spreads the edges of patches over its blocks, which lie elsewhere in the part.
            let flat = kind == "png" ? 0..<32 : 8..<24
            // Chroma of the outermost samples depends on samples beyond them.
            for row in 2..<27 where flat.contains((y + row) % 32) {
                for column in 2..<29 where flat.contains((x + column) % 32) {
                    for component in 0..<3 {
                        let whole = all[3 * ((y + row) * Self.width + x + column) + component]
                        most = max(most, abs(Int(whole) - Int(part[3 * (row * 31 + column) + component])))
                    }
                }
            }
            #expect(most <= (kind == "png" ? 0 : 8), "\(x), \(y)")
        }
    }

    /// A file of HEVC in full range, or an overlay of it and the same picture from the middle on.
    private func oddFile(isOverlay: Bool = false) throws -> String {
        let still = try still(ColorKind(codec: "hvc1", statement: "nclx", isFull: true, matrix: 6, depth: 8))
        let bytes = isOverlay ? still.overlaid(at: Self.width / 2, hasAlpha: false) : still.bytes
        try bytes.write(to: URL(filePath: path("in.heic")))
        return path("in.heic")
    }

    @Test(
        "Chroma of a region at an odd position is the mean of the samples that it lies between",
        arguments: [(31, 13), (31, 12), (30, 13), (95, 31)], [false, true])
    func oddChroma(_ position: (x: Int, y: Int), _ isOverlay: Bool) throws {
        let file = try oddFile(isOverlay: isOverlay)
        let (x, y, width, height) = (position.x, position.y, 32, 30)
        try hwctl("decode", file, path("all.yuv"))
        try hwctl("decode", "--region", "\(width)x\(height)+\(x)+\(y)", file, path("part.yuv"))
        let (all, part) = try (
            [UInt8](Data(contentsOf: URL(filePath: path("all.yuv")))),
            [UInt8](Data(contentsOf: URL(filePath: path("part.yuv"))))
        )
        let planes = (all: Self.width * Self.height, part: width * height)
        try #require(all.count == planes.all * 3 / 2 && part.count == planes.part * 3 / 2)
        let stride = Self.width / 2
        var wrong = 0
        for plane in 0..<2 {
            let (start, target) = (planes.all + plane * (planes.all / 4), planes.part + plane * (planes.part / 4))
            for row in 0..<height / 2 {
                for column in 0..<width / 2 {
                    let (left, top) = (x / 2 + column, y / 2 + row)
                    var sum = 0
                    for line in [top, top + y % 2] {
                        sum +=
                            Int(all[start + line * stride + left]) + Int(all[start + line * stride + left + x % 2])
                    }
                    let found = Int(part[target + row * (width / 2) + column])
                    if abs(4 * found - sum) > 2 { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0)
    }

    /// Stickers that the samples around the region reach, with the margin or with the squares of chroma.
    @Test(
        "A region at an odd position beside a picture with alpha is that of the picture below",
        arguments: [(width: 31, sticker: 32), (width: 30, sticker: 31)])
    func oddRegionBesideAlpha(_ place: (width: Int, sticker: Int)) throws {
        let still = try still(ColorKind(codec: "hvc1", statement: "nclx", isFull: true, matrix: 6, depth: 8))
        try still.bytes.write(to: URL(filePath: path("plain.heic")))
        try still.overlaid(at: place.sticker, hasAlpha: true).write(to: URL(filePath: path("over.heic")))
        let region = "\(place.width)x29+1+1"
        for name in ["plain", "over"] {
            try hwctl("decode", "--region", region, path("\(name).heic"), path("\(name).y4m"))
        }
        let (plain, over) = try (
            [UInt8](Y4MFrame.samples(path("plain.y4m"))), [UInt8](Y4MFrame.samples(path("over.y4m")))
        )
        let luma = place.width * 29
        try #require(plain.count == luma + 2 * ((place.width + 1) / 2) * 15 && over.count == plain.count)
        #expect(over[..<luma] == plain[..<luma])
        // Chroma at the region's edge may come from fewer samples.
        let differences = zip(over, plain).map { abs(Int($0) - Int($1)) }
        #expect(differences.reduce(0, max) <= 8)
    }
}
