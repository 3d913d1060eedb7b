// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDHEVC
package import HWDModel

/// Counts the metadata of a video stream's pictures, and finds where its color changes; for HEVC and H.264.
package struct StreamScan {
    /// A run of pictures with one color.
    package struct Segment {
        package var firstFrame: Int
        package var frames = 0
        /// In seconds; nil when not known.
        package var start: Double?
        package var color: ColorDescription
    }

    package private(set) var frames = 0
    package private(set) var rpus = 0
    package private(set) var damagedRPUs = 0
    /// The first RPU's profile.
    package private(set) var rpuProfile: Int?
    package private(set) var hdr10Plus = 0
    package private(set) var damagedHDR10Plus = 0
    package private(set) var hasCEA608 = false
    package private(set) var hasCEA708 = false
    /// The payloads of the first messages.
    package private(set) var ambientViewing: [UInt8]?
    package private(set) var masteringDisplay: [UInt8]?
    package private(set) var contentLight: [UInt8]?
    /// HEVC: the runs of pictures with one color; empty while no SPS is known.
    package private(set) var segments: [Segment] = []

    /// The most segments that are listed; a stream with more ends with one that has several colors.
    private static let maxSegments = 256

    private let isHEVC: Bool
    private var framing: SampleKind.Framing
    /// What the container declares, for streams whose VUI does not.
    private let containerColor: ColorDescription
    /// The color of the last SPS.
    private var active: ColorDescription?
    /// `preferred_transfer_characteristics`, which replaces the VUI's until another color.
    private var preferredTransfer: UInt8?

    /// What one picture has.
    private struct Picture {
        var isPicture = false
        var rpu: Bool?
        var hdr10Plus: Bool?
    }

    /// A scan of a stream with this configuration record or start of a byte stream.
    package init(isHEVC: Bool, configuration: [UInt8], color: ColorDescription) {
        self.isHEVC = isHEVC
        containerColor = color
        framing = .startCodes
        configure(configuration)
    }

    /// Adopts another sample entry's configuration.
    package mutating func configure(_ bytes: [UInt8]) {
        var picture = Picture()
        guard isHEVC else {
            framing = SampleKind.Framing(h264: bytes)
            return
        }
        let configuration = HEVCConfiguration(bytes)
        framing = configuration.framing
        (active, preferredTransfer) = (nil, nil)
        for unit in configuration.nalUnits { visit(unit[...], &picture) }
    }

    /// Counts one access unit; `start` is when it is shown, in seconds.
    package mutating func add(_ accessUnit: [UInt8], start: Double?) {
        var picture = Picture()
        forEachUnit(accessUnit) { visit($0, &picture) }
        // Parameter sets alone and damaged packets are no pictures.
        guard picture.isPicture else { return }
        frames += 1
        if let isReadable = picture.rpu { count(isReadable) }
        if let isReadable = picture.hdr10Plus { if isReadable { hdr10Plus += 1 } else { damagedHDR10Plus += 1 } }
        addToSegment(start)
    }

    private mutating func count(_ isReadable: Bool) {
        if isReadable { rpus += 1 } else { damagedRPUs += 1 }
    }

    private mutating func addToSegment(_ start: Double?) {
        guard var color = active else { return }
        if let preferredTransfer { color.transfer = preferredTransfer }
        if segments.last?.color != color, segments.count < Self.maxSegments {
            segments.append(Segment(firstFrame: frames - 1, start: start, color: color))
        }
        segments[segments.count - 1].frames += 1
    }

    private func forEachUnit(_ bytes: [UInt8], _ body: (ArraySlice<UInt8>) -> Void) {
        switch framing {
        case .startCodes: for nal in AnnexB.NALUnits(bytes) { body(nal) }
        case .lengths(let size):
            guard var units = try? LengthPrefixedNALUnits(bytes[...], lengthSize: size) else { return }
            while let nal = try? units.next() { body(nal) }
        }
    }

    private mutating func visit(_ nal: ArraySlice<UInt8>, _ picture: inout Picture) {
        guard isHEVC else { return visitH264(nal, &picture) }
        guard let header = try? NALUnitHeader(nal: nal), header.nuhLayerId == 0 else { return }
        switch header.nalUnitType {
        case .unspec62:
            let rpu = try? DolbyVisionRPU(nal: nal)
            if picture.isPicture { picture.rpu = rpu != nil }
            rpuProfile = rpuProfile ?? rpu?.profile
        case .prefixSEI, .suffixSEI: visitMessages(nal, &picture)
        case .sps:
            guard let sps = try? SequenceParameterSet(nal: nal) else { return }
            let color = color(sps)
            if color != active { preferredTransfer = nil }
            active = color
        case let type where type.isSlice: picture.isPicture = true
        default: break
        }
    }

    private func color(_ sps: SequenceParameterSet) -> ColorDescription {
        guard var color = ColorDescription(sps) else { return containerColor }
        color.chromaLocation = containerColor.chromaLocation
        return color
    }

    private mutating func visitH264(_ nal: ArraySlice<UInt8>, _ picture: inout Picture) {
        guard let type = nal.first.map({ $0 & 31 }) else { return }
        if type == 6 { visitMessages(SEI.hevcUnit(h264: nal), &picture) }
        if type == 1 || type == 5 { picture.isPicture = true }
    }

    private mutating func visitMessages(_ nal: ArraySlice<UInt8>, _ picture: inout Picture) {
        guard let sei = try? SEI(nal: nal) else { return }
        for message in sei.messages {
            let content = try? message.interpreted()
            switch message.payloadType {
            case SEIPayloadType.registeredUserData: visitRegistered(message, content, &picture)
            case SEIPayloadType.masteringDisplay where message.payload.count == 24:
                masteringDisplay = masteringDisplay ?? message.payload
            case SEIPayloadType.contentLight where message.payload.count == 4:
                contentLight = contentLight ?? message.payload
            case SEIPayloadType.alternativeTransfer:
                if case .alternativeTransferCharacteristics(let transfer)? = content {
                    preferredTransfer = UInt8(clamping: transfer)
                }
            case SEIPayloadType.ambientViewing where message.payload.count == 8:
                ambientViewing = ambientViewing ?? message.payload
            default: break
            }
        }
    }

    private mutating func visitRegistered(
        _ message: SEIMessage, _ content: SEIPayload?, _ picture: inout Picture
    ) {
        if case .closedCaptions(let captions)? = content {
            hasCEA608 = hasCEA608 || captions.hasCEA608
            hasCEA708 = hasCEA708 || captions.hasCEA708
        } else if message.payload.starts(with: HDR10PlusMetadata.identifier) {
            if case .hdr10Plus? = content { picture.hdr10Plus = true } else { picture.hdr10Plus = false }
        }
    }
}
