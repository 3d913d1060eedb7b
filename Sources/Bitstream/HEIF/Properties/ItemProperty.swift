// SPDX-License-Identifier: MIT
public import HWDBoxes
public import HWDHEVC

/// A property of items (ISO/IEC 23008-12 6.5 and annex B; ISO/IEC 14496-12 12.1).
public enum ItemProperty: Hashable, Sendable {
    /// `ispe`: the size before transformations, in samples.
    case size(width: Int, height: Int)
    /// `pixi`: the bits of each channel.
    case bitDepths([Int])
    /// `colr`.
    case color(ColorInformation)
    /// `hvcC`: how HEVC pictures are decoded.
    case hevc(DecoderConfigurationRecord)
    /// The configuration of another codec, as it is: `av1C`, `avcC`, `jpgC`, `lhvC`, `vvcC`, ….
    case codec(FourCC, [UInt8])
    /// `irot`: quarter turns counter-clockwise, 0…3.
    case rotation(Int)
    /// `imir`: whether left and right change places, else top and bottom.
    case mirror(isLeftRight: Bool)
    /// `clap`.
    case cleanAperture(CleanAperture)
    /// `pasp`: the width of a sample to its height.
    case pixelAspectRatio(horizontal: Int, vertical: Int)
    /// `auxC`: what an auxiliary picture is; the rest depends on the URN.
    case auxiliary(urn: String, subtype: [UInt8])
    /// `rloc`: where the picture is in a larger one, in samples.
    case relativeLocation(x: Int, y: Int)
    /// `lsel`: the layer that is shown.
    case layer(Int)
    /// `mdcv`, `clli`, `cclv`, `amve` and `reve`: the light of the picture and of its viewing, as it is.
    case light(FourCC, [UInt8])
    /// `udes`: a description that users read.
    case userDescription(UserDescription)
    /// `altt`: a text instead of the picture, and its language.
    case alternativeText(String, language: String)
    /// `rref`: types of references that a reader must follow.
    case requiredReferences([FourCC])
    /// A property that this module does not interpret.
    case unknown(FourCC, [UInt8])
    /// A property that is known and cannot be read, with the reason.
    case damaged(FourCC, String)

    /// The texts of `udes` (ISO/IEC 23008-12 6.5.20).
    public struct UserDescription: Hashable, Sendable {
        public var language: String
        public var name: String
        public var description: String
        public var tags: String
    }

    /// Configurations that are kept as they are.
    private static let codecs: Set<FourCC> = [
        "av1C", "avcC", "jpgC", "j2kH", "lhvC", "vvcC", "evcC", "uncC", "cmpd", "a1op", "a1lx", "oinf", "tols",
    ]
    /// Properties of light that are kept as they are.
    static let lights: Set<FourCC> = ["mdcv", "clli", "cclv", "amve", "reve"]

    /// Reads the body of a property's box.
    ///
    /// Faults are kept: a property that no picture uses harms none.
    init(_ type: FourCC, _ body: ArraySlice<UInt8>) {
        if Self.lights.contains(type) {
            self = .light(type, Array(body))
        } else if Self.codecs.contains(type) {
            self = .codec(type, Array(body))
        } else {
            do throws(BoxError) { self = try Self.parse(type, body) } catch { self = .damaged(type, error.reason) }
        }
    }

    private static func parse(_ type: FourCC, _ body: ArraySlice<UInt8>) throws(BoxError) -> ItemProperty {
        var fields = BoxFields(type, body)
        switch type {
        case "hvcC":
            do throws(BitstreamError) { return .hevc(try DecoderConfigurationRecord(bytes: Array(body))) } catch {
                throw BoxError("its hvcC record is damaged: \(error.reason)")
            }
        case "colr": return .color(try ColorInformation(&fields))
        case "irot": return .rotation(try fields.int(1) & 3)
        case "imir": return .mirror(isLeftRight: try fields.int(1) & 1 == 1)
        case "clap":
            guard let aperture = CleanAperture(Array(body)) else {
                throw BoxError("its clean aperture is empty or has a denominator of 0")
            }
            return .cleanAperture(aperture)
        case "pasp": return .pixelAspectRatio(horizontal: try fields.int(4), vertical: try fields.int(4))
        case "lsel": return .layer(try fields.int(2))
        case "ispe", "pixi", "auxC", "rloc", "udes", "altt", "rref":
            _ = try fields.versionAndFlags(upTo: 0)
            return try parseFull(type, &fields)
        default: return .unknown(type, Array(body))
        }
    }

    /// Reads the properties that are full boxes.
    private static func parseFull(_ type: FourCC, _ fields: inout BoxFields) throws(BoxError) -> ItemProperty {
        switch type {
        case "ispe":
            let (width, height) = (try fields.int(4), try fields.int(4))
            guard (1...HEIFLimits.side).contains(width), (1...HEIFLimits.side).contains(height) else {
                throw BoxError("its size is \(width)x\(height)")
            }
            return .size(width: width, height: height)
        case "pixi":
            let count = try fields.int(1)
            return .bitDepths(try fields.take(count).map { Int($0) })
        case "auxC": return .auxiliary(urn: fields.text(), subtype: Array(fields.rest))
        case "rloc": return .relativeLocation(x: try fields.int(4), y: try fields.int(4))
        case "udes":
            let (language, name) = (fields.text(), fields.text())
            return .userDescription(
                UserDescription(language: language, name: name, description: fields.text(), tags: fields.text()))
        case "altt":
            let text = fields.text()
            return .alternativeText(text, language: fields.text())
        default:
            var types: [FourCC] = []
            for _ in 0..<(try fields.int(1)) { types.append(try fields.fourCC()) }
            return .requiredReferences(types)
        }
    }

    /// The type of the property's box.
    public var type: FourCC {
        switch self {
        case .size: "ispe"
        case .bitDepths: "pixi"
        case .color: "colr"
        case .hevc: "hvcC"
        case .rotation: "irot"
        case .mirror: "imir"
        case .cleanAperture: "clap"
        case .pixelAspectRatio: "pasp"
        case .auxiliary: "auxC"
        case .relativeLocation: "rloc"
        case .layer: "lsel"
        case .userDescription: "udes"
        case .alternativeText: "altt"
        case .requiredReferences: "rref"
        case .codec(let type, _), .light(let type, _), .unknown(let type, _), .damaged(let type, _): type
        }
    }
}
