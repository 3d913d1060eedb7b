// SPDX-License-Identifier: MIT
import HWDHEVC
import HWDModel
import HWDWire

/// A field's name and value as docs/protocol.md writes them.
struct NamedValue: Hashable {
    var name: String
    var value: String

    init(_ name: String, _ value: some CustomStringConvertible) {
        self.name = name
        self.value = value.description
    }
}

/// A message's payload, decoded by the code that workers and clients use.
struct DecodedPayload {
    /// Its fields in the order of their bytes.
    var fields: [NamedValue]
    /// The payload, encoded again.
    var encoded: [UInt8]

    /// - Parameter record: the format description that examples have.
    init(_ opcode: Opcode, _ bytes: [UInt8], record: [UInt8]) throws {
        switch opcode {
        case .setProperties: self = try .json([String: PropertyValue].self, "properties", bytes)
        case .copyProperties: self = try .json([String].self, "names", bytes)
        case .prepare, .invalidate, .finishDelayedFrames, .finishFrames:
            try ByteReader().expectEnd(of: bytes.span.bytes)
            (fields, encoded) = ([], [])
        case .formatDescription, .canAcceptFormat, .changeFormat:
            encoded = try DecoderConfigurationRecord(bytes: bytes).bytes()
            let isRecord = bytes == record
            fields = [
                NamedValue("format", isRecord ? "the record in the call of CreateDecompressionSession" : "another")
            ]
        case .addPool: self = try .payload(AddPool.self, bytes)
        case .removePool: self = try .payload(RemovePool.self, bytes)
        case .encodeFrame: self = try .payload(EncodeFrame.self, bytes)
        case .encodeFrameWithMetadata: self = try .payload(EncodeFrameWithMetadata.self, bytes)
        case .completeFrames: self = try .payload(CompleteFrames.self, bytes)
        case .releasePacket: self = try .payload(ReleasePacket.self, bytes)
        case .decodeFrame: self = try .payload(DecodeFrame.self, bytes)
        case .releaseFrame: self = try .payload(ReleaseFrame.self, bytes)
        case .transferFrame: self = try .payload(TransferFrame.self, bytes)
        case .transferTimedFrame: self = try .payload(TransferTimedFrame.self, bytes)
        case .addTable: self = try .payload(AddTable.self, bytes)
        case .addPicture: self = try .payload(AddPicture.self, bytes)
        case .addFence: self = try .payload(AddFence.self, bytes)
        case .changeEffects: self = try .payload(ChangeEffects.self, bytes)
        case .reply: self = try .payload(Reply.self, bytes)
        case .addArena: self = try .payload(AddArena.self, bytes)
        case .frameReleased: self = try .payload(FrameReleased.self, bytes)
        case .packet: self = try .payload(Packet.self, bytes)
        case .end: self = try .payload(End.self, bytes)
        case .frameDecoded: self = try .payload(FrameDecoded.self, bytes)
        case .packetReport: self = try .payload(PacketReport.self, bytes)
        case .removeArena: self = try .payload(RemoveArena.self, bytes)
        case .qualityMetrics: self = try .payload(QualityMetrics.self, bytes)
        case .frameTransferred: self = try .payload(FrameTransferred.self, bytes)
        }
    }

    private init(fields: [NamedValue], encoded: [UInt8]) {
        self.fields = fields
        self.encoded = encoded
    }

    private static func payload<P: DocumentedPayload>(_ type: P.Type, _ bytes: [UInt8]) throws -> Self {
        let decoded = try P(decoding: bytes.span.bytes)
        var writer = ByteWriter()
        decoded.encode(into: &writer)
        return Self(fields: decoded.namedValues, encoded: writer.bytes)
    }

    private static func json<T: Codable>(_ type: T.Type, _ name: String, _ bytes: [UInt8]) throws -> Self {
        let encoded = try JSON.encode(try JSON.decode(type, from: bytes))
        return Self(fields: [NamedValue(name, String(decoding: encoded, as: UTF8.self))], encoded: encoded)
    }
}

/// A payload whose fields can be compared with an example.
protocol DocumentedPayload: SessionPayload {
    /// Its fields in the order of their bytes; a text or body of no bytes is left out.
    var namedValues: [NamedValue] { get }
}

private let reserved = NamedValue("reserved", 0)

private func named(_ layout: FrameLayout, _ name: String) -> [NamedValue] {
    layout.planes.enumerated().flatMap { index, plane in
        [
            NamedValue("\(name)[\(index)].offset", plane.offset),
            NamedValue("\(name)[\(index)].stride", plane.stride),
            NamedValue("\(name)[\(index)].reserved", 0),
        ]
    }
}

private func named(_ color: ColorDescription) -> [NamedValue] {
    [
        NamedValue("primaries", color.primaries), NamedValue("transfer", color.transfer),
        NamedValue("matrix", color.matrix), NamedValue("full_range", color.isFullRange ? 1 : 0),
        NamedValue("chroma_location", color.chromaLocation ?? 255),
    ]
}

private func named(_ sideData: [FrameSideData]) -> [NamedValue] {
    sideData.enumerated().flatMap { index, data in
        [
            NamedValue("side_data[\(index)].kind", data.kind.rawValue),
            NamedValue("side_data[\(index)].size", data.bytes.count),
            NamedValue("side_data[\(index)].bytes", Hexadecimal.text(data.bytes)),
        ]
    }
}

private func named(_ name: String, _ text: String) -> [NamedValue] { text.isEmpty ? [] : [NamedValue(name, text)] }

extension AddPool: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("pool", poolID), reserved, NamedValue("size", size)] }
}

extension RemovePool: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("pool", poolID)] }
}

extension EncodeFrame: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("frame", frameID), NamedValue("pts", pts), NamedValue("duration", duration),
            NamedValue("pool", poolID), NamedValue("flags", flags.rawValue), NamedValue("BaseFrameQP", baseFrameQP),
            NamedValue("planes", layout.planes.count),
        ] + named(layout, "plane")
    }
}

extension EncodeFrameWithMetadata: DocumentedPayload {
    var namedValues: [NamedValue] {
        let metadata = frame.metadata ?? FrameMetadata()
        return [
            NamedValue("frame", frame.frameID), NamedValue("pts", frame.pts),
            NamedValue("duration", frame.duration),
            NamedValue("pool", frame.poolID), NamedValue("flags", frame.flags.rawValue),
            NamedValue("BaseFrameQP", frame.baseFrameQP), NamedValue("has_color", metadata.color == nil ? 0 : 1),
        ] + named(metadata.color ?? ColorDescription()) + [
            NamedValue("planes", frame.layout.planes.count), NamedValue("side_data", metadata.sideData.count),
            reserved,
        ] + named(frame.layout, "plane") + named(metadata.sideData)
    }
}

extension CompleteFrames: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("untilPTS", untilPTS)] }
}

extension ReleasePacket: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("packet", packetID)] }
}

extension DecodeFrame: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("frame", frameID), NamedValue("pts", pts), NamedValue("duration", duration),
            NamedValue("pool", poolID), NamedValue("flags", flags.rawValue), NamedValue("offset", offset),
            NamedValue("size", size), reserved,
        ]
    }
}

extension ReleaseFrame: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("picture", pictureID)] }
}

extension TransferFrame: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("frame", frameID), NamedValue("source_pool", source.poolID),
            NamedValue("target_pool", target.poolID), NamedValue("has_color", color == nil ? 0 : 1),
        ] + named(color ?? ColorDescription()) + [
            NamedValue("source_planes", source.layout.planes.count),
            NamedValue("target_planes", target.layout.planes.count),
        ] + named(source.layout, "source") + named(target.layout, "target")
    }
}

extension TransferTimedFrame: DocumentedPayload {
    var namedValues: [NamedValue] {
        var values = frame.namedValues
        values.insert(NamedValue("pts", frame.pts ?? 0), at: 1)
        return values
    }
}

extension AddTable: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("table", table), reserved, NamedValue("size", size)] }
}

extension AddPicture: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("pool", poolID), NamedValue("fourcc", fourcc), NamedValue("width", width),
            NamedValue("height", height), NamedValue("uses", uses.rawValue), NamedValue("planes", planes.count),
            NamedValue("modifier", modifier),
        ]
            + planes.enumerated().flatMap { index, plane in
                [
                    NamedValue("plane[\(index)].object", plane.object),
                    NamedValue("plane[\(index)].stride", plane.stride),
                    NamedValue("plane[\(index)].offset", plane.offset),
                ]
            }
    }
}

extension AddFence: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("pool", poolID), reserved] }
}

extension ChangeEffects: DocumentedPayload {
    var namedValues: [NamedValue] {
        [NamedValue("pts", pts)] + named("effects", String(decoding: json, as: UTF8.self))
    }
}

extension Reply: DocumentedPayload {
    var namedValues: [NamedValue] {
        [NamedValue("sequence", sequence), NamedValue("status", status.rawValue)]
            + named("body", String(decoding: body, as: UTF8.self))
    }
}

extension AddArena: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("arena", arenaID), reserved, NamedValue("size", size)] }
}

extension FrameReleased: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("frame", frameID)] }
}

extension Packet: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("packet", packetID), NamedValue("frame", frameID), NamedValue("pts", pts),
            NamedValue("dts", dts), NamedValue("duration", duration), NamedValue("arena", arenaID),
            NamedValue("flags", flags.rawValue), NamedValue("offset", offset), NamedValue("size", size),
            NamedValue("nal_unit_type", nalUnitType), NamedValue("TemporalId", temporalID), reserved,
        ]
    }
}

extension End: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("status", status.rawValue)] + named("reason", reason) }
}

extension FrameDecoded: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("picture", pictureID), NamedValue("frame", frameID), NamedValue("pts", info.pts),
            NamedValue("duration", info.duration), NamedValue("arena", arenaID),
            NamedValue("flags", flags.rawValue),
            NamedValue("pixel_format", info.format.rawValue), NamedValue("width", info.width),
            NamedValue("height", info.height),
            NamedValue("clean_x", cleanAperture.x), NamedValue("clean_y", cleanAperture.y),
            NamedValue("clean_width", cleanAperture.width), NamedValue("clean_height", cleanAperture.height),
        ] + named(info.color) + [
            NamedValue("coded_bit_depth", codedBitDepth), NamedValue("planes", layout.planes.count),
            NamedValue("side_data", info.sideData.count),
            NamedValue("aspect_numerator", sampleAspectRatio.numerator),
            NamedValue("aspect_denominator", sampleAspectRatio.denominator), reserved,
        ] + named(layout, "plane")
            + named(info.sideData)
    }
}

extension PacketReport: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("frame", frameID), NamedValue("status", status.rawValue),
            NamedValue("flags", flags.rawValue),
        ] + named("reason", reason)
    }
}

extension RemoveArena: DocumentedPayload {
    var namedValues: [NamedValue] { [NamedValue("arena", arenaID)] }
}

extension QualityMetrics: DocumentedPayload {
    var namedValues: [NamedValue] {
        [
            NamedValue("packet", packetID), NamedValue("frame", frameID), NamedValue("luma", meanSquaredError.luma),
            NamedValue("chroma_blue", meanSquaredError.chromaBlue),
            NamedValue("chroma_red", meanSquaredError.chromaRed),
        ]
    }
}

extension FrameTransferred: DocumentedPayload {
    var namedValues: [NamedValue] {
        [NamedValue("frame", frameID), NamedValue("status", status.rawValue), reserved] + named("reason", reason)
    }
}
