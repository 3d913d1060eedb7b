// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
internal import HWDHEVC
internal import HWDModel

extension VideoDescription {
    /// Adds the HDR metadata that only boxes of the sample entry declare.
    package mutating func addMetadata(of boxes: [Box]) {
        let record = boxes.first {
            DolbyVisionBox.types.contains($0.type) && $0.fields.count >= DolbyVisionConfiguration.size
        }
        dolbyVision = record.map { Array($0.fields.prefix(DolbyVisionConfiguration.size)) } ?? dolbyVision
        let size = VideoTrackBoxes.ambientViewingSize
        let box = boxes.first { $0.type == "amve" && $0.fields.count >= size }.map { Array($0.fields.prefix(size)) }
        ambientViewing = box ?? ambientViewing
    }

    /// Makes the configuration record that a movie needs from the RPU of the first picture, where there is one.
    package mutating func deriveDolbyVision(from nalUnits: [[UInt8]]) {
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

/// Static HDR metadata in SEI messages that libavcodec 5.1 does not return.
package enum HDRMessages {
    /// The payload of the first ambient_viewing_environment message (SEI 148, H.265 D.2.39); nil without one.
    package static func ambientViewing(_ nalUnits: [[UInt8]]) -> [UInt8]? {
        for unit in nalUnits where (try? NALUnitHeader(nal: unit))?.nalUnitType == .prefixSEI {
            let size = VideoTrackBoxes.ambientViewingSize
            let message = (try? SEI(nal: unit))?.messages.first {
                $0.payloadType == SEIPayloadType.ambientViewing && $0.payload.count >= size
            }
            if let message { return Array(message.payload.prefix(size)) }
        }
        return nil
    }
}
