// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The state of a picture's alpha.
public enum PictureAlpha: Hashable, Sendable {
    /// The stream has no alpha, or it was not requested.
    case none
    /// Decoded from the stream.
    case present(AlphaChannelMode)
    /// The stream has alpha, but not for this picture, which is opaque.
    case missing
}

/// A packet for a decoder.
public struct DecoderInput: Sendable {
    /// NAL units of the base layer, with 4-byte lengths.
    public var base: [UInt8]
    /// The alpha layer's part; nil when there is none or it was not requested.
    public var alpha: AlphaUnit?
    public var byteCount: Int { base.count + (alpha?.bytes.count ?? 0) }

    public init(base: [UInt8], alpha: AlphaUnit? = nil) {
        self.base = base
        self.alpha = alpha
    }
}

/// A picture from a decoder, in presentation order.
public struct OutputPicture: Hashable, Sendable {
    /// The number of the packet it was decoded from.
    public var sequence: Int64
    /// Width in luma samples, cropped to the conformance window.
    public var width: Int
    /// Height in luma samples, cropped to the conformance window.
    public var height: Int
    public var format: PixelFormat
    /// Bits of a sample in the stream.
    public var bitDepth: Int
    public var color: ColorDescription
    /// Width over height of a sample; nil when not signaled.
    public var sampleAspectRatio: Rational?
    public var isKeyFrame: Bool
    /// Whether the decoder reports it as damaged.
    public var isDamaged: Bool
    /// Whether it was decoded to a hardware surface.
    public var isHardware: Bool
    /// Its slot in the session's memory.
    public var slot: Int
    /// The location of its planes, relative to the start of the slot.
    public var layout: FrameLayout
    public var alpha = PictureAlpha.none

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

/// A decoder's output.
public enum DecoderEvent: Sendable {
    /// A picture; its samples remain valid as long as the object is retained.
    case picture(OutputPicture, any AnyObject & Sendable)
    /// The packet with this number is damaged, for this reason.
    case damage(Int64, String)
    /// The alpha of the packet with this number is damaged, for this reason; its picture is output nevertheless.
    case alphaDamage(Int64, String)
}

/// Handles a decoder's output; may block until the client has room.
public typealias DecoderEventHandler = (DecoderEvent) throws(SessionError) -> Void

/// An open decoder, used from one thread.
public protocol PictureDecoder: AnyObject, Sendable {
    /// Why pictures are not decoded in hardware although hardware was requested; nil otherwise.
    var fallbackReason: String? { get }

    /// Returns and clears the hardware's last failure that the stream may not have caused; nil without one.
    func takeHardwareFailure() -> String?

    /// Decodes a packet and emits the pictures that are ready.
    ///
    /// - Parameters:
    ///   - sequence: the packet's number, greater than the one before.
    /// - Throws: `VideoDecoderMalfunction` when the decoder cannot continue, or what `handler` throws.
    func decode(_ input: DecoderInput, sequence: Int64, _ handler: DecoderEventHandler) throws(SessionError)

    /// Emits every remaining picture; the next packet must be a key frame.
    ///
    /// - Throws: as `decode`.
    func finish(_ handler: DecoderEventHandler) throws(SessionError)
}
