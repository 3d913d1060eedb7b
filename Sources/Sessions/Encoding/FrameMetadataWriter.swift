// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

/// Writes the HDR metadata of frames into the access units of their pictures.
///
/// It works on the access units that any encoder returns, so metadata stay with their pictures whatever the order of
/// coding, the temporal level or the encoder. Static metadata apply to a coded video sequence and are written with its key
/// frame (H.265 D.3.28, D.3.35, D.3.39).
public struct FrameMetadataWriter: Sendable {
    private var rules: FrameMetadataRules
    /// Metadata of the frames inside the encoder, by presentation time.
    private var pending: [Int64: [FrameSideData]] = [:]
    /// Entries that were not written, by reason.
    private var leftOut: [String: Int] = [:]
    private var sample: [UInt8] = []

    public init(_ configuration: EncoderConfiguration) { rules = configuration.frameMetadata }

    /// Applies a configuration from the next frame on.
    public mutating func change(to configuration: EncoderConfiguration) { rules = configuration.frameMetadata }

    /// A sentence for each reason why metadata were not written.
    public var notes: [String] {
        leftOut.sorted { $0.key < $1.key }.map { reason, count in
            "HDR metadata of \(count) \(count == 1 ? "frame is" : "frames are") not written: \(reason)"
        }
    }

    /// Notes the metadata of a frame that enters the encoder; the bytes are a client's and are checked here.
    ///
    /// - Parameter generatedRPU: the RPU that was made for the frame; nil without one.
    public mutating func add(_ metadata: FrameMetadata, pts: Int64, generatedRPU: [UInt8]? = nil) {
        guard rules.isInserted else { return }
        var entries: [FrameSideData] = []
        for entry in metadata.sideData {
            if entry.kind.isDynamic, !rules.preservesDynamic {
                if generatedRPU == nil { leftOut["PreserveDynamicHDRMetadata is false", default: 0] += 1 }
                continue
            }
            do throws(BitstreamError) {
                try entry.check()
                entries.append(entry)
            } catch {
                leftOut[error.reason, default: 0] += 1
            }
        }
        if let generatedRPU { entries.append(FrameSideData(.dolbyVisionRPU, generatedRPU)) }
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

extension FrameSideData {
    /// Checks the syntax of dynamic metadata; those of the other kinds have no invalid values.
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
