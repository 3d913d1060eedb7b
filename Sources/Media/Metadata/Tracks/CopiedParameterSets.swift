// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDHEVC

/// The parameter sets that are in force in a track that is copied: those of its record and those inside its samples.
package struct CopiedParameterSets: Hashable, Sendable {
    /// What the parameter sets of a sample change.
    package enum Change: Hashable, Sendable {
        /// All are known.
        case none
        /// These are new, and none has the ID of another one.
        case added([[UInt8]])
        /// Some replace others.
        case replaced
    }

    /// The type, layer and ID of a parameter set; one of them is in force for each (H.265 7.4.2.4.2).
    private struct Identity: Hashable {
        var kind: Kind
        var id: Int?
    }

    /// A type and layer.
    private struct Kind: Hashable {
        var type: NALUnitType
        var layer: Int
    }

    /// The NAL units, without the zero bytes that some muxers leave behind them.
    package private(set) var units: [[UInt8]]

    /// Takes the parameter sets among `nalUnits`.
    package init(_ nalUnits: [[UInt8]]) {
        units = nalUnits.filter { (try? NALUnitHeader(nal: $0))?.nalUnitType.isParameterSet ?? false }
            .map(Self.trimmed)
    }

    /// Takes the parameter sets of a sample.
    ///
    /// With a new SPS or VPS, sets of the types that the sample has replace all those before: a PPS depends on its SPS.
    /// - Throws: `unsupported` where a set is replaced and the sample is no key frame.
    package mutating func take(_ nalUnits: [[UInt8]], isKeyFrame: Bool) throws(BitstreamError) -> Change {
        let sets = nalUnits.map(Self.trimmed)
        let new = sets.filter { !units.contains($0) }
        guard !new.isEmpty else { return .none }
        let identities = Set(new.compactMap(Self.identity))
        let replaced = units.filter { nal in Self.identity(nal).map(identities.contains) ?? false }
        guard !replaced.isEmpty else {
            units += new
            return .added(new)
        }
        guard isKeyFrame else {
            throw BitstreamError(
                .unsupported, "its parameter sets change between key frames, so it cannot be copied")
        }
        if identities.contains(where: { $0.kind.type != .pps }) {
            let kinds = Set(sets.compactMap(Self.kind))
            units = units.filter { nal in Self.kind(nal).map { !kinds.contains($0) } ?? false } + sets
        } else {
            units = units.filter { !replaced.contains($0) } + new
        }
        return .replaced
    }

    /// A NAL unit does not end with a zero byte (H.265 7.4.2): what follows is `trailing_zero_8bits` of a byte stream.
    private static func trimmed(_ nal: [UInt8]) -> [UInt8] {
        nal.last == 0 ? Array(nal.prefix((nal.lastIndex { $0 != 0 } ?? -1) + 1)) : nal
    }

    private static func kind(_ nal: [UInt8]) -> Kind? {
        (try? NALUnitHeader(nal: nal)).map { Kind(type: $0.nalUnitType, layer: $0.nuhLayerId) }
    }

    /// A set that cannot be parsed, such as one of a layer with an unknown extension, counts as the only one of its kind.
    private static func identity(_ nal: [UInt8]) -> Identity? {
        guard let kind = kind(nal) else { return nil }
        let id: Int? =
            switch kind.type {
            case .vps: (try? VideoParameterSet(nal: nal))?.vpsVideoParameterSetId
            case .sps: (try? SequenceParameterSet(nal: nal))?.spsSeqParameterSetId
            default: (try? PictureParameterSet(nal: nal))?.ppsPicParameterSetId
            }
        return Identity(kind: kind, id: id)
    }
}
