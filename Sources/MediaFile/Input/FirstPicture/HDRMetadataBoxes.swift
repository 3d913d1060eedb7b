// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

extension VideoDescription {
    /// Adds the HDR metadata that only boxes of the sample entry declare.
    mutating func addMetadata(of boxes: [Box]) {
        let record = boxes.first {
            DolbyVisionBox.types.contains($0.type) && $0.fields.count >= DolbyVisionConfiguration.size
        }
        dolbyVision = record.map { Array($0.fields.prefix(DolbyVisionConfiguration.size)) } ?? dolbyVision
        let size = VideoTrackBoxes.ambientViewingSize
        let box = boxes.first { $0.type == "amve" && $0.fields.count >= size }.map { Array($0.fields.prefix(size)) }
        ambientViewing = box ?? ambientViewing
    }

    /// Makes the configuration record that a movie needs from the RPU of the first picture, where there is one.
    mutating func deriveDolbyVision(from nalUnits: [[UInt8]]) {
        let rpu = nalUnits.lazy.compactMap { try? DolbyVisionRPU(nal: $0) }.first
        guard let profile = rpu?.profile, profile == 5 || profile == 8 else { return }
        dolbyVision = DolbyVisionConfiguration.record(
            profile: profile, transfer: color.transfer, width: width, height: height,
            frameRate: averageFrameRate ?? baseFrameRate)
    }

    /// Whether the Dolby Vision metadata need a second layer, which no encode has.
    public var needsEnhancementLayer: Bool {
        dolbyVision.flatMap { try? DolbyVisionConfiguration(bytes: $0) }?.hasEnhancementLayer ?? false
    }
}

extension VideoTrack {
    /// Declares the track as Dolby Vision of profile 8.4, whose base layer is HLG.
    public mutating func declareHLGDolbyVision() {
        dolbyVision = DolbyVisionConfiguration.record(
            profile: 8, transfer: 18, width: width, height: height, frameRate: frameRate)
    }
}

extension DolbyVisionConfiguration {
    /// The record of a stream; nil where no level allows it.
    ///
    /// - Parameter transfer: the base layer's `transfer_characteristics`, which determines what else can show it.
    fileprivate static func record(
        profile: Int, transfer: UInt8, width: Int, height: Int, frameRate: Rational?
    ) -> [UInt8]? {
        guard let level = level(width: width, height: height, frameRate: frameRate?.value ?? 30) else { return nil }
        let compatibility = profile == 5 ? 0 : [16: 1, 18: 4][transfer] ?? 2
        return try? DolbyVisionConfiguration(profile: profile, level: level, compatibilityID: compatibility).bytes()
    }
}

extension FrameSideData {
    /// The dynamic metadata of a frame that was scaled by these factors; nil where they cannot be read.
    public func scaled(horizontal: Double, vertical: Double) -> FrameSideData? {
        let edits = [HDREdit.scale(horizontal: horizontal, vertical: vertical)]
        switch kind {
        case .dolbyVisionRPU:
            let rpu = try? DolbyVisionRPU(nal: bytes).edited(edits).nalUnit()
            return rpu.map { FrameSideData(kind, $0) }
        case .hdr10Plus: return HDREditOutcome(after: edits).hdr10Plus == .keep ? self : nil
        case .masteringDisplay, .contentLight, .ambientViewing: return self
        }
    }
}

/// Static HDR metadata in SEI messages that libavcodec 5.1 does not return.
enum HDRMessages {
    /// The payload of the first ambient_viewing_environment message (SEI 148, H.265 D.2.39); nil without one.
    static func ambientViewing(_ nalUnits: [[UInt8]]) -> [UInt8]? {
        for unit in nalUnits where (try? NALUnitHeader(nal: unit))?.nalUnitType == .prefixSEI {
            let size = VideoTrackBoxes.ambientViewingSize
            let message = (try? SEI(nal: unit))?.messages.first {
                $0.payloadType == 148 && $0.payload.count >= size
            }
            if let message { return Array(message.payload.prefix(size)) }
        }
        return nil
    }
}
