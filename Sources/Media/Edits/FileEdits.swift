// SPDX-License-Identifier: GPL-2.0-or-later

/// What an output is asked to have of its source besides the pictures' samples.
public struct FileEdits: Hashable, Sendable {
    /// The sound.
    public var sound = SoundOptions()
    /// The subtitles; nil copies what the container holds and converts other text.
    public var text: TextForm?
    /// The part in time; nil is all of it.
    public var range: TimeRange?
    /// Whether a copy begins exactly at the range's start, by an edit list.
    public var isExact = false
    /// Whether the output gets nothing but the pictures: no other stream, metadata or chapters.
    public var isVideoOnly = false
    /// Whether the pictures are copied, so that everything that describes them still holds.
    public var isCopy = false

    /// Everything.
    public init() {}
}
