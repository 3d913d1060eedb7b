// SPDX-License-Identifier: MIT
public import HWClient

extension VideoOutput {
    /// How a video can be played at a decoder's measured speed; nil where either is impossible.
    ///
    /// - Parameter reverseBytes: the most bytes of decoded pictures in reverse, as in `Options`.
    public static func playability(
        of video: Playability.Video, at speed: Playability.Speed, reverseBytes: Int = 512 << 20
    ) -> Playability? {
        Playability(video, speed, reverseBytes: reverseBytes)
    }
}
