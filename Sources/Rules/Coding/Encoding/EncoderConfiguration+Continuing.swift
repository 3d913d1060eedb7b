// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension EncoderConfiguration {
    /// This configuration as far as it can apply to the rest of a stream.
    ///
    /// Frames are not reordered if they were not at the beginning: the first reordered pictures would need decoding times
    /// before those of pictures that are emitted already (`DecodeTimes.continued`).
    ///
    /// - Parameter first: the configuration that the stream began with.
    /// - Throws: `Parameter` if the number of temporal levels differs, which the format description declares.
    func continuing(_ first: EncoderConfiguration) throws(SessionError) -> EncoderConfiguration {
        guard temporalLevels.count == first.temporalLevels.count else {
            throw SessionError(
                .parameter,
                "ExpectedFrameRate: with BaseLayerFrameRate it requires \(temporalLevels.count) temporal levels, and the "
                    + "stream began with \(first.temporalLevels.count)")
        }
        var next = self
        next.allowFrameReordering = allowFrameReordering && first.allowFrameReordering
        return next
    }
}
