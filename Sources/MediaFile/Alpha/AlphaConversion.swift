// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
public import HWDModel

/// What becomes of a source's alpha: whether its colours are multiplied by it, and whether they are to be.
public struct AlphaConversion: Hashable, Sendable {
    /// Whether colours are multiplied by alpha; nearly no file's are: ProRes 4444, PNG, Animation, VP9.
    public typealias Mode = AlphaChannelMode

    /// How the source's colours are.
    public var source: Mode
    /// How the output's are to be.
    public var target: Mode

    /// From one mode to the other, or none.
    public init(source: Mode, target: Mode) {
        self.source = source
        self.target = target
    }

    /// The mode of frames that are handed out of pictures of such a format.
    func handedOut(_ traits: SampleFormats.Traits) -> Mode { isConverted(traits) ? target : source }

    /// Whether colours of such a format are converted here: before their chroma becomes smaller.
    ///
    /// Where it is smaller already that is left to whoever encodes; the frames then keep the source's mode.
    func isConverted(_ traits: SampleFormats.Traits) -> Bool { source != target && traits.chromaShift != (1, 1) }
}
