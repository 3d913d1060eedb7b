// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
public import HWDModel

/// The alpha mode of a source, and the mode it is converted to.
public struct AlphaConversion: Hashable, Sendable {
    /// Whether colors are multiplied by alpha.
    ///
    /// ProRes 4444, PNG, Animation and VP9 are straight.
    public typealias Mode = AlphaChannelMode

    /// The source's mode.
    public var source: Mode
    /// The output's mode.
    public var target: Mode

    /// A conversion between two modes, which may be equal.
    public init(source: Mode, target: Mode) {
        self.source = source
        self.target = target
    }

    /// The mode of the frames that a reader returns for pictures of a format.
    func frameMode(of traits: SampleFormats.Traits) -> Mode { isConverted(traits) ? target : source }

    /// Whether a reader converts pictures of a format, which it does before it subsamples their chroma.
    ///
    /// Pictures with subsampled chroma keep the source's mode; the encoder converts them.
    func isConverted(_ traits: SampleFormats.Traits) -> Bool { source != target && traits.chromaShift != (1, 1) }
}
