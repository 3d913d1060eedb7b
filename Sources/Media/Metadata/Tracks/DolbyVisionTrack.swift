// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
internal import HWDModel

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
    static func record(
        profile: Int, transfer: UInt8, width: Int, height: Int, frameRate: Rational?
    ) -> [UInt8]? {
        guard let level = level(width: width, height: height, frameRate: frameRate?.value ?? 30) else { return nil }
        let compatibility = profile == 5 ? 0 : [16: 1, 18: 4][transfer] ?? 2
        return try? DolbyVisionConfiguration(profile: profile, level: level, compatibilityID: compatibility).bytes()
    }
}
