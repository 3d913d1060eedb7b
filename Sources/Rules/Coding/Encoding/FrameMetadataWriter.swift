// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

/// Writes the HDR metadata and captions of frames into the access units of their pictures.
///
/// It works on the access units that any encoder returns, so metadata stay with their pictures whatever the order of
/// coding, the temporal level or the encoder. Static metadata apply to a coded video sequence and are written with its key
/// frame (H.265 D.3.28, D.3.35, D.3.39).
public struct FrameMetadataWriter: Sendable {
    /// The light of a frame, as PQ codes of 12 bits (SMPTE ST 2094-10).
    public struct Light: Hashable, Sendable {
        public var min: Int
        public var max: Int
        public var average: Int
        /// Whether the frame is the first of a shot.
        public var startsShot: Bool

        public init(min: Int, max: Int, average: Int, startsShot: Bool) {
            (self.min, self.max, self.average, self.startsShot) = (min, max, average, startsShot)
        }
    }

    /// Why metadata are not written.
    private enum Cause: Hashable {
        case notPreserved
        case unreadable(FrameSideData.Kind)
        case notGenerated
        case waiting
        case contradicted
    }

    private var rules: FrameMetadataRules
    /// Makes RPUs from the light of frames.
    private var generator: DolbyVisionGenerator
    /// Metadata of the frames inside the encoder, by presentation time.
    private var pending: [Int64: [FrameSideData]] = [:]
    /// Static metadata in effect, and those that wait for the next key frame.
    private var sequence = SequenceMetadata()
    /// Frames with entries that were not written, by the kind of reason: a reason quotes values of the metadata, so
    /// that a stream can have any number of them.
    private var leftOut: [Cause: (reason: String, count: Int)] = [:]
    private var sample: [UInt8] = []

    public init(_ configuration: EncoderConfiguration) {
        rules = configuration.frameMetadata
        generator = DolbyVisionGenerator(.iPhone, staticLight: RPUStaticLight(configuration))
        sequence = SequenceMetadata(configuration)
    }

    /// Applies a configuration from the next frame on.
    public mutating func change(to configuration: EncoderConfiguration) { rules = configuration.frameMetadata }

    /// A number that changes whenever `notes` does.
    public private(set) var notesVersion = 0

    /// A sentence for each reason why metadata were not written.
    public var notes: [String] {
        leftOut.values.sorted { $0.reason < $1.reason }.map { reason, count in
            "metadata of \(count) \(count == 1 ? "frame is" : "frames are") not written: \(reason)"
        }
    }

    /// Notes the metadata of a frame that enters the encoder; the bytes are a client's and are checked here.
    ///
    /// - Parameter light: what an RPU is made from (`EncoderConfiguration.generatesRPU`); nil makes none.
    public mutating func add(_ metadata: FrameMetadata, pts: Int64, light: Light? = nil) {
        var entries: [FrameSideData] = []
        var causes: [Cause: String] = [:]
        for entry in metadata.sideData where rules.isInserted || entry.kind == .closedCaptions {
            if entry.kind.isDynamic, !rules.preservesDynamic {
                if light == nil { causes[.notPreserved] = "PreserveDynamicHDRMetadata is false" }
                continue
            }
            do throws(BitstreamError) {
                try entry.check()
                entries.append(entry)
            } catch {
                causes[.unreadable(entry.kind)] = error.reason
            }
        }
        if let light, rules.isInserted {
            do throws(BitstreamError) {
                entries.append(try rpu(light))
            } catch {
                causes[.notGenerated] = error.reason
            }
        }
        note(causes)
        if !entries.isEmpty { pending[pts] = entries }
    }

    private func rpu(_ light: Light) throws(BitstreamError) -> FrameSideData {
        let range = RPULight(min: light.min, max: light.max, average: light.average)
        // The TemporalId follows from the picture.
        let unit = try generator.nalUnit(light: range, startsShot: light.startsShot, temporalID: 0)
        return FrameSideData(.dolbyVisionRPU, unit)
    }

    /// Counts a frame once for each cause.
    private mutating func note(_ causes: [Cause: String]) {
        if !causes.isEmpty { notesVersion += 1 }
        for (cause, reason) in causes { leftOut[cause, default: (String(reason.prefix(128)), 0)].count += 1 }
    }

    /// Calls `handler` with a picture's access unit and the metadata of its frame.
    ///
    /// - Throws: `VideoEncoderMalfunction` when the encoder's access unit cannot be read, and what `handler` throws.
    public mutating func write(
        _ picture: EncodedPicture, _ bytes: RawSpan, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        let entries = pending.removeValue(forKey: picture.pts) ?? []
        let due = sequence.take(entries.filter(\.kind.isStatic), pts: picture.pts, isSync: picture.isSync)
        if due.isWaiting { note([.waiting: "static HDR metadata change at the next key frame"]) }
        var metadata = AccessUnitMetadata()
        for entry in due.entries + entries.filter({ !$0.kind.isStatic }) { entry.add(to: &metadata) }
        guard !metadata.isEmpty else { return try handler(picture, bytes) }
        sample.removeAll(keepingCapacity: true)
        unsafe bytes.withUnsafeBytes { unsafe sample.append(contentsOf: $0) }
        do throws(BitstreamError) {
            let contradicted = try metadata.insert(into: &sample)
            if !contradicted.isEmpty {
                note([.contradicted: "the stream has other values, which properties of the session set"])
            }
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "HDR metadata cannot be inserted into a picture: \(error.reason)")
        }
        try unsafe handler(picture, sample.span.bytes)
    }
}

extension RPUStaticLight {
    /// Level 6 from the stream's static metadata (H.265 D.3.28, D.3.35); nil without any.
    fileprivate init?(_ configuration: EncoderConfiguration) {
        guard let bytes = configuration.masteringDisplay,
            case .masteringDisplayColourVolume(let display)? =
                try? SEIMessage(payloadType: SEIPayloadType.masteringDisplay, payload: bytes).interpreted()
        else { return nil }
        // The maximum is in 0.0001 cd/m²; level 6 has 16 bits for each field.
        self.init(
            maxLuminance: Swift.min(display.maxDisplayMasteringLuminance / 10_000, 65_535),
            minLuminance: Swift.min(display.minDisplayMasteringLuminance, 65_535))
        guard let bytes = configuration.contentLight,
            case .contentLightLevelInfo(let light)? =
                try? SEIMessage(payloadType: SEIPayloadType.contentLight, payload: bytes).interpreted()
        else { return }
        maxContentLightLevel = light.maxContentLightLevel
        maxFrameAverageLightLevel = light.maxPicAverageLightLevel
    }
}

extension FrameSideData {
    /// Checks the syntax of metadata of any size; the sizes of the other kinds were checked when they were decoded.
    fileprivate func check() throws(BitstreamError) {
        switch kind {
        case .masteringDisplay, .contentLight, .ambientViewing: break
        case .hdr10Plus: _ = try HDR10PlusMetadata(payload: bytes)
        case .dolbyVisionRPU: _ = try DolbyVisionRPU(nal: bytes)
        case .closedCaptions: _ = try ClosedCaptions(payload: bytes)
        }
    }

    fileprivate func add(to metadata: inout AccessUnitMetadata) {
        let type: Int
        switch kind {
        case .masteringDisplay: type = SEIPayloadType.masteringDisplay
        case .contentLight: type = SEIPayloadType.contentLight
        case .ambientViewing: type = SEIPayloadType.ambientViewing
        case .hdr10Plus, .closedCaptions: type = SEIPayloadType.registeredUserData
        case .dolbyVisionRPU:
            metadata.rpu = bytes
            return
        }
        metadata.messages.append(SEIMessage(payloadType: type, payload: bytes))
    }
}
