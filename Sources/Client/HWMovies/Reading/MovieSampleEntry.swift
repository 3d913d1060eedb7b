// SPDX-License-Identifier: MIT
public import HWDBoxes
public import HWDHEVC
public import HWDModel

/// How samples of a track are coded: an entry of its `stsd` (ISO/IEC 14496-12 8.5.2).
///
/// What a box states wrongly is nil, as what no box states.
public struct MovieSampleEntry: Hashable, Sendable {
    /// The codec: `hvc1`, `avc1`, `mp4a`, `tmcd`, `tx3g`, ….
    public let type: FourCC
    /// The whole box, as it is.
    public let box: Box
    /// The boxes in it: `hvcC`, `avcC`, `esds`, `colr`, `pasp`, …; those of QuickTime's `wave`, too.
    public let boxes: [Box]
    /// The size of coded pictures.
    public private(set) var width = 0
    public private(set) var height = 0
    /// Channels of sound.
    public private(set) var channels = 0
    /// Samples of sound per second.
    public private(set) var sampleRate = 0.0
    /// QuickTime's sound of version 1 whose sample table counts frames: those in a packet; else 1.
    let framesInPacket: Int
    /// The number of the `dref` entry that says which file has the samples, from 1.
    let dataReference: Int

    /// Parses a box of a track of pictures (`vide`, `pict`, `auxv`), of sound (`soun`) or of anything else.
    init(_ box: Box, handler: FourCC) {
        (type, self.box) = (box.type, box)
        let body = Array(box.bytes.dropFirst(Box.headerSize))
        dataReference = Int(body.bigEndian(at: 6, 2) ?? 1)
        var start = body.count
        var frames = 1
        switch handler {
        case "vide", "pict", "auxv":
            width = Int(body.bigEndian(at: 24, 2) ?? 0)
            height = Int(body.bigEndian(at: 26, 2) ?? 0)
            start = Box.visualEntryFields
        case "soun":
            let version = body.bigEndian(at: 8, 2) ?? 0
            channels = Int(body.bigEndian(at: 16, 2) ?? 0)
            sampleRate = Double(body.bigEndian(at: 24, 4) ?? 0) / 65536
            start = 28
            if version == 1 {
                frames = Int(body.bigEndian(at: 28, 4) ?? 1)
                // ISO/IEC 14496-12 12.2.3 has a version 1 without these fields; its boxes begin here.
                start = Self.beginsBox(body, 28) ? 28 : 44
                // A compression ID of −2 says that the sample table counts packets (QuickTime File Format, "Sound Sample Descriptions").
                if start == 28 || body.bigEndian(at: 20, 2) == 0xFFFE { frames = 1 }
            } else if version == 2 {
                // QuickTime File Format, sound sample description (version 2).
                sampleRate = Double(bitPattern: body.bigEndian(at: 32, 8) ?? 0)
                if !sampleRate.isFinite || sampleRate < 0 { sampleRate = 0 }
                channels = Int(body.bigEndian(at: 40, 4) ?? 0)
                start = 64
            }
        case "text", "sbtl", "subt", "tmcd", "meta", "clcp": start = body.count
        default: break
        }
        framesInPacket = frames
        boxes = Self.children(body.dropFirst(start))
    }

    /// Whether a box of a known sort begins at a byte.
    private static func beginsBox(_ body: [UInt8], _ offset: Int) -> Bool {
        guard let size = body.bigEndian(at: offset, 4), let type = body.fourCC(at: offset + 4) else { return false }
        return size >= 8 && Int(size) <= body.count - offset
            && ["esds", "srat", "wave", "chan", "chnl", "btrt", "dOps", "alac", "dac3", "dec3"].contains(type)
    }

    /// The boxes in bytes, up to the first that is damaged, and those in `wave`, but `maxBoxes` together at most.
    ///
    /// - Parameter isNested: the bytes are a `wave` box's; one within it is not opened.
    private static func children(_ bytes: ArraySlice<UInt8>, isNested: Bool = false) -> [Box] {
        var result: [Box] = []
        var list = BoxList(bytes)
        while result.count < maxBoxes, let (header, body) = try? list.next() {
            result.append(Box(header.type, Array(body)))
            // QuickTime has the configuration of sound in a box of its own.
            if header.type == "wave", !isNested {
                result += children(body, isNested: true).prefix(maxBoxes - result.count)
            }
        }
        return result
    }

    private static let maxBoxes = 256

    private func body(_ type: FourCC) -> [UInt8]? { boxes.first { $0.type == type }?.fields }

    /// Whether samples are HEVC.
    public var isHEVC: Bool { ["hvc1", "hev1", "dvh1", "dvhe"].contains(type) }
    /// Whether samples are H.264.
    public var isH264: Bool { ["avc1", "avc2", "avc3", "avc4"].contains(type) }

    /// The record that configures a decoder, and the type of its box: `hvcC`, `avcC`, `av1C`, `vpcC`, `esds`, `alac`, `dOps`, `dfLa`.
    public var configuration: (type: FourCC, bytes: [UInt8])? {
        let types: [FourCC] = ["hvcC", "avcC", "av1C", "vpcC", "esds", "alac", "dOps", "dfLa"]
        return types.lazy.compactMap { type in body(type).map { (type, $0) } }.first
    }

    /// The record of HEVC; nil where it is missing or damaged.
    public var hevc: DecoderConfigurationRecord? {
        body("hvcC").flatMap { try? DecoderConfigurationRecord(bytes: $0) }
    }

    /// The code points of ITU-T H.273 in `colr` (`nclx`, or QuickTime's `nclc`, which states no range).
    public var color: MovieColor? {
        boxes.lazy.filter { $0.type == "colr" }.compactMap { MovieColor($0.fields) }.first
    }

    /// The ICC profile in `colr`.
    public var iccProfile: [UInt8]? {
        boxes.lazy.filter { $0.type == "colr" }.map(\.fields).first { fields in
            fields.fourCC(at: 0) == "prof" || fields.fourCC(at: 0) == "rICC"
        }.map { Array($0.dropFirst(4)) }
    }

    /// The width of a sample by its height (`pasp`).
    public var pixelAspect: Rational? {
        guard let body = body("pasp"), let across = body.bigEndian(at: 0, 4), let down = body.bigEndian(at: 4, 4),
            across > 0, let across = Int32(exactly: across), let down = Int32(exactly: down)
        else { return nil }
        return Rational(across, down)
    }

    /// The part of a picture that is shown (`clap`).
    public var cleanAperture: CleanAperture? { body("clap").flatMap { CleanAperture($0) } }

    /// The mastering display (SMPTE ST 2086), the 24 bytes of `mdcv`.
    public var masteringDisplay: [UInt8]? { body("mdcv").flatMap { $0.count == 24 ? $0 : nil } }

    /// MaxCLL and MaxFALL in candelas per square meter, the 4 bytes of `clli`.
    public var contentLight: [UInt8]? { body("clli").flatMap { $0.count == 4 ? $0 : nil } }
}

/// The color of pictures by the code points of ITU-T H.273.
public struct MovieColor: Hashable, Sendable {
    public var primaries: Int
    public var transfer: Int
    public var matrix: Int
    /// nil where the file does not state it.
    public var isFullRange: Bool?

    public init(primaries: Int, transfer: Int, matrix: Int, isFullRange: Bool? = nil) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// Parses the body of a `colr`; nil for one without code points.
    init?(_ body: [UInt8]) {
        let kind = body.fourCC(at: 0)
        guard kind == "nclx" || kind == "nclc", let primaries = body.bigEndian(at: 4, 2),
            let transfer = body.bigEndian(at: 6, 2), let matrix = body.bigEndian(at: 8, 2)
        else { return nil }
        let range = kind == "nclx" ? body.bigEndian(at: 10, 1).map { $0 >> 7 == 1 } : nil
        self.init(primaries: Int(primaries), transfer: Int(transfer), matrix: Int(matrix), isFullRange: range)
    }

    /// The `colr` box: `nclc` in a .mov, `nclx` in a .mp4.
    func box(isQuickTime: Bool) -> Box {
        var bytes = Array((isQuickTime ? "nclc" : "nclx").utf8)
        for point in [primaries, transfer, matrix] { bytes.appendBigEndian(UInt16(truncatingIfNeeded: point)) }
        if !isQuickTime { bytes.append(isFullRange == true ? 0x80 : 0) }
        return Box("colr", bytes)
    }
}
