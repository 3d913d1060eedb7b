// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEIF
internal import HWDModel
internal import HWImages

/// What `hwctl decode` reports of a HEIC picture.
struct StillDecodeSummary: CommandSummary {
    private var schema = 2
    private var input: String
    private var output: String
    private var item: UInt32
    private var width: Int
    private var height: Int
    private var pixelFormat: String
    private var decodedItems: Int
    private var decoderID: String
    private var usingHardware: Bool
    private var fallbackReason: String?
    private var seconds: Double
    private var fileBytes: Int

    enum CodingKeys: String, CodingKey {
        case schema, input, output, item, width, height, seconds
        case pixelFormat = "pixel_format"
        case decodedItems = "decoded_items"
        case decoderID = "DecoderID"
        case usingHardware = "UsingHardwareAcceleratedVideoDecoder"
        case fallbackReason = "FallbackReason"
        case fileBytes = "file_bytes"
    }

    /// The size of a picture and its samples.
    struct Shape {
        var width: Int
        var height: Int
        var format: String

        init(_ canvas: StillCanvas) {
            (width, height, format) = (canvas.width, canvas.height, canvas.format.rawValue)
        }

        init(_ samples: StillPainter.Samples, _ color: PictureColor) {
            switch samples {
            case .yCbCr(let canvas, let crop):
                (width, height, format) = (crop.width, crop.height, canvas.format.rawValue)
            case .rgb(let canvas):
                (width, height) = (canvas.width, canvas.height)
                format = color.bitDepth > 8 ? "RGB of \(color.bitDepth) bits" : "RGB"
            }
        }
    }

    init(
        input: String, output: String, item: UInt32, tiles: StillTiles, shape: Shape, seconds: Double,
        bytes: Int
    ) {
        (self.input, self.output, self.item) = (input, output, item)
        (width, height, pixelFormat) = (shape.width, shape.height, shape.format)
        (self.seconds, fileBytes, decodedItems) = (seconds, bytes, tiles.count)
        decoderID = tiles.decoder?.id ?? "none"
        (usingHardware, fallbackReason) = (tiles.decoder?.isHardware ?? false, tiles.decoder?.reason)
    }

    /// The human-readable lines.
    var lines: [String] {
        let why = usingHardware ? "hardware" : "software" + (fallbackReason.map { ": \($0)" } ?? ", as requested")
        let tiles = decodedItems == 1 ? "1 coded picture" : "\(decodedItems) coded pictures"
        return [
            "decoder: \(decoderID) (\(why))",
            "\(output): \(width)x\(height) from \(tiles) in \(Progress.decimal(seconds, 2)) s, \(pixelFormat)",
        ]
    }
}
