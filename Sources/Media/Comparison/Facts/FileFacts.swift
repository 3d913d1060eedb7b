// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDEdits
internal import HWDHEVC
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// What a file's headers say, as far as a receipt compares it.
struct FileFacts {
    /// The kinds of files, by what they can hold.
    enum Container {
        /// Boxes, Matroska, MPEG-TS and others with several streams and times.
        case container
        /// Pictures alone: Y4M, Annex B, series of pictures.
        case pictures
    }

    let info: MediaInfo
    let video: VideoDescription
    /// The track of `video` in `info`.
    let track: VideoTrackInfo?
    let container: Container
    /// The color in the parameter sets of HEVC; nil for other codecs and without one.
    private(set) var streamColor: ColorDescription?
    /// The code points of the sample entry's `colr`; libavformat reports those of the coded stream where they differ.
    private(set) var boxColor: ColorDescription?
    /// SEI messages 137 and 144 of HEVC, before the first picture.
    private(set) var streamMastering: [UInt8]?
    private(set) var streamLight: [UInt8]?
    /// The preferred transfer function (SEI message 147), which replaces that of the parameter sets.
    private(set) var preferredTransfer: UInt8?
    let chapters: [MediaReader.Chapter]
    /// The boxes of the sample entry that a copy keeps.
    let carriedBoxes: [Box]
    /// The types of what nothing here knows.
    let unknownContents: [String]
    /// The timecode of the first frame; nil without one.
    let timecode: String?

    init(_ file: InputFile, _ reader: MediaReader) throws(MediaError) {
        // The metadata of pictures are compared in the pass over the packets.
        info = try MediaInfo(file, scansPictures: false)
        video = reader.video
        let index = reader.video.streamIndex
        track = info.video.first { $0.stream == index }
        let isBare = file.kind != .media || reader.isUntimed
        container = isBare ? .pictures : .container
        chapters = reader.chapters
        timecode = reader.timecode
        (carriedBoxes, unknownContents) = (reader.carriedBoxes, reader.unknownContents)
        boxColor = reader.firstEntryBoxes?.lazy.compactMap(Self.color).first
        guard video.codec == "hevc", file.isSeekable else { return }
        let configuration = HEVCConfiguration(video.codecConfiguration)
        let units =
            configuration.nalUnits
            + StreamHead.nalUnits(
                file, streamIndex: index, framing: configuration.framing, cancelFlag: CancelFlag())
        addMessages(units)
        streamColor = HEVCConfiguration.baseLayerSets(units).first.flatMap { ColorDescription($0) }
    }

    private mutating func addMessages(_ units: [[UInt8]]) {
        for message in units.lazy.compactMap({ try? SEI(nal: $0) }).flatMap(\.messages) {
            switch message.payloadType {
            case 137: streamMastering = streamMastering ?? message.payload
            case 144: streamLight = streamLight ?? message.payload
            case 147: preferredTransfer = preferredTransfer ?? message.payload.first
            default: break
            }
        }
    }

    /// The format, where it is one that is written; nil for others, and for fragments.
    var format: OutputFormat? {
        let names: [(String, OutputFormat)] = [
            ("mov,", info.brand == "qt" ? .mov : .mp4), ("matroska", .matroska), ("mpegts", .mpegts), ("nut", .nut),
        ]
        return names.first { info.container.hasPrefix($0.0) }?.1
    }

    /// Whether it shows the whole pictures of a file that crops them, because its format cannot.
    func isUncropped(_ input: FileFacts) -> Bool {
        guard input.video.cleanAperture != nil, video.cleanAperture == nil, let format else { return false }
        let padded = ((input.video.width + 1) / 2 * 2, (input.video.height + 1) / 2 * 2)
        return !FileContent.crop.isHeld(by: format) && (video.width, video.height) == padded
    }

    /// The transfer function that a player applies.
    var transfer: UInt8 { preferredTransfer ?? video.color.transfer }

    /// Whether the file holds transparency.
    var hasAlpha: Bool { track?.alpha == true || video.format == .yuva }

    /// The code points in a `colr` of type `nclc` or `nclx` (ISO/IEC 14496-12 12.1.5); nil for other boxes.
    private static func color(_ box: Box) -> ColorDescription? {
        let forms: [FourCC?] = ["nclc", "nclx"]
        guard box.type == "colr", forms.contains(box.fields.fourCC(at: 0)), box.fields.count >= 10 else {
            return nil
        }
        let points = (0..<3).compactMap { box.fields.bigEndian(at: 4 + 2 * $0, 2) }.map { UInt8(clamping: $0) }
        return ColorDescription(primaries: points[0], transfer: points[1], matrix: points[2])
    }

    /// Whether the sample entry and the coded stream have different code points.
    var contradictsItself: Bool {
        guard let boxColor, let streamColor, boxColor.isSpecified, streamColor.isSpecified else { return false }
        return (boxColor.primaries, boxColor.transfer, boxColor.matrix)
            != (streamColor.primaries, streamColor.transfer, streamColor.matrix)
    }
}
