// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
internal import HWDModel

/// Extracts the alpha layer from a stream's NAL units as a separate stream for a second decoder.
///
/// Slices keep their bytes except for `nuh_layer_id`, which becomes 0; only IDR slices with an order count get a new
/// header. Parameter sets keep their ids. SPSs that need more memory than level 6.2 allows are refused.
struct AlphaLayerReader: Sendable {
    /// The layer as the VPS describes it.
    private enum Layer {
        case none
        /// `nuh_layer_id`, the index in the VPS, and whether IDR slices carry slice_pic_order_cnt_lsb.
        case alpha(id: Int, index: Int, idrHasOrderCount: Bool)
        /// A layer may be alpha, but it cannot be read.
        case unreadable(String)
    }

    private var layer = Layer.none
    private var vps = VideoParameterSet()
    private var info: AlphaChannelInfo?
    private var isFullRange: Bool?
    /// Rewritten parameter sets of the layer, and those of the base layer, which it may share; by type and id.
    private var own: [Int: [UInt8]] = [:]
    private var shared: [Int: [UInt8]] = [:]
    private var sets = ParameterSets()
    /// Why nothing can be decoded before a new SPS.
    private var refusal: String?
    private var unit = AlphaUnit(interpretation: AlphaInterpretation(nil, isFullRange: nil))
    private var endsSequence = false
    /// The layer's parameter sets since the last picture, to be output before the next one.
    private var newSets = PendingUnits()

    init() {}

    /// Nil when the stream has no alpha layer.
    var interpretation: AlphaInterpretation? {
        guard case .alpha = layer else { return nil }
        return AlphaInterpretation(info, isFullRange: isFullRange)
    }

    /// Why a stream of several layers is treated as one without alpha; nil otherwise.
    var reason: String? {
        guard case .unreadable(let reason) = layer else { return nil }
        return reason
    }

    /// Reads the next NAL unit, of any layer.
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

    /// Returns the packet's part of the layer; nil when the stream has no alpha layer.
    ///
    /// - Parameter hasPicture: whether the packet has a picture of the base layer.
    mutating func finish(hasPicture: Bool) -> AlphaUnit? {
        defer {
            unit = AlphaUnit(interpretation: AlphaInterpretation(info, isFullRange: isFullRange))
            endsSequence = false
        }
        unit.interpretation = AlphaInterpretation(info, isFullRange: isFullRange)
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
                    "the alpha layer is predicted from the base layer, which is not supported")
            }
            let hasOrderCount = list.relations.map { !$0.pocLsbNotPresentFlag } ?? false
            layer = .alpha(id: id, index: index, idrHasOrderCount: hasOrderCount)
            sets = ParameterSets()
            if hasOrderCount { sets.layersWithIdrPocLsb = [id] }
            (own, shared, refusal) = ([:], [:], nil)
        } catch {
            layer = .unreadable(
                "the stream has several layers, and the VPS that would name an alpha layer is damaged: \(error.reason)"
            )
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
                throw BitstreamError(.outOfRange, "\(nal.count) bytes exceed the limit")
            }
            let sps = try SequenceParameterSet(nal: nal).standalone(vps: vps, layerIndex: index)
            do throws(SessionError) { try StreamFormat.check(sps) } catch {
                if header.nuhLayerId > 0 { refusal = "the alpha layer cannot be decoded: \(error.reason)" }
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
        // Only the id is needed here; the decoder validates the rest.
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
            // All sets precede every random access picture: the decoder may just have been opened.
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
