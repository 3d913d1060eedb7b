// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDWire
internal import HWImages

/// What `hwctl encode` reports of a HEIC file.
struct StillEncodeSummary: CommandSummary {
    private var schema = 2
    private var input: String
    /// Of a burst or a sequence; nil for one picture.
    private var pictures: Int?
    private var output: String
    private var width: Int
    private var height: Int
    private var tiles: Int
    private var auxiliaries: [String]
    private var encoderID: String
    private var usingHardware: Bool
    private var fallbackReason: String?
    private var seconds: Double
    private var fileBytes: Int

    enum CodingKeys: String, CodingKey {
        case schema, input, pictures, output, width, height, tiles, auxiliaries, seconds
        case encoderID = "EncoderID"
        case usingHardware = "UsingHardwareAcceleratedVideoEncoder"
        case fallbackReason = "FallbackReason"
        case fileBytes = "file_bytes"
    }

    /// - Parameter contents: the file; the size is that of its primary picture, the tiles are those of all.
    init(
        _ request: StillEncodeJob.Request, _ created: CreateCompressionSession.Reply, _ contents: StillFileContents,
        seconds: Double, bytes: Int
    ) {
        let primary = contents.pictures[contents.primary]
        self.init(request, created, primary, seconds: seconds, bytes: bytes)
        tiles = contents.pictures.reduce(0) { $0 + $1.tiles.count }
        pictures = contents.pictures.count > 1 ? contents.pictures.count : nil
        auxiliaries = contents.auxiliaries.map { StillPictureInfo.name($0.kind) }
    }

    /// - Parameter contents: the file, whose pictures are the tiles.
    init(
        _ request: StillEncodeJob.Request, _ created: CreateCompressionSession.Reply, _ contents: SequenceContents,
        seconds: Double, bytes: Int
    ) {
        self.init(request, created, contents.pictures, seconds: seconds, bytes: bytes)
        pictures = tiles
        auxiliaries = contents.alpha == nil ? [] : [StillPictureInfo.name(.alpha)]
    }

    private init(
        _ request: StillEncodeJob.Request, _ created: CreateCompressionSession.Reply, _ still: CodedStill,
        seconds: Double, bytes: Int
    ) {
        (input, output) = (request.inputs.first ?? "", request.output)
        (width, height, tiles) = (still.picture.width, still.picture.height, still.tiles.count)
        auxiliaries = []
        (encoderID, usingHardware) = (created.encoderID, created.usingHardware)
        fallbackReason = created.fallbackReason
        (self.seconds, fileBytes) = (seconds, bytes)
    }

    /// The human-readable lines.
    var lines: [String] {
        let why = usingHardware ? "hardware" : "software" + (fallbackReason.map { ": \($0)" } ?? ", as requested")
        let also = auxiliaries.isEmpty ? "" : ", with " + auxiliaries.joined(separator: " and ")
        let count = pictures.map { "\($0) pictures of " } ?? ""
        return [
            "encoder: \(encoderID) (\(why))",
            "\(output): \(count)\(width)x\(height) in \(tiles == 1 ? "1 tile" : "\(tiles) tiles")\(also), \(fileBytes) bytes in "
                + "\(Progress.decimal(seconds, 2)) s",
        ]
    }
}
