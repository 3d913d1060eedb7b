// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDHEVC
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// A coded picture of a file, reduced to what a receipt compares.
struct CodedPicture {
    /// Seconds, or the picture's number in output order where one of the files stores no times.
    var time: Double
    /// How the pictures of a stream are coded.
    enum Coding {
        case hevc(SampleKind.Framing)
        case h264(SampleKind.Framing)
        /// Pictures that are not parsed.
        case other

        /// The coding of packets behind this configuration record or start of a byte stream.
        init(_ codec: String, _ configuration: [UInt8]) {
            switch codec {
            case "hevc": self = .hevc(HEVCConfiguration(configuration).framing)
            case "h264": self = .h264(SampleKind.Framing(h264: configuration))
            default: self = .other
            }
        }
    }

    /// The digest of the RPU of HEVC; nil without one.
    var rpu: UInt64?
    /// Whether the RPU cannot be read, so that an encode leaves it out.
    var isRPUDamaged = false
    /// The digest of the HDR10+ message of HEVC; nil without one.
    var hdr10Plus: UInt64?
    /// The digest of the constructs of the caption messages; nil without any.
    var captions: UInt64?
    /// The digest of all slices; nil where it is not needed.
    var slices: UInt64?

    init(time: Double) { self.time = time }

    /// Adds the NAL units of a packet.
    ///
    /// A unit's header is no part of its digest: it has the temporal level.
    mutating func add(_ packet: MediaPacket, _ coding: Coding, digestsSlices: Bool) {
        let bytes = packet.withBytes { Array($0) }
        switch coding {
        case .hevc(let framing): addHEVC(StreamHead.split(bytes, framing), digestsSlices: digestsSlices)
        case .h264(let framing):
            for unit in StreamHead.split(bytes, framing) where unit.first.map({ $0 & 31 }) == 6 {
                addMessages(SEI.hevcUnit(h264: unit))
            }
        case .other: break
        }
    }

    private mutating func addHEVC(_ units: [ArraySlice<UInt8>], digestsSlices: Bool) {
        var digest = FNV1a()
        var hasSlice = false
        for unit in units {
            guard let header = try? NALUnitHeader(nal: unit) else { continue }
            switch header.nalUnitType {
            case .unspec62:
                rpu = Self.combine(rpu, unit.dropFirst(2))
                if (try? DolbyVisionRPU(nal: unit)) == nil { isRPUDamaged = true }
            case .prefixSEI, .suffixSEI: addMessages(unit)
            case let type where type.isSlice && digestsSlices:
                digest.add(unit.dropFirst(2))
                hasSlice = true
            default: break
            }
        }
        if hasSlice { slices = digest.value }
    }

    private mutating func addMessages(_ unit: ArraySlice<UInt8>) {
        for message in (try? SEI(nal: unit))?.messages ?? [] where message.payloadType == 4 {
            switch try? message.interpreted() {
            case .hdr10Plus?: hdr10Plus = Self.combine(hdr10Plus, message.payload[...])
            // One message may become several, and what surrounds the constructs may differ.
            case .closedCaptions(let found)?:
                for construct in found.constructs {
                    let kind = (construct.isValid ? 4 : 0) | UInt8(construct.type & 3)
                    captions = Self.combine(captions, [kind] + construct.bytes[...])
                }
            default: break
            }
        }
    }

    private static func combine(_ digest: UInt64?, _ bytes: ArraySlice<UInt8>) -> UInt64 {
        (digest ?? 0) &* 31 &+ FNV1a(bytes).value
    }
}

/// Sorts pictures, which arrive in decoding order, by their times.
struct OutputQueue {
    private var pictures: [CodedPicture] = []

    /// More than any decoder reorders: H.264 and H.265 store 16.
    private static let depth = 40

    /// Adds a picture; returns the one that is certain to be next.
    mutating func add(_ picture: CodedPicture) -> CodedPicture? {
        let place = pictures.lastIndex { $0.time <= picture.time }.map { $0 + 1 } ?? 0
        pictures.insert(picture, at: place)
        return pictures.count > Self.depth ? pictures.removeFirst() : nil
    }

    /// The rest.
    mutating func finish() -> [CodedPicture] {
        defer { pictures = [] }
        return pictures
    }
}
