// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

/// Writes the HDR metadata of frames into the access units of their pictures.
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
    }

    private var rules: FrameMetadataRules
    /// Makes RPUs from the light of frames.
    private var generator: DolbyVisionGenerator
    /// Metadata of the frames inside the encoder, by presentation time.
    private var pending: [Int64: [FrameSideData]] = [:]
    /// Frames with entries that were not written, by the kind of reason: a reason quotes values of the metadata, so
    /// that a stream can have any number of them.
    private var leftOut: [Cause: (reason: String, count: Int)] = [:]
    private var sample: [UInt8] = []

    public init(_ configuration: EncoderConfiguration) {
        rules = configuration.frameMetadata
        generator = DolbyVisionGenerator(.iPhone, staticLight: RPUStaticLight(configuration))
    }

    /// Applies a configuration from the next frame on.
    public mutating func change(to configuration: EncoderConfiguration) { rules = configuration.frameMetadata }

    /// A sentence for each reason why metadata were not written.
    public var notes: [String] {
        leftOut.values.sorted { $0.reason < $1.reason }.map { reason, count in
            "HDR metadata of \(count) \(count == 1 ? "frame is" : "frames are") not written: \(reason)"
        }
    }

    /// Notes the metadata of a frame that enters the encoder; the bytes are a client's and are checked here.
    ///
    /// - Parameter light: what an RPU is made from (`EncoderConfiguration.generatesRPU`); nil makes none.
    public mutating func add(_ metadata: FrameMetadata, pts: Int64, light: Light? = nil) {
        guard rules.isInserted else { return }
        var entries: [FrameSideData] = []
        var causes: [Cause: String] = [:]
        for entry in metadata.sideData {
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
        if let light {
            let range = RPULight(min: light.min, max: light.max, average: light.average)
            do throws(BitstreamError) {
                // The TemporalId follows from the picture.
                let unit = try generator.nalUnit(light: range, startsShot: light.startsShot, temporalID: 0)
                entries.append(FrameSideData(.dolbyVisionRPU, unit))
            } catch {
                causes[.notGenerated] = error.reason
            }
        }
        for (cause, reason) in causes {
            leftOut[cause, default: (String(reason.prefix(128)), 0)].count += 1
        }
        if !entries.isEmpty { pending[pts] = entries }
    }

    /// Calls `handler` with a picture's access unit and the metadata of its frame.
    ///
    /// - Throws: `VideoEncoderMalfunction` when the encoder's access unit cannot be read, and what `handler` throws.
    public mutating func write(
        _ picture: EncodedPicture, _ bytes: RawSpan, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        guard let entries = pending.removeValue(forKey: picture.pts) else { return try handler(picture, bytes) }
        var metadata = AccessUnitMetadata()
        for entry in entries where entry.kind.isDynamic || picture.isSync { entry.add(to: &metadata) }
        guard !metadata.isEmpty else { return try handler(picture, bytes) }
        sample.removeAll(keepingCapacity: true)
        unsafe bytes.withUnsafeBytes { unsafe sample.append(contentsOf: $0) }
        do throws(BitstreamError) {
            try metadata.insert(into: &sample, temporalID: Int(picture.temporalLevel))
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
        guard let display = configuration.masteringDisplay, display.count == 24 else { return nil }
        func number(_ range: Range<Int>, of bytes: [UInt8]) -> Int { bytes[range].reduce(0) { $0 << 8 | Int($1) } }
        // The maximum is in 0.0001 cd/m²; level 6 has 16 bits for each field.
        self.init(
            maxLuminance: Swift.min(number(16..<20, of: display) / 10_000, 65_535),
            minLuminance: Swift.min(number(20..<24, of: display), 65_535))
        guard let light = configuration.contentLight, light.count == 4 else { return }
        maxContentLightLevel = number(0..<2, of: light)
        maxFrameAverageLightLevel = number(2..<4, of: light)
    }
}

extension FrameSideData {
    /// Checks the syntax of dynamic metadata; the sizes of the other kinds were checked when they were decoded.
    fileprivate func check() throws(BitstreamError) {
        switch kind {
        case .masteringDisplay, .contentLight, .ambientViewing: break
        case .hdr10Plus: _ = try HDR10PlusMetadata(payload: bytes)
        case .dolbyVisionRPU: _ = try DolbyVisionRPU(nal: bytes)
        }
    }

    fileprivate func add(to metadata: inout AccessUnitMetadata) {
        switch kind {
        case .masteringDisplay: metadata.messages.append(SEIMessage(payloadType: 137, payload: bytes))
        case .contentLight: metadata.messages.append(SEIMessage(payloadType: 144, payload: bytes))
        case .ambientViewing: metadata.messages.append(SEIMessage(payloadType: 148, payload: bytes))
        case .hdr10Plus: metadata.messages.append(SEIMessage(payloadType: 4, payload: bytes))
        case .dolbyVisionRPU: metadata.rpu = bytes
        }
    }
}
