// SPDX-License-Identifier: GPL-2.0-or-later

/// The sound of an output: which tracks of the source it gets, and in which codec.
public struct SoundOptions: Hashable, Sendable {
    /// What happens to the tracks.
    public enum Form: String, CaseIterable, Hashable, Sendable {
        /// Their packets are copied.
        case copy
        /// They become AAC-LC, or ALAC; tracks that are of that codec already are copied.
        case aac, alac
        /// They are left out.
        case none
    }

    /// The tracks that are kept.
    public enum Track: Hashable, Sendable {
        /// One, by its number among the tracks of sound, from 1.
        case number(Int)
        /// All of a language (ISO 639-2).
        case language(String)
    }

    /// Nil copies what the container holds and converts the rest: lossless sound to ALAC, other sound to AAC.
    public var form: Form?
    /// Nil keeps all.
    public var track: Track?
    /// Bits per second of AAC, for all channels; AAC is encoded again where it is set.
    ///
    /// Nil means `SoundCodec.bitsPerChannel` for each channel.
    public var bitRate: Int64?
    /// Whether tracks that can be neither copied nor converted are left out; otherwise they are an error.
    public var dropsUnsupported = false

    /// Copies what the container holds and converts the rest.
    public init() {}
}

/// A codec that sound is converted to.
package enum SoundCodec: String, Hashable, Sendable {
    case aac, alac

    /// Bits per second and channel of AAC-LC.
    package static let bitsPerChannel: Int64 = 80_000

    /// The codec's name in messages.
    package var name: String { rawValue.uppercased() }
}
