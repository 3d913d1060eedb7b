// SPDX-License-Identifier: MIT

/// The contents of an image sequence: pictures that are shown one after another, each decoded on its own.
public struct SequenceFile: Sendable {
    /// What all pictures share: their size, the record of the stream, whose profile allows several pictures, and colors.
    ///
    /// A picture that is smaller than its coded form is cropped to its left top.
    public var picture: StillPicture
    /// Straight alpha of the same size; nil if there is none.
    public var alpha: StillPicture?
    /// Ticks per second.
    public var timeScale: UInt32
    /// How long each picture is shown, in ticks.
    public var durations: [UInt32]
    /// The picture that readers of still pictures show, by its index.
    public var cover = 0

    public init(_ picture: StillPicture, timeScale: UInt32, durations: [UInt32]) {
        (self.picture, self.timeScale, self.durations) = (picture, timeScale, durations)
    }
}
