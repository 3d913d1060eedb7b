// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension VideoDescription {
    /// The luminance to which a PQ picture's highlights reach, in cd/m²: the mastering display's peak, else MaxCLL.
    ///
    /// nil where the file declares neither, or no possible luminance. HLG's is its display's, whatever the file declares.
    public var peakLuminance: Double? {
        let declared = [
            masteringDisplay.flatMap { MasteringDisplayInfo($0)?.maxLuminance },
            contentLight.flatMap { ContentLightInfo($0).map { Double($0.maxContent) } },
        ]
        return color.transfer == 16 ? declared.compactMap { $0 }.first { (1...10_000).contains($0) } : nil
    }
}
