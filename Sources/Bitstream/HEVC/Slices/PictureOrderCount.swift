// SPDX-License-Identifier: MIT

/// Derives PicOrderCntVal of one layer's pictures in decoding order (8.3.1).
public struct PictureOrderCount: Hashable, Sendable {
    /// PicOrderCntVal of prevTid0Pic.
    private var previousTid0 = 0
    /// True before the first picture and after an end-of-sequence NAL unit: the next IRAP picture has
    /// NoRaslOutputFlag 1.
    private var startsSequence = true

    public init() {}

    /// Reports an end-of-sequence NAL unit.
    public mutating func endOfSequence() {
        startsSequence = true
    }

    /// PicOrderCntVal of a picture, given its first independent slice segment's header and its SPS.
    public mutating func next(_ slice: SliceSegmentHeader, sps: SequenceParameterSet) -> Int {
        let type = slice.header.nalUnitType
        let noRaslOutput = type.isIRAP && (type.isIDR || type.isBLA || startsSequence)
        startsSequence = false
        let maxLsb = sps.maxPicOrderCntLsb
        let lsb = slice.slicePicOrderCntLsb
        var msb = 0
        if !noRaslOutput {
            let previousLsb = previousTid0 & (maxLsb - 1)
            msb = previousTid0 - previousLsb
            if lsb < previousLsb, previousLsb - lsb >= maxLsb / 2 {
                msb &+= maxLsb
            } else if lsb > previousLsb, lsb - previousLsb > maxLsb / 2 {
                msb &-= maxLsb
            }
        }
        let value = msb &+ lsb
        if slice.header.temporalID == 0, !type.isRASL, !type.isRADL, !type.isSubLayerNonReference {
            previousTid0 = value
        }
        return value
    }
}
