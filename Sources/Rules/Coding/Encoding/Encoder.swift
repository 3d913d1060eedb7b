// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The references from and to a coded picture, as an encoder's look-ahead determines them.
public enum PictureKind: UInt8, Hashable, Sendable {
    /// A key frame that no later picture refers across.
    case idr
    /// No references; as a key frame it is a CRA picture, which leading pictures may refer across.
    case intra
    /// References to earlier pictures.
    case predicted
    /// References in both directions; it is a reference itself.
    case bidirectionalReference
    /// References in both directions.
    case bidirectional
}

/// A frame for an encoder; its samples are valid for the duration of one call.
@safe public struct InputPicture {
    /// The planes of the session's pixel format.
    public var planes: [PlaneView]
    /// The client's identifier of the frame.
    public let frameID: UInt64
    /// Presentation time, in units of the session's time base.
    public let pts: Int64
    /// Whether to code it as a key frame: an IRAP picture without leading pictures.
    public var forceKeyFrame: Bool
    /// The quantization parameter of the picture; nil for the session's.
    public var baseFrameQP: Int?
    /// The required kind; nil for the encoder's choice.
    public var kind: PictureKind?
    /// The temporal level of a picture with a required `kind`; nil when the encoder chooses both.
    public var temporalLevel: Int?
    /// Whether the frame's colors are multiplied by its alpha; nil for the session's mode.
    public var alphaMode: AlphaChannelMode?

    public init(
        planes: [PlaneView], frameID: UInt64, pts: Int64, forceKeyFrame: Bool, baseFrameQP: Int?,
        kind: PictureKind? = nil, temporalLevel: Int? = nil, alphaMode: AlphaChannelMode? = nil
    ) {
        self.alphaMode = alphaMode
        self.kind = kind
        self.temporalLevel = temporalLevel
        self.planes = planes
        self.frameID = frameID
        self.pts = pts
        self.forceKeyFrame = forceKeyFrame
        self.baseFrameQP = baseFrameQP
    }
}

/// An encoder's description of a coded picture; the bytes are passed separately.
public struct EncodedPicture: Hashable, Sendable {
    /// The source frame.
    public var frameID: UInt64
    /// The frame's presentation time.
    public var pts: Int64
    /// Decoding time, in the same units.
    public var dts: Int64
    /// `nal_unit_type` of the first slice segment (H.265 table 7-1).
    public var nalUnitType: UInt8
    /// `TemporalId`.
    public var temporalLevel: UInt8
    /// Nil when the encoder does not report it.
    public var kind: PictureKind?
    /// Nil unless the session's CalculateMeanSquaredError is set and the encoder measures it.
    public var meanSquaredError: MeanSquaredError?

    public init(
        frameID: UInt64, pts: Int64, dts: Int64, nalUnitType: UInt8, temporalLevel: UInt8, kind: PictureKind? = nil,
        meanSquaredError: MeanSquaredError? = nil
    ) {
        self.meanSquaredError = meanSquaredError
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

/// Handles an encoder's output: the picture, and its NAL units with 4-byte lengths, without parameter sets.
public typealias EncodedPictureHandler = (EncodedPicture, RawSpan) throws(SessionError) -> Void

/// An open encoder, used from one thread.
public protocol Encoder: AnyObject {
    /// The hvcC record (ISO/IEC 14496-15, 8.3.3.1) of the stream.
    var formatDescription: [UInt8] { get }

    /// A sentence for each deviation from the requested properties.
    var notes: [String] { get }

    /// A number that changes whenever `formatDescription` or `notes` does.
    var descriptionVersion: Int { get }

    /// The decoding times, which an encoder that continues another's stream takes over.
    var decodeTimes: DecodeTimes { get set }

    /// Whether frames may follow `finish`.
    var continuesAfterFinish: Bool { get }

    /// Applies a configuration from the next frame on; called before the first frame or after `finish`.
    ///
    /// - Returns: false if only a new encoder can; this one takes no more frames then.
    /// - Throws: `VideoEncoderMalfunction` when the encoder fails.
    func change(to configuration: EncoderConfiguration) throws(SessionError) -> Bool

    /// Encodes a frame, whose memory is unused after the call, and emits the pictures that are ready.
    ///
    /// - Throws: `VideoEncoderMalfunction` when the encoder fails, or what `handler` throws.
    func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError)

    /// Emits every remaining picture; frames may follow only if `continuesAfterFinish`.
    ///
    /// - Throws: as `encode`.
    func finish(_ handler: EncodedPictureHandler) throws(SessionError)
}
