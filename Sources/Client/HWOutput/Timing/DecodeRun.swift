// SPDX-License-Identifier: MIT

/// How far the source has been read for a stretch of play.
struct DecodeRun {
    enum State: Hashable {
        /// The source must go to the key frame at or before a time; then comes the state.
        indirect case seek(Int64, then: State)
        /// Forward: packets are read one after another.
        case read
        /// Reverse: a group of pictures is read without being decoded.
        case scan
        /// Reverse: the packets of a part are read.
        case readPart(index: Int)
        /// Every picture must come out of the decoder.
        case finish
        case draining
        /// Reverse: the next part waits until there is room.
        case nextPart
        case done
    }

    let number: Int
    /// The time at which play begins.
    var target: Int64
    var mode = SeekMode.exact
    var state = State.seek(0, then: .read)
    var isOpen = false

    /// The key frame with which it begins, until it has been read.
    var key: Int64?
    /// Whether pictures before the key frame in output order cannot be decoded.
    var skipsLeading = true
    /// Whether packets are left out until the next key frame.
    var skipsToKey = false
    /// The key frame that was sent last.
    var latestKey: Int64?

    /// Reverse: the packets of a group, the end of its times, and its parts that are not decoded yet.
    var group: [PacketFacts] = []
    var groupKey: Int64 = 0
    var groupEnd = Int64.max
    /// The time of the key frame behind the group, once that has been read.
    var nextKey: Int64?
    /// The part that is decoded next is the first.
    var parts: ArraySlice<ReversePlan.Part> = []
    /// Bytes of the largest picture of the group, as far as is known.
    var pictureBytes = 0
    var thinning = Thinning.none
    /// Reverse: whether nothing lies before this group.
    var isFirstGroup = false

    init(number: Int, target: Int64, mode: SeekMode = .exact) {
        (self.number, self.target, self.mode) = (number, target, mode)
    }
}
