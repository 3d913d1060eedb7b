// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
public import HWDModel

/// One packet for a decoder, with the properties read from it.
public struct CodedUnit: Sendable {
    /// Slices and parameter sets of the base layer, with 4-byte lengths.
    public var bytes: [UInt8] = []
    /// `nal_unit_type` of the first slice segment; nil without one.
    public var pictureType: NALUnitType?
    /// TemporalId of the first slice segment; 0 without one.
    public var temporalLevel = 0
    /// Metadata to be output with its picture.
    public var sideData: [FrameSideData] = []
    /// `preferred_transfer_characteristics` (SEI 147) in effect; nil when the VUI applies.
    public var preferredTransfer: UInt8?
    /// Whether it contains an end-of-sequence NAL unit.
    public var endsSequence = false
    /// The packet's first error; the readable rest is in `bytes`.
    public var fault: SessionError?
    /// Whether `fault` prohibits decoding any of it.
    public var isRefused = false
    /// Whether the packet activates a different SPS.
    public var changesFormat = false
    /// Whether metadata beyond the limit was dropped.
    public var hasLostSideData = false
    /// The alpha layer's part; nil when alpha is not read or the stream has none.
    public var alpha: AlphaUnit?

    /// Limit of a picture's metadata in bytes; metadata beyond it is dropped.
    public static let maxSideData = FrameSideData.maxBytes

    mutating func add(_ kind: FrameSideData.Kind, _ bytes: some Collection<UInt8>) {
        let used = sideData.reduce(0) { $0 + $1.bytes.count }
        guard sideData.count < 8, bytes.count <= Self.maxSideData - used else { return hasLostSideData = true }
        sideData.append(FrameSideData(kind, Array(bytes)))
    }
}

/// Parses packets before they reach a decoder: drops NAL units that decoders do not need, collects metadata, and refuses
/// SPSs that need more memory than level 6.2 allows.
///
/// It passes the base layer. The alpha layer is extracted on request; other layers (Dolby Vision's enhancement layer)
/// are dropped.
public struct StreamReader: Sendable {
    /// Limit of NAL units in a packet; level 6.2 allows 600 slice segments per picture (H.265 table A.8).
    private static let maxUnits = 4096

    private let framing: StreamFormat.Framing
    private var spsInForce: [Int: [UInt8]] = [:]
    private var lastSPS: Int?
    private var staticData: [FrameSideData.Kind: [UInt8]] = [:]
    private var preferredTransfer: UInt8?
    /// Parameter sets to be inserted before the next packet.
    private var pending = PendingUnits()
    /// Why nothing can be decoded before a new SPS.
    private var refusal: SessionError?
    /// Nil when alpha was not requested.
    private var alpha: AlphaLayerReader?

    /// Reads packets of a stream in this format.
    public init(_ format: StreamFormat, readsAlpha: Bool = false) {
        framing = format.framing
        alpha = readsAlpha ? AlphaLayerReader() : nil
        adopt(format)
    }

    /// Changes the format from the next packet on; the framing of packets cannot change.
    ///
    /// - Throws: `FormatDescriptionChangeNotSupported` when the framing differs.
    public mutating func change(to format: StreamFormat) throws(SessionError) {
        guard framing == format.framing else {
            throw SessionError(
                .formatDescriptionChangeNotSupported,
                "the new format's framing of NAL units differs from that of the session's packets")
        }
        pending = PendingUnits()
        for nal in format.record.nalUnits { pending.append(nal[...]) }
        refusal = nil
        adopt(format)
    }

    /// Keeps the parameter sets and end-of-sequence NAL units of a packet that is not decoded, for the next packet.
    public mutating func deferParameterSets(_ unit: CodedUnit) {
        guard var units = try? LengthPrefixedNALUnits(unit.bytes[...]) else { return }
        while let nal = try? units.next() {
            guard let type = (try? NALUnitHeader(nal: nal))?.nalUnitType else { continue }
            if type.isParameterSet || type == .eos || type == .eob { pending.append(nal) }
        }
    }

    private mutating func adopt(_ format: StreamFormat) {
        var ignored = CodedUnit()
        for nal in format.record.nalUnits where (try? NALUnitHeader(nal: nal))?.nalUnitType == .sps {
            takeSPS(nal[...], &ignored)
        }
        for nal in format.messages { takeMessages(nal[...], &ignored) }
        guard alpha != nil else { return }
        alpha = AlphaLayerReader()
        for nal in format.layers { alpha?.take(nal[...]) }
        _ = alpha?.finish(hasPicture: false)
    }

    /// Parses a packet.
    public mutating func read(_ packet: [UInt8]) -> CodedUnit {
        var unit = CodedUnit()
        unit.bytes.reserveCapacity(packet.count + 64)
        for nal in pending.units { append(nal[...], &unit) }
        pending = PendingUnits()
        do throws(BitstreamError) {
            try forEachUnit(packet) { (nal) throws(BitstreamError) in try take(nal, &unit) }
        } catch {
            unit.fault = unit.fault ?? SessionError(.videoDecoderBadData, "the packet is damaged: \(error.reason)")
        }
        if let refusal {
            unit.fault = refusal
            unit.isRefused = true
        }
        if let part = alpha?.finish(hasPicture: unit.pictureType != nil) { unit.alpha = part }
        unit.preferredTransfer = preferredTransfer
        let kinds: [FrameSideData.Kind] = [.masteringDisplay, .contentLight, .ambientViewing]
        unit.sideData =
            kinds.compactMap { kind in staticData[kind].map { FrameSideData(kind, $0) } } + unit.sideData
        return unit
    }

    private func forEachUnit(
        _ packet: [UInt8], _ body: (ArraySlice<UInt8>) throws(BitstreamError) -> Void
    ) throws(BitstreamError) {
        var count = 0
        func countOne() throws(BitstreamError) {
            count += 1
            guard count <= Self.maxUnits else {
                throw BitstreamError(.outOfRange, "there are more than \(Self.maxUnits) NAL units")
            }
        }
        switch framing {
        case .byteStream:
            for nal in AnnexB.NALUnits(packet) {
                try countOne()
                try body(nal)
            }
        case .lengthPrefixed(let size):
            var units = try LengthPrefixedNALUnits(packet[...], lengthSize: size)
            while let nal = try units.next() {
                try countOne()
                if !nal.isEmpty { try body(nal) }
            }
        }
    }

    private mutating func take(_ nal: ArraySlice<UInt8>, _ unit: inout CodedUnit) throws(BitstreamError) {
        let header = try NALUnitHeader(nal: nal)
        alpha?.take(nal)
        guard !header.nalUnitType.isParameterSet || nal.count <= PendingUnits.maxSetSize else {
            unit.fault =
                unit.fault
                ?? SessionError(.videoDecoderBadData, "a parameter set of \(nal.count) bytes exceeds the limit")
            return
        }
        switch header.nalUnitType {
        case .unspec62 where header.nuhLayerId == 0:
            // One in front of the slices is the previous picture's (7.4.2.4.4), which was sent without it.
            if unit.pictureType == nil { unit.hasLostSideData = true } else { unit.add(.dolbyVisionRPU, nal) }
        case _ where header.nuhLayerId != 0: break
        case .prefixSEI, .suffixSEI: takeMessages(nal, &unit)
        case .sps:
            takeSPS(nal, &unit)
            if refusal == nil { append(nal, &unit) }
        case .vps: append(StreamFormat.singleLayer(Array(nal))[...], &unit)
        case .pps: append(nal, &unit)
        case .eos, .eob:
            unit.endsSequence = true
            append(nal, &unit)
        case let type where type.isSlice:
            if unit.pictureType == nil {
                (unit.pictureType, unit.temporalLevel) = (type, header.temporalID)
            }
            append(nal, &unit)
        default: break
        }
    }

    private func append(_ nal: ArraySlice<UInt8>, _ unit: inout CodedUnit) {
        for shift in [24, 16, 8, 0] { unit.bytes.append(UInt8(truncatingIfNeeded: nal.count >> shift)) }
        unit.bytes += nal
    }

    /// Accepts the SPS in effect at once, and validates any other.
    private mutating func takeSPS(_ nal: ArraySlice<UInt8>, _ unit: inout CodedUnit) {
        if let lastSPS, let known = spsInForce[lastSPS], known.elementsEqual(nal) {
            refusal = nil
            return
        }
        do throws(BitstreamError) {
            let sps = try SequenceParameterSet(nal: nal)
            do throws(SessionError) { try StreamFormat.check(sps) } catch {
                refusal = error
                return
            }
            let id = sps.spsSeqParameterSetId
            if let known = spsInForce[id], !known.elementsEqual(nal) || lastSPS != id { unit.changesFormat = true }
            refusal = nil
            spsInForce[id] = Array(nal)
            lastSPS = id
        } catch {
            refusal = SessionError(
                .videoDecoderBadData, "the SPS is damaged: \(error.reason)")
        }
    }

    private mutating func takeMessages(_ nal: ArraySlice<UInt8>, _ unit: inout CodedUnit) {
        guard let sei = try? SEI(nal: nal) else { return }
        for message in sei.messages {
            switch (message.payloadType, message.payload.count) {
            case (SEIPayloadType.masteringDisplay, 24...):
                staticData[.masteringDisplay] = Array(message.payload.prefix(24))
            case (SEIPayloadType.contentLight, 4...): staticData[.contentLight] = Array(message.payload.prefix(4))
            case (SEIPayloadType.ambientViewing, 8...):
                staticData[.ambientViewing] = Array(message.payload.prefix(8))
            case (SEIPayloadType.alternativeTransfer, 1...): preferredTransfer = message.payload.first
            case (SEIPayloadType.registeredUserData, _)
            where message.payload.starts(with: HDR10PlusMetadata.identifier):
                unit.add(.hdr10Plus, message.payload)
            default: break
            }
        }
    }
}
