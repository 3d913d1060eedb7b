// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// What is to be said of a picture's alpha.
public enum PictureAlpha: Hashable, Sendable {
    /// Its stream has none, or none was asked for.
    case none
    /// It is the stream's.
    case present(AlphaChannelMode)
    /// The stream has alpha, but none came for this picture: it is opaque.
    case missing
}

/// A packet as decoders take it.
public struct DecoderInput: Sendable {
    /// The base layer's NAL units with 4-byte lengths.
    public var base: [UInt8]
    /// The alpha layer's part; nil where there is none, or it is not asked for.
    public var alpha: AlphaUnit?
    /// Bytes of both.
    public var byteCount: Int { base.count + (alpha?.bytes.count ?? 0) }

    /// A packet.
    public init(base: [UInt8], alpha: AlphaUnit? = nil) {
        self.base = base
        self.alpha = alpha
    }
}

/// A picture as a decoder gives it, in presentation order.
public struct OutputPicture: Hashable, Sendable {
    /// The number of the packet it was decoded from.
    public var sequence: Int64
    /// Samples a row, the conformance window applied.
    public var width: Int
    /// Rows, the conformance window applied.
    public var height: Int
    /// How its samples lie.
    public var format: PixelFormat
    /// Bits of a sample as the stream codes it.
    public var bitDepth: Int
    /// What its values mean.
    public var color: ColorDescription
    /// Width over height of a sample; nil when not told.
    public var sampleAspectRatio: Rational?
    /// Whether decoding could start here.
    public var isKeyFrame: Bool
    /// Whether the decoder itself calls it damaged.
    public var isDamaged: Bool
    /// Whether its surface was a hardware one.
    public var isHardware: Bool
    /// The slot of the session's memory that it lies in.
    public var slot: Int
    /// Where its planes lie, counted from the start of the slot's memory.
    public var layout: FrameLayout
    /// What its alpha plane is, where its format has one.
    public var alpha = PictureAlpha.none

    /// Describes a picture.
    public init(
        sequence: Int64, width: Int, height: Int, format: PixelFormat, bitDepth: Int, color: ColorDescription,
        sampleAspectRatio: Rational?, isKeyFrame: Bool, isDamaged: Bool, isHardware: Bool, slot: Int,
        layout: FrameLayout
    ) {
        self.sequence = sequence
        self.width = width
        self.height = height
        self.format = format
        self.bitDepth = bitDepth
        self.color = color
        self.sampleAspectRatio = sampleAspectRatio
        self.isKeyFrame = isKeyFrame
        self.isDamaged = isDamaged
        self.isHardware = isHardware
        self.slot = slot
        self.layout = layout
    }
}

/// What a decoder tells of besides pictures.
public enum DecoderEvent: Sendable {
    /// A picture; its samples stay where they are as long as the object lives.
    case picture(OutputPicture, any AnyObject & Sendable)
    /// Something is wrong with the packet of this number.
    case damage(Int64, String)
    /// Something is wrong with the alpha of the packet of this number; its picture comes all the same.
    case alphaDamage(Int64, String)
}

/// Takes what a decoder gives; may wait for its client.
public typealias DecoderEventHandler = (DecoderEvent) throws(SessionError) -> Void

/// An open decoder, used from one thread.
public protocol PictureDecoder: AnyObject, Sendable {
    /// Why pictures are not decoded in hardware although they were to be; nil while they are, or were not to be.
    var fallbackReason: String? { get }

    /// What hardware failed at since the last look, on streams that may be sound; nil when it did not.
    func takeHardwareFailure() -> String?

    /// Takes a packet and gives the pictures that are ready.
    ///
    /// - Parameters:
    ///   - sequence: the packet's number, rising.
    /// - Throws: `VideoDecoderMalfunction` when the decoder cannot go on, or what `handler` throws.
    func decode(_ input: DecoderInput, sequence: Int64, _ handler: DecoderEventHandler) throws(SessionError)

    /// Gives every picture still inside; the next packet must be a key frame.
    ///
    /// - Throws: as `decode`.
    func finish(_ handler: DecoderEventHandler) throws(SessionError)
}
