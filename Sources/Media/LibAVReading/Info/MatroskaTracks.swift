// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDLibAV
internal import HWDModel

/// What libavformat does not report of the tracks of a Matroska file (RFC 9559 5.1.4): how pictures are cropped, and the
/// names of codecs that it does not know.
struct MatroskaTracks {
    private struct Track {
        /// 1 video, 2 audio, 17 subtitles, 33 metadata.
        var type: UInt64 = 0
        var codec = ""
        var (top, bottom, left, right) = (0, 0, 0, 0)
        /// The coded and the displayed size (RFC 9559 5.1.4.1.28.6 to 5.1.4.1.28.14); nil where they are not there.
        var (width, height): (UInt64?, UInt64?)
        var (displayWidth, displayHeight): (UInt64?, UInt64?)
        /// 0 samples, 1 cm, 2 inches, 3 an aspect ratio, 4 unknown.
        var displayUnit: UInt64 = 0
    }

    /// By stream number.
    private var tracks: [Track] = []

    private static let (header, segment, tracksID, entry): (UInt64, UInt64, UInt64, UInt64) = (
        0x1A45_DFA3, 0x1853_8067, 0x1654_AE6B, 0xAE
    )
    /// The most bytes of the element with all tracks, and elements before it.
    private static let maxSize: UInt64 = 4 << 20
    private static let maxElements = 1000
    /// The types of tracks that libavformat makes streams of.
    private static let types: [UInt64: AVMediaType] = [
        1: AVMEDIA_TYPE_VIDEO, 2: AVMEDIA_TYPE_AUDIO, 17: AVMEDIA_TYPE_SUBTITLE, 33: AVMEDIA_TYPE_DATA,
    ]

    /// The tracks of a file that libavformat opened; nil for other formats, and where they cannot be found.
    init?(_ file: InputFile, _ context: UnsafeMutablePointer<AVFormatContext>) {
        guard let name = context.pointee.iformat?.pointee.name, String(cString: name).hasPrefix("matroska"),
            let body = Self.body(file)
        else { return nil }
        self.init(elements: body)
        // Streams are in the order of the tracks; attachments follow.
        guard tracks.count <= Int(context.pointee.nb_streams) else { return nil }
        for (index, track) in tracks.enumerated() {
            let type = context.pointee.streams?[index]?.pointee.codecpar?.pointee.codec_type
            guard type == Self.types[track.type] else { return nil }
            let codec = context.pointee.streams?[index]?.pointee.codecpar?.pointee.codec_id
            if track.codec == Self.webVTT, codec == AV_CODEC_ID_NONE { hasWebVTT = true }
        }
        setCodec(AV_CODEC_ID_WEBVTT, of: context)
    }

    /// The tracks of the contents of the element that has them.
    init(elements: [UInt8]) {
        for (id, content) in EBML(elements[...]) where id == Self.entry {
            let track = Self.track(content)
            if Self.types[track.type] != nil { tracks.append(track) }
        }
    }

    /// The contents of the element with the tracks.
    private static func body(_ file: InputFile) -> [UInt8]? {
        var position: UInt64 = 0
        for _ in 0..<maxElements {
            let head = file.bytes(at: Int64(position), upTo: 12)
            guard let (id, size, length) = EBML.header(head[...]) else { return nil }
            let start = position + UInt64(length)
            switch id {
            case segment: position = start
            case tracksID:
                guard let size, size <= maxSize else { return nil }
                let bytes = file.bytes(at: Int64(start), upTo: Int(size))
                return bytes.count == Int(size) ? bytes : nil
            default:
                guard let size, size < UInt64(Int64.max) - start else { return nil }
                position = start + size
            }
        }
        return nil
    }

    private static func track(_ bytes: ArraySlice<UInt8>) -> Track {
        var track = Track()
        for (id, content) in EBML(bytes) {
            switch id {
            case 0x83: track.type = EBML.number(content)
            case 0x86: track.codec = String(decoding: content.prefix(64).prefix { $0 != 0 }, as: UTF8.self)
            case 0xE0:
                for (id, content) in EBML(content) {
                    let samples = Int(clamping: EBML.number(content))
                    switch id {
                    case 0x54AA: track.bottom = samples
                    case 0x54BB: track.top = samples
                    case 0x54CC: track.left = samples
                    case 0x54DD: track.right = samples
                    case 0xB0: track.width = EBML.number(content)
                    case 0xBA: track.height = EBML.number(content)
                    case 0x54B0: track.displayWidth = EBML.number(content)
                    case 0x54BA: track.displayHeight = EBML.number(content)
                    case 0x54B2: track.displayUnit = EBML.number(content)
                    default: break
                    }
                }
            default: break
            }
        }
        return track
    }

    /// The name of a stream's codec; nil where it has none.
    func codec(_ index: Int) -> String? {
        guard tracks.indices.contains(index), !tracks[index].codec.isEmpty else { return nil }
        return tracks[index].codec.printable(maxBytes: 64)
    }

    /// The displayed part of a stream's pictures; nil for all of it.
    func aperture(_ index: Int, width: Int, height: Int) -> CleanAperture? {
        guard tracks.indices.contains(index) else { return nil }
        let track = tracks[index]
        let (cutX, overX) = track.left.addingReportingOverflow(track.right)
        let (cutY, overY) = track.top.addingReportingOverflow(track.bottom)
        guard !overX, !overY, cutX > 0 || cutY > 0, cutX < width, cutY < height else { return nil }
        return CleanAperture(
            x: track.left, y: track.top, width: width - cutX, height: height - cutY, ofCodedWidth: width,
            codedHeight: height)
    }

    /// The aspect ratio of the samples of a stream whose pictures are cropped, from libavformat's, which relates the displayed
    /// size to the coded picture, or to the cropped one (`clibav_crops_aspect`).
    ///
    /// The displayed size is that of the cropped picture (RFC 9559 5.1.4.1.28.12), and by default its number of samples. One
    /// that equals the coded size is of a program that did not crop it.
    /// - Parameter isOfCropped: whether `aspect` relates the displayed size to the cropped picture.
    func aspect(
        _ index: Int, _ aspect: Rational?, width: Int, height: Int, isOfCropped: Bool = clibav_crops_aspect() != 0
    ) -> Rational? {
        guard let aspect, let shown = aperture(index, width: width, height: height) else { return aspect }
        let track = tracks[index]
        let isOfCoded =
            (track.displayWidth ?? track.width, track.displayHeight ?? track.height)
            == (track.width, track.height)
        guard track.displayUnit < 4, isOfCoded == isOfCropped else { return aspect }
        let horizontal = track.displayWidth == nil ? 1 : Double(width) / shown.width.value
        let vertical = track.displayHeight == nil ? 1 : shown.height.value / Double(height)
        let cropping = horizontal * vertical
        let ratio = av_d2q(isOfCoded ? aspect.value / cropping : aspect.value * cropping, 1 << 16)
        return Rational(positive: ratio) ?? aspect
    }

    /// Whether there is text that `setCodec` names.
    private var hasWebVTT = false

    /// Sets the codec of WebVTT whose blocks have the text of a cue, as mkvmerge writes it (RFC 9559 5.1.4.1.21,
    /// `S_TEXT/WEBVTT`), which libavformat 5.1 does not know.
    ///
    /// libavformat must not know it while it reads packets: it takes their text for the older form `D_WEBVTT`, and drops them.
    func setCodec(_ codec: AVCodecID, of context: UnsafeMutablePointer<AVFormatContext>) {
        guard hasWebVTT else { return }
        for (index, track) in tracks.enumerated() where track.codec == Self.webVTT {
            guard let parameters = context.pointee.streams?[index]?.pointee.codecpar else { continue }
            guard [AV_CODEC_ID_NONE, AV_CODEC_ID_WEBVTT].contains(parameters.pointee.codec_id) else { continue }
            parameters.pointee.codec_id = codec
        }
    }

    private static let webVTT = "S_TEXT/WEBVTT"
}

/// The elements of a master element of EBML (RFC 8794), one after another; ends at the first that is damaged.
private struct EBML: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> (id: UInt64, content: ArraySlice<UInt8>)? {
        guard let (id, size, length) = Self.header(rest), let size, size <= UInt64(rest.count - length) else {
            return nil
        }
        let content = rest.dropFirst(length).prefix(Int(size))
        rest = rest.dropFirst(length + Int(size))
        return (id, content)
    }

    /// The ID, the size, nil where it is unknown, and the bytes of both.
    static func header(_ bytes: ArraySlice<UInt8>) -> (id: UInt64, size: UInt64?, length: Int)? {
        guard let first = bytes.first, first != 0 else { return nil }
        let idLength = first.leadingZeroBitCount + 1
        guard idLength <= 4, let second = bytes.dropFirst(idLength).first, second != 0 else { return nil }
        let sizeLength = second.leadingZeroBitCount + 1
        guard bytes.count >= idLength + sizeLength else { return nil }
        let id = number(bytes.prefix(idLength))
        let mask = UInt64(1) << UInt64(7 * sizeLength) - 1
        let size = number(bytes.dropFirst(idLength).prefix(sizeLength)) & mask
        return (id, size == mask ? nil : size, idLength + sizeLength)
    }

    static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
