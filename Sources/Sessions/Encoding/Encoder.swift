// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// What a coded picture refers to and whether others refer to it, as an encoder settles it by looking ahead.
public enum PictureKind: UInt8, Hashable, Sendable {
    /// A key frame that nothing after it refers across.
    case idr
    /// Without references; a key frame where pictures before it are shown after it (CRA).
    case intra
    /// References before it.
    case predicted
    /// References on both sides, and referred to itself.
    case bidirectionalReference
    /// References on both sides.
    case bidirectional
}

/// A frame on its way into an encoder: where its samples lie for the length of one call.
@safe public struct InputPicture {
    /// As many as the session's pixel format has.
    public let planes: [PlaneView]
    /// The client's number for the frame.
    public let frameID: UInt64
    /// Presentation time, in units of the session's time base.
    public let pts: Int64
    /// Whether to code it as a key frame: an IRAP picture without leading pictures.
    public let forceKeyFrame: Bool
    /// The quantisation parameter to code it with; nil for the session's.
    public let baseFrameQP: Int?
    /// What the picture must become; nil leaves that to the encoder.
    public let kind: PictureKind?
    /// The temporal level of a picture whose `kind` is told; nil where the encoder settles both.
    public let temporalLevel: Int?

    /// Names a frame.
    public init(
        planes: [PlaneView], frameID: UInt64, pts: Int64, forceKeyFrame: Bool, baseFrameQP: Int?,
        kind: PictureKind? = nil, temporalLevel: Int? = nil
    ) {
        self.kind = kind
        self.temporalLevel = temporalLevel
        self.planes = planes
        self.frameID = frameID
        self.pts = pts
        self.forceKeyFrame = forceKeyFrame
        self.baseFrameQP = baseFrameQP
    }
}

/// What an encoder says about a coded picture; its bytes come beside it.
public struct EncodedPicture: Hashable, Sendable {
    /// The frame it was coded from.
    public var frameID: UInt64
    /// That frame's presentation time.
    public var pts: Int64
    /// Decoding time, in the same units.
    public var dts: Int64
    /// `nal_unit_type` of its first slice segment (H.265 table 7-1).
    public var nalUnitType: UInt8
    /// `TemporalId`.
    public var temporalLevel: UInt8
    /// What the encoder made of it; nil where that is not told.
    public var kind: PictureKind?

    /// Describes a picture.
    public init(
        frameID: UInt64, pts: Int64, dts: Int64, nalUnitType: UInt8, temporalLevel: UInt8, kind: PictureKind? = nil
    ) {
        self.kind = kind
        self.frameID = frameID
        self.pts = pts
        self.dts = dts
        self.nalUnitType = nalUnitType
        self.temporalLevel = temporalLevel
    }

    /// Whether decoding can start here: an IRAP picture (nal_unit_type 16…23).
    public var isSync: Bool { (16...23).contains(nalUnitType) }

    /// Whether no other picture of its sub-layer refers to it (even types below 16, H.265 table 7-1).
    public var isDisposable: Bool { nalUnitType < 16 && nalUnitType % 2 == 0 }
}

/// Takes what an encoder gives: the picture, and its length-prefixed NAL units (4-byte lengths, no parameter sets).
public typealias EncodedPictureHandler = (EncodedPicture, RawSpan) throws(SessionError) -> Void

/// An open encoder, used from one thread.
public protocol Encoder: AnyObject {
    /// The hvcC record (ISO/IEC 14496-15, 8.3.3.1) of the packets to come.
    var formatDescription: [UInt8] { get }

    /// Takes a frame, whose memory is free again afterwards, and gives the pictures that are ready.
    ///
    /// - Throws: `VideoEncoderMalfunction` when the encoder fails, or what `handler` throws.
    func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError)

    /// Gives every picture still inside; the encoder takes no frame afterwards.
    ///
    /// - Throws: as `encode`.
    func finish(_ handler: EncodedPictureHandler) throws(SessionError)
}
