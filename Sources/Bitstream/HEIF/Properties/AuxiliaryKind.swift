// SPDX-License-Identifier: MIT

/// What an auxiliary picture is, by the URN of its `auxC` (ISO/IEC 23008-12 6.5.8).
public enum AuxiliaryKind: Hashable, Sendable, CaseIterable {
    case alpha
    case depth
    /// A gain map of Apple or Samsung; that of ISO 21496-1 is an input of a `tmap` item.
    case gainMap
    /// A matte of a part of the picture: a person, skin, hair, teeth, glasses, sky.
    case matte
    case other

    /// The kind of each known URN; the first of a kind is the one that is written.
    private static let table: [(urn: String, kind: AuxiliaryKind)] = [
        ("urn:mpeg:hevc:2015:auxid:1", .alpha),
        ("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", .alpha),
        ("urn:mpeg:avc:2015:auxid:1", .alpha),
        ("urn:mpeg:hevc:2015:auxid:2", .depth),
        ("urn:mpeg:mpegB:cicp:systems:auxiliary:depth", .depth),
        ("urn:mpeg:avc:2015:auxid:2", .depth),
        ("urn:com:apple:photo:2020:aux:hdrgainmap", .gainMap),
        ("urn:com:samsung:photo:2024:aux:hdrgainmap", .gainMap),
        ("urn:com:apple:photo:2018:aux:portraiteffectsmatte", .matte),
        ("urn:com:apple:photo:2019:aux:semanticskinmatte", .matte),
        ("urn:com:apple:photo:2019:aux:semantichairmatte", .matte),
        ("urn:com:apple:photo:2019:aux:semanticteethmatte", .matte),
        ("urn:com:apple:photo:2020:aux:semanticglassesmatte", .matte),
        ("urn:com:apple:photo:2020:aux:semanticskymatte", .matte),
    ]

    /// The kind that a URN names.
    public init(urn: String) { self = Self.table.first { $0.urn == urn }?.kind ?? .other }

    /// The URN that is written for a kind; nil for `other`.
    public var urn: String? { Self.table.first { $0.kind == self }?.urn }
}
