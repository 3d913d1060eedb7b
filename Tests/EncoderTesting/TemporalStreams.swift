// SPDX-License-Identifier: GPL-2.0-or-later
import HWDHEVC
import HWDModel

/// Requirements on streams with temporal levels, for every encoder.
public enum TemporalStreams {
    /// A stream's faults; empty for a valid stream.
    ///
    /// Checks headers and references, and that with levels removed from the top the stream decodes without messages to the
    /// same pictures as the whole stream.
    ///
    /// - Parameters:
    ///   - levels: of each frame, in presentation order.
    ///   - usesLibde265: its release 1.0.11 decodes leading pictures of open GOPs wrongly.
    public static func faults(_ result: EncodeResult, levels: [Int], usesLibde265: Bool = true) throws -> [String] {
        guard result.failure == nil else { return ["failed: \(result.failure ?? "")"] }
        let count = (levels.max() ?? 0) + 1
        var faults: [String] = []
        let shown = result.pictures.sorted { $0.pts < $1.pts }.map { Int($0.temporalLevel) }
        if shown != levels { faults.append("levels are \(shown), not \(levels)") }
        faults += try parameterSetFaults(result, count)
        faults += try referenceFaults(result)
        faults += try droppingFaults(result, levels, usesLibde265: usesLibde265)
        return faults
    }

    private static func parameterSetFaults(_ result: EncodeResult, _ count: Int) throws -> [String] {
        var faults: [String] = []
        let record = try result.record
        if record.numTemporalLayers != count || !record.temporalIdNested {
            faults.append("hvcC has \(record.numTemporalLayers) layers, nested \(record.temporalIdNested)")
        }
        let sps = try result.sps
        var sets = ParameterSets()
        for unit in record.nalUnits { try sets.add(nal: unit[...]) }
        guard let vps = sets.videoParameterSets[sps.spsVideoParameterSetId] else { return ["there is no VPS"] }
        if sps.spsMaxSubLayersMinus1 != count - 1 || vps.vpsMaxSubLayersMinus1 != count - 1 {
            faults.append("SPS and VPS have \(sps.spsMaxSubLayersMinus1), \(vps.vpsMaxSubLayersMinus1)")
        }
        if !sps.spsTemporalIdNestingFlag || !vps.vpsTemporalIdNestingFlag { faults.append("not nested") }
        let general = sps.profileTierLevel.generalLevelIdc
        let parts = sps.profileTierLevel.subLayers.compactMap(\.levelIdc)
        if parts.count != count - 1 || parts != parts.sorted() || parts.contains(where: { $0 > general }) {
            faults.append("levels of the parts are \(parts), of the whole \(general)")
        }
        return faults
    }

    /// Checks NAL unit types (H.265 7.4.2.2), entries of reference picture sets (7.4.8), that these exist (8.3.2), and the
    /// size of each sub-layer's buffer (C.5.2).
    private static func referenceFaults(_ result: EncodeResult) throws -> [String] {
        var faults: [String] = []
        let sps = try result.sps
        var order = PictureOrderCount()
        var kept: [Int: Int] = [:]
        for (picture, slice) in zip(result.pictures, try result.slices()) {
            let (header, level) = (slice.header, Int(picture.temporalLevel))
            let type = header.header.nalUnitType
            if header.header.temporalID != level { faults.append("\(picture.frameID): TemporalId, level \(level)") }
            if type.isTemporalSwitchingPoint != (level > 0 && !type.isRASL && !type.isRADL) {
                faults.append("\(picture.frameID): \(type) at level \(level)")
            }
            let poc = order.next(header, sps: sps)
            if header.references == nil { kept = [:] }
            let set = header.references?.shortTermRefPicSet ?? ShortTermRefPicSet()
            var named: Set<Int> = []
            for reference in set.negativePics + set.positivePics {
                named.insert(poc + reference.deltaPoc)
                guard let there = kept[poc + reference.deltaPoc] else {
                    faults.append("\(picture.frameID) (POC \(poc)): \(poc + reference.deltaPoc) is not there")
                    continue
                }
                if there >= max(1, level) { faults.append("\(picture.frameID): lists a picture of level \(there)") }
            }
            kept = kept.filter { named.contains($0.key) }
            kept[poc] = level
            for part in sps.orderingInfo.subLayers.indices where part >= level {
                let full = kept.values.count { $0 <= part } - 1
                if full > sps.orderingInfo.subLayers[part].maxDecPicBufferingMinus1 {
                    faults.append("\(picture.frameID): \(full) references up to level \(part)")
                }
            }
        }
        return faults
    }

    private static func droppingFaults(
        _ result: EncodeResult, _ levels: [Int], usesLibde265: Bool
    ) throws -> [String] {
        var faults: [String] = []
        let format = try result.sps.bitDepthLuma == 8 ? "yuv420p" : "yuv420p10le"
        var decoders = [("ffmpeg", { try StreamDecoders.ffmpeg($0, pixelFormat: format) })]
        if usesLibde265, StreamDecoders.libde265UnavailableReason == nil {
            decoders.append(("libde265", StreamDecoders.libde265))
        }
        for (name, decode) in decoders {
            let whole = try decode(try result.stream())
            let size = whole.count / levels.count
            for level in 0..<(levels.max() ?? 0) {
                let expected = levels.indices.filter { levels[$0] <= level }
                    .flatMap { whole[($0 * size)..<(($0 + 1) * size)] }
                let part = try decode(try result.stream(through: UInt8(level)))
                if part != expected { faults.append("levels 0…\(level) decode to other pictures (\(name))") }
            }
        }
        return faults
    }
}
