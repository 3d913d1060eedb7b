// SPDX-License-Identifier: MIT

/// A frame to encode, as a client of a compression session announces it.
public struct EncodeFrame: Hashable, Sendable {
    /// Options of one frame; the raw value is the message's `flags` field.
    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// `ForceKeyFrame`: code this frame as an IRAP picture without leading pictures.
        public static let forceKeyFrame = Flags(rawValue: 1)
        /// `SourceAlphaMode` of this frame is `premultiplied`, whatever the session's is.
        public static let premultipliedSource = Flags(rawValue: 2)
        /// `SourceAlphaMode` of this frame is `straight`, whatever the session's is.
        public static let straightSource = Flags(rawValue: 4)
        /// Every defined bit; a message with any other bit is malformed.
        public static let all: Flags = [.forceKeyFrame, .premultipliedSource, .straightSource]
    }

    /// The client's number for it, unique among its frames in flight; the packet carries it back.
    public var frameID: UInt64
    /// Presentation time in units of the session's time base; strictly increasing.
    public var pts: Int64
    /// Duration in the same units; 0 when unknown.
    public var duration: Int64
    /// The pool that holds its samples.
    public var poolID: UInt32
    public var flags: Flags
    /// `BaseFrameQP`: the quantization parameter to code it with, 0…51; -1 leaves it to the session.
    public var baseFrameQP: Int32
    /// The planes' offsets in the pool, and their strides.
    public var layout: FrameLayout
    /// Color and HDR metadata; nil for a frame that is sent without them.
    ///
    /// An empty value lets the session write metadata of its own (`HDRMetadataInsertionMode`).
    public var metadata: FrameMetadata?

    /// `SourceAlphaMode` of this frame, in sessions with alpha; nil leaves it to the session.
    public var sourceAlphaMode: AlphaChannelMode? {
        get {
            flags.contains(.premultipliedSource)
                ? .premultiplied : flags.contains(.straightSource) ? .straight : nil
        }
        set {
            flags.subtract([.premultipliedSource, .straightSource])
            switch newValue {
            case .premultiplied: flags.insert(.premultipliedSource)
            case .straight: flags.insert(.straightSource)
            case nil: break
            }
        }
    }

    public init(
        frameID: UInt64, pts: Int64, duration: Int64, poolID: UInt32, flags: Flags = [], baseFrameQP: Int32 = -1,
        layout: FrameLayout, metadata: FrameMetadata? = nil
    ) {
        self.frameID = frameID
        self.pts = pts
        self.duration = duration
        self.poolID = poolID
        self.flags = flags
        self.baseFrameQP = baseFrameQP
        self.layout = layout
        self.metadata = metadata
    }
}
