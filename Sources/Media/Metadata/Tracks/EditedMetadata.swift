// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

extension FrameSideData {
    /// The metadata of a frame that was scaled by these factors; nil where they cannot be read.
    public func scaled(horizontal: Double, vertical: Double) -> FrameSideData? {
        switch kind {
        case .dolbyVisionRPU:
            let edits = [HDREdit.scale(horizontal: horizontal, vertical: vertical)]
            let rpu = try? DolbyVisionRPU(nal: bytes).edited(edits).nalUnit()
            return rpu.map { FrameSideData(kind, $0) }
        case .hdr10Plus:
            guard let metadata = try? HDR10PlusMetadata(payload: bytes) else { return nil }
            // Without windows nothing depends on the size, and the bytes stay.
            guard !metadata.windows.isEmpty else { return self }
            let payload = try? metadata.scaled(horizontal: horizontal, vertical: vertical).payload()
            return payload.map { FrameSideData(kind, $0) }
        case .masteringDisplay, .contentLight, .ambientViewing, .closedCaptions: return self
        }
    }
}

extension VideoDescription {
    /// Removes the HDR metadata that do not hold for the same picture in another color.
    ///
    /// - Returns: the names of what was removed.
    public mutating func removeHDRMetadata(convertedTo color: ColorDescription) -> [String] {
        let outcome = HDREditOutcome(
            after: [.convert(to: color.transfer == 18 ? .hlg : color.isHDR ? .pq : .sdr)])
        var removed: [String] = []
        let rows: [(WritableKeyPath<VideoDescription, [UInt8]?>, HDREditOutcome.Action, String)] = [
            (\.masteringDisplay, outcome.masteringDisplay, "the mastering display color volume (mdcv)"),
            (\.contentLight, outcome.contentLight, "the content light levels (clli)"),
            (\.ambientViewing, outcome.ambientViewing, "the ambient viewing environment (amve)"),
            (\.dolbyVision, outcome.dolbyVision, "the Dolby Vision metadata"),
        ]
        for (part, action, name) in rows where action != .keep && self[keyPath: part] != nil {
            self[keyPath: part] = nil
            removed.append(name)
        }
        return removed
    }
}
