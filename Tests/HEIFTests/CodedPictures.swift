// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEIF
import HWDHEVC
import Testing

/// Pictures that x265 codes for the tests: the tiles of one picture in one stream.
struct CodedPicture {
    var picture: StillPicture
    /// The data of each tile, in rows from the top left.
    var tiles: [[UInt8]]

    /// What is coded.
    struct Options {
        /// The part of the tiles that is shown; all of them by default.
        var width: Int?
        var height: Int?
        var columns = 1
        var rows = 1
        var tile = (width: 128, height: 128)
        var format = "yuv420p"
        var colors = (primaries: "bt709", transfer: "iec61966-2-1", matrix: "smpte170m")
        var codePoints: (Int, Int, Int)? = (1, 13, 6)
        /// Where the test picture begins, so that pictures differ.
        var time = 0
    }

    /// Codes a test picture of ffmpeg.
    init(_ options: Options) throws {
        let scratch = try Scratch()
        let (source, stream) = (scratch.file("tiles.y4m"), scratch.file("tiles.hevc"))
        let (tile, count) = (options.tile, options.columns * options.rows)
        let size = "\(tile.width * options.columns)x\(tile.height * options.rows)"
        let split = count > 1 ? "untile=\(options.columns)x\(options.rows)," : ""
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=1", "-ss", "\(options.time)",
            "-vf", "\(split)format=\(options.format)", "-frames:v", "\(count)", "-strict", "-1", source)
        let isDeep = options.format.contains("10")
        try run(
            [
                "x265", "--input", source, "--output", stream, "--keyint", "1", "--bframes", "0", "--rc-lookahead",
                "0", "--scenecut", "0", "--no-info", "--qp", "20", "--ipratio", "1", "--range", "full",
                "--colorprim",
                options.colors.primaries, "--transfer", options.colors.transfer, "--colormatrix",
                options.colors.matrix, "--output-depth", isDeep ? "10" : "8", "--log-level", "error", "--preset",
                "ultrafast",
            ])
        var (sets, pictures) = ([[UInt8]](), [[UInt8]]())
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: stream)))
        for unit in AnnexB.NALUnits(bytes) {
            let type = try NALUnitHeader(nal: unit).nalUnitType
            if type.isParameterSet {
                if !sets.contains(Array(unit)) { sets.append(Array(unit)) }
            } else if type.isSlice {
                // first_slice_segment_in_pic_flag
                if unit[unit.startIndex + 2] >> 7 == 1 { pictures.append([]) }
                try LengthPrefixedNALUnits.append(unit, to: &pictures[pictures.count - 1])
            }
        }
        try #require(pictures.count == count)
        tiles = pictures
        picture = StillPicture(
            width: options.width ?? tile.width * options.columns,
            height: options.height ?? tile.height * options.rows,
            configuration: try DecoderConfigurationRecord(nalUnits: sets).relabelledAsStill())
        if let (primaries, transfer, matrix) = options.codePoints {
            picture.colors = [
                .codePoints(.init(primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: true))
            ]
        }
    }

    /// An alpha, a depth map or a gain map for `options`: 4:0:0 without colors.
    static func gray(_ options: Options) throws -> CodedPicture {
        var options = options
        options.format = "gray"
        options.codePoints = nil
        options.time += 7
        return try CodedPicture(options)
    }
}

/// A file with the data of its parts.
struct WrittenFile {
    var still: StillFile
    var pictures: [CodedPicture]
    var thumbnail: CodedPicture?
    var auxiliaries: [CodedPicture] = []
    var exif: [UInt8] = []
    var xmp: [UInt8] = []

    init(_ pictures: [CodedPicture]) {
        self.pictures = pictures
        still = StillFile(pictures.map(\.picture))
    }

    mutating func add(
        _ kind: AuxiliaryKind, _ coded: CodedPicture, _ edit: (inout StillAuxiliary) -> Void = { _ in }
    ) throws {
        var auxiliary = try #require(StillAuxiliary(kind, coded.picture))
        edit(&auxiliary)
        still.auxiliaries.append(auxiliary)
        auxiliaries.append(coded)
    }

    mutating func setThumbnail(_ coded: CodedPicture) {
        thumbnail = coded
        still.thumbnail = coded.picture
    }

    /// The bytes of each part of a layout.
    func data(_ layout: StillLayout) throws -> [[UInt8]] {
        try layout.parts.map { part in
            switch part.content {
            case .exif: exif
            case .xmp: xmp
            case .tile(let role, let row, let column):
                switch role {
                case .thumbnail: try #require(thumbnail).tiles[0]
                case .picture(let index): pictures[index].tiles[tile(pictures[index], row, column)]
                case .auxiliary(let index): auxiliaries[index].tiles[tile(auxiliaries[index], row, column)]
                }
            }
        }
    }

    private func tile(_ coded: CodedPicture, _ row: Int, _ column: Int) -> Int {
        // Rows are whole: the number of columns divides the number of tiles.
        let sps = coded.picture.configuration.nalUnits.compactMap { try? SequenceParameterSet(nal: $0) }[0]
        return row * ((coded.picture.width + sps.width - 1) / sps.width) + column
    }

    func bytes() throws -> [UInt8] {
        let layout = try StillLayout(still)
        return try layout.file(data(layout))
    }
}
