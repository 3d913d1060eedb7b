// SPDX-License-Identifier: MIT
internal import HWDBoxes
public import HWDHEVC
public import HWDModel

/// A track of HEVC that is written.
public struct VideoTrackSettings: Sendable {
    /// Ticks per second of its packets' times.
    public var timeScale: UInt32
    /// The parameter sets of the first packet, with lengths of 4 bytes.
    public var configuration: DecoderConfigurationRecord
    public var color: MovieColor?
    /// The mastering display (SMPTE ST 2086), the 24 bytes of `mdcv`.
    public var masteringDisplay: [UInt8]?
    /// MaxCLL and MaxFALL, the 4 bytes of `clli`.
    public var contentLight: [UInt8]?
    /// The part of a picture that is shown; nil for all of it.
    public var cleanAperture: CleanAperture?
    /// The width of a sample by its height; nil for square ones.
    public var pixelAspect: Rational?
    /// The clockwise turn in degrees: 0, 90, 180 or 270.
    public var rotation = 0
    /// Three letters of ISO 639-2; nil for an undetermined one.
    public var language: String?
    /// More boxes of the sample entry, as they are: Dolby Vision's, ….
    public var boxes: [Box] = []

    public init(timeScale: UInt32, configuration: DecoderConfigurationRecord) {
        self.timeScale = timeScale
        self.configuration = configuration
    }
}

/// A track of pictures of another codec, such as H.264: its packets say which of them are key frames (`WrittenPacket.isKeyFrame`).
public struct CodedVideoTrackSettings: Sendable {
    /// Ticks per second of its packets' times.
    public var timeScale: UInt32
    /// The type of the sample entry: `avc1`, ….
    public var type: FourCC
    /// The size of the coded pictures, in pixels.
    public var width: UInt16
    public var height: UInt16
    /// The box that configures a decoder, whole: `avcC`, ….
    public var configuration: Box
    public var color: MovieColor?
    /// Three letters of ISO 639-2; nil for an undetermined one.
    public var language: String?

    public init(timeScale: UInt32, type: FourCC, width: UInt16, height: UInt16, configuration: Box) {
        (self.timeScale, self.type, self.configuration) = (timeScale, type, configuration)
        (self.width, self.height) = (width, height)
    }

    /// The size at which it is shown, in 1/65536 of a pixel.
    var displaySize: [UInt32] { [UInt32(width) << 16, UInt32(height) << 16] }

    func entry(isQuickTime: Bool) -> Box {
        .visualEntry(
            type, width, height, [configuration] + (color.map { [$0.box(isQuickTime: isQuickTime)] } ?? []))
    }
}

extension Box {
    /// A `VisualSampleEntry` (ISO/IEC 14496-12 12.1.3).
    static func visualEntry(_ type: FourCC, _ width: UInt16, _ height: UInt16, _ children: [Box]) -> Box {
        var fields = [UInt8](repeating: 0, count: 6) + [0, 1] + [UInt8](repeating: 0, count: 16)
        fields.appendBigEndian(width)
        fields.appendBigEndian(height)
        // 72 dpi, one frame in a sample, no name of a compressor, 24 bits.
        fields += [UInt8](bigEndian: [0x0048_0000, 0x0048_0000, 0]) + [0, 1] + [UInt8](repeating: 0, count: 32)
        fields += [0, 0x18, 0xFF, 0xFF]
        return Box(type, fields: fields, children: children)
    }
}

/// A track of sound whose packets and sample entry the app brings.
public struct SoundTrackSettings: Sendable {
    /// Ticks per second of its packets' times: the sample rate.
    public var timeScale: UInt32
    /// The sample entry, whole: `mp4a` with `esds`, `alac`, … (`MovieSampleEntry.box` of a movie that is read).
    public var entry: Box
    /// Packets that a decoder needs before the one it begins with, as a negative number: −1 for AAC; nil for none.
    public var rollDistance: Int16?
    /// Three letters of ISO 639-2; nil for an undetermined one.
    public var language: String?

    public init(timeScale: UInt32, entry: Box) {
        self.timeScale = timeScale
        self.entry = entry
    }

    /// Whether it can be written.
    /// - Throws: `usage`, with what cannot.
    package func check() throws(MovieError) {
        guard timeScale > 0, entry.size >= 36 else {
            throw MovieError(.usage, "a track of sound needs a time scale above 0 and a whole sample entry")
        }
    }
}

/// A packet that is written.
///
/// Times are those of the movie, in ticks of the track: what precedes 0 is not shown.
public struct WrittenPacket: Sendable {
    /// HEVC, H.264: NAL units that are preceded by their lengths in 4 bytes.
    public var bytes: [UInt8]
    /// When it is shown or heard.
    public var time: Int64
    /// When it is decoded: not after `time`, and not before the packet written before it.
    public var decodeTime: Int64
    /// Not negative.
    public var duration: Int64
    /// Whether decoding can begin with a picture of `CodedVideoTrackSettings`; HEVC's NAL units say that themselves.
    public var isKeyFrame = false

    public init(bytes: [UInt8], time: Int64, decodeTime: Int64, duration: Int64) {
        self.bytes = bytes
        self.time = time
        self.decodeTime = decodeTime
        self.duration = duration
    }

    /// A packet that is decoded when it is shown, as those of sound.
    public init(bytes: [UInt8], time: Int64, duration: Int64) {
        self.init(bytes: bytes, time: time, decodeTime: time, duration: duration)
    }
}

extension VideoTrackSettings {
    /// Whether it can be written.
    /// - Throws: `usage`, with what cannot.
    func check() throws(MovieError) {
        guard timeScale > 0 else { throw MovieError(.usage, "a track needs a time scale above 0") }
        guard configuration.lengthSize == 4 else {
            throw MovieError(.usage, "the lengths of NAL units need 4 bytes, not \(configuration.lengthSize)")
        }
        guard masteringDisplay?.count ?? 24 == 24, contentLight?.count ?? 4 == 4 else {
            throw MovieError(.usage, "mdcv has 24 bytes, and clli has 4")
        }
        guard [0, 90, 180, 270].contains(rotation) else {
            throw MovieError(.usage, "a track cannot be turned by \(rotation) degrees")
        }
        _ = try size(of: configuration)
    }

    /// The size of the coded pictures.
    /// - Throws: `usage` for a record without a sequence parameter set, and for sizes of more than 16 bits.
    func size(of record: DecoderConfigurationRecord) throws(MovieError) -> (width: UInt16, height: UInt16) {
        let sets = record.nalUnits.lazy.compactMap { try? SequenceParameterSet(nal: $0) }
        guard let sps = sets.first(where: { $0.header.nuhLayerId == 0 }), let width = UInt16(exactly: sps.width),
            let height = UInt16(exactly: sps.height), width > 0, height > 0
        else { throw MovieError(.usage, "the configuration has no pictures of a size that a movie can hold") }
        guard cleanAperture?.fits(codedWidth: Int(width), codedHeight: Int(height)) ?? true else {
            throw MovieError(.usage, "the clean aperture is not inside the \(width)x\(height) picture")
        }
        return (width, height)
    }

    /// A `hvc1` entry for a configuration.
    func entry(_ record: DecoderConfigurationRecord, isQuickTime: Bool) throws(MovieError) -> Box {
        let (width, height) = try size(of: record)
        let hvcC: [UInt8]
        do { hvcC = try record.bytes() } catch {
            throw MovieError(.usage, "the configuration is damaged: \(error)")
        }
        var children = [Box("hvcC", hvcC)] + boxes
        if let color { children.append(color.box(isQuickTime: isQuickTime)) }
        if let pixelAspect {
            let numbers = [pixelAspect.numerator, pixelAspect.denominator].map { UInt32(bitPattern: $0) }
            children.append(Box("pasp", [UInt8](bigEndian: numbers)))
        }
        if let cleanAperture { children.append(cleanAperture.box) }
        if let masteringDisplay { children.append(Box("mdcv", masteringDisplay)) }
        if let contentLight { children.append(Box("clli", contentLight)) }
        return .visualEntry("hvc1", width, height, children)
    }

    /// The matrix of the track's header.
    var matrix: [UInt32] {
        let (one, minusOne): (UInt32, UInt32) = (0x1_0000, UInt32(bitPattern: -0x1_0000))
        let turn: [UInt32] =
            switch rotation {
            case 90: [0, one, minusOne, 0]
            case 180: [minusOne, 0, 0, minusOne]
            case 270: [0, minusOne, one, 0]
            default: [one, 0, 0, one]
            }
        return [turn[0], turn[1], 0, turn[2], turn[3], 0, 0, 0, 0x4000_0000]
    }

    /// The size at which it is shown, in 1/65536 of a pixel.
    func displaySize(_ record: DecoderConfigurationRecord) throws(MovieError) -> [UInt32] {
        let (width, height) = try size(of: record)
        var (across, down) = (Double(width), Double(height))
        if let cleanAperture { (across, down) = (cleanAperture.width.value, cleanAperture.height.value) }
        if let pixelAspect { across *= pixelAspect.value }
        return [across, down].map { UInt32(clamping: Int64(($0 * 65536).rounded())) }
    }
}
