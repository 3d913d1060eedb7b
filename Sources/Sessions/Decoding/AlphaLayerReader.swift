// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
internal import HWDModel

/// Takes the alpha layer out of a stream's NAL units and makes a stream of its own of it, for a second decoder.
///
/// Slices keep their bytes: only `nuh_layer_id` becomes 0, and where the layer's IDR slices tell an order count the
/// header is written anew. Parameter sets keep their ids. Nothing passes that asks for more memory than level 6.2 does.
struct AlphaLayerReader: Sendable {
    /// What the VPS says of the layer.
    private enum Layer {
        /// There is no alpha layer.
        case none
        /// `nuh_layer_id`, its place in the VPS, and whether IDR slices tell an order count.
        case alpha(id: Int, index: Int, idrHasOrderCount: Bool)
        /// There are layers that may be one, but not one that can be read.
        case unreadable(String)
    }

    private var layer = Layer.none
    private var vps = VideoParameterSet()
    private var info: AlphaChannelInfo?
    private var isFullRange: Bool?
    /// The layer's parameter sets, rewritten, and those of the base, which it may share; by type and id.
    private var own: [Int: [UInt8]] = [:]
    private var shared: [Int: [UInt8]] = [:]
    private var sets = ParameterSets()
    /// Why nothing can be decoded until another SPS comes.
    private var refusal: String?
    private var unit = AlphaUnit(meaning: AlphaInterpretation(nil, isFullRange: nil))
    private var endsSequence = false
    /// The layer's parameter sets since the last picture, which come before the next one.
    private var newSets = PendingUnits()

    init() {}

    /// What the layer's samples mean; nil when the stream has no alpha layer.
    var meaning: AlphaInterpretation? {
        guard case .alpha = layer else { return nil }
        return AlphaInterpretation(info, isFullRange: isFullRange)
    }

    /// Why a stream of several layers is taken for one without alpha; nil where it is not.
    var reason: String? {
        guard case .unreadable(let reason) = layer else { return nil }
        return reason
    }

    /// Takes the next NAL unit, of whatever layer.
    mutating func take(_ nal: ArraySlice<UInt8>) {
        guard let header = try? NALUnitHeader(nal: nal) else { return }
        switch (layer, header.nalUnitType) {
        case (_, .vps) where header.nuhLayerId == 0: takeVPS(nal)
        case (_, .prefixSEI), (_, .suffixSEI): takeMessages(nal)
        case (.alpha(let id, _, _), .sps) where header.nuhLayerId == 0 || header.nuhLayerId == id:
            takeSPS(nal, header)
        case (.alpha(let id, _, _), .pps) where header.nuhLayerId == 0 || header.nuhLayerId == id:
            takePPS(nal, header)
        case (.alpha(let id, _, _), .eos) where header.nuhLayerId == 0 || header.nuhLayerId == id:
            endsSequence = true
        case (.alpha(let id, _, _), let type) where type.isSlice && header.nuhLayerId == id:
            takeSlice(nal, header)
        case (.unreadable(let reason), let type) where type.isSlice && header.nuhLayerId > 0:
            unit.fault = reason
        default: break
        }
    }

    /// What the packet had of the layer; nil when the stream has no alpha layer.
    ///
    /// - Parameter hasPicture: whether the packet has a picture of the base layer.
    mutating func finish(hasPicture: Bool) -> AlphaUnit? {
        defer {
            unit = AlphaUnit(meaning: AlphaInterpretation(info, isFullRange: isFullRange))
            endsSequence = false
        }
        unit.meaning = AlphaInterpretation(info, isFullRange: isFullRange)
        switch layer {
        case .none: return nil
        case .unreadable: return unit.fault == nil ? nil : unit
        case .alpha: break
        }
        if let refusal { unit.fault = refusal }
        if unit.pictureType == nil, hasPicture {
            unit.fault = unit.fault ?? "the access unit has no slices of the alpha layer"
        }
        if unit.pictureType == nil || refusal != nil { unit.bytes = [] }
        if !unit.bytes.isEmpty, endsSequence { append([NALUnitType.eos.rawValue << 1, 1]) }
        return unit
    }

    private mutating func takeVPS(_ nal: ArraySlice<UInt8>) {
        do throws(BitstreamError) {
            let new = try VideoParameterSet(nal: nal)
            guard new != vps || vps.vpsExtension == nil else { return }
            vps = new
            layer = .none
            guard new.vpsMaxLayersMinus1 > 0, let list = try new.multilayerExtension() else { return }
            guard let id = list.alphaLayerId, let index = list.layers.firstIndex(where: { $0.nuhLayerId == id })
            else { return }
            guard id > 0, list.relations?.directDependencyFlag != true else {
                return layer = .unreadable(
                    "the alpha layer is predicted from the base layer, which no decoder here does")
            }
            let hasOrderCount = list.relations.map { !$0.pocLsbNotPresentFlag } ?? false
            layer = .alpha(id: id, index: index, idrHasOrderCount: hasOrderCount)
            sets = ParameterSets()
            if hasOrderCount { sets.layersWithIdrPocLsb = [id] }
            (own, shared, refusal) = ([:], [:], nil)
        } catch {
            layer = .unreadable(
                "the stream has further layers, and its VPS does not tell whether one is alpha: \(error.reason)")
        }
    }

    private mutating func takeMessages(_ nal: ArraySlice<UInt8>) {
        guard let sei = try? SEI(nal: nal) else { return }
        for message in sei.messages where message.payloadType == 165 {
            if case .alphaChannelInfo(let new)? = try? message.interpreted() { info = new }
        }
    }

    private mutating func takeSPS(_ nal: ArraySlice<UInt8>, _ header: NALUnitHeader) {
        guard case .alpha(_, let index, _) = layer else { return }
        do throws(BitstreamError) {
            guard nal.count <= PendingUnits.maxSetSize else {
                throw BitstreamError(.outOfRange, "it has \(nal.count) bytes")
            }
            let sps = try SequenceParameterSet(nal: nal).standalone(vps: vps, layerIndex: index)
            do throws(SessionError) { try StreamFormat.check(sps) } catch {
                if header.nuhLayerId > 0 { refusal = "of the alpha layer, \(error.reason)" }
                return
            }
            let key = Self.key(.sps, sps.spsSeqParameterSetId)
            if header.nuhLayerId == 0 {
                shared[key] = Array(nal)
                if own[key] == nil { sets.add(sps) }
                return
            }
            own[key] = try sps.nalUnit()
            sets.add(sps)
            isFullRange = sps.vuiParameters?.videoSignalType?.videoFullRangeFlag
            refusal = nil
            newSets.append((own[key] ?? [])[...])
        } catch {
            if header.nuhLayerId > 0 { refusal = "the alpha layer's SPS is damaged: \(error.reason)" }
        }
    }

    private mutating func takePPS(_ nal: ArraySlice<UInt8>, _ header: NALUnitHeader) {
        guard nal.count <= PendingUnits.maxSetSize else { return }
        // Only the id is of interest; what else is in it is the decoder's to judge.
        var reader = BitReader(EmulationPrevention.remove(from: nal.dropFirst(2).prefix(16)))
        guard let id = try? reader.readUE(), id < 64 else { return }
        let key = Self.key(.pps, Int(id))
        if header.nuhLayerId > 0 || own[key] == nil, let pps = try? PictureParameterSet(nal: nal) { sets.add(pps) }
        if header.nuhLayerId == 0 { return shared[key] = Array(nal) }
        let rewritten = Self.inBaseLayer(nal)
        own[key] = rewritten
        newSets.append(rewritten[...])
    }

    private mutating func takeSlice(_ nal: ArraySlice<UInt8>, _ header: NALUnitHeader) {
        guard case .alpha(_, _, let idrHasOrderCount) = layer else { return }
        if unit.pictureType == nil {
            unit.pictureType = header.nalUnitType
            // All sets before every picture that decoding can start from: the decoder may just have been opened.
            if header.nalUnitType.isIRAP {
                if let known = try? vps.singleLayer.nalUnit() { append(known) }
                for (_, set) in shared.filter({ own[$0.key] == nil }).sorted(by: { $0.key < $1.key }) {
                    append(set)
                }
                for (_, set) in own.sorted(by: { $0.key < $1.key }) { append(set) }
            } else {
                for set in newSets.units { append(set) }
            }
            newSets = PendingUnits()
        }
        guard header.nalUnitType.isIDR, idrHasOrderCount else { return append(Self.inBaseLayer(nal)) }
        do throws(BitstreamError) {
            let slice = try SliceSegment(nal: nal, parameterSets: sets)
            append(try slice.standalone.nalUnit(parameterSets: sets))
        } catch {
            unit.fault = "a slice of the alpha layer is damaged: \(error.reason)"
        }
    }

    private mutating func append(_ nal: [UInt8]) {
        for shift in [24, 16, 8, 0] { unit.bytes.append(UInt8(truncatingIfNeeded: nal.count >> shift)) }
        unit.bytes += nal
    }

    /// A NAL unit with `nuh_layer_id` 0.
    private static func inBaseLayer(_ nal: ArraySlice<UInt8>) -> [UInt8] {
        var copy = Array(nal)
        copy[0] &= 0xFE
        copy[1] &= 0x07
        return copy
    }

    private static func key(_ type: NALUnitType, _ id: Int) -> Int { Int(type.rawValue) << 8 | id }
}
