// SPDX-License-Identifier: MIT
public import HWDModel

/// A running session, as `ListSessions` tells it.
public struct SessionInfo: Codable, Sendable {
    /// Its id.
    public var session: String
    public var kind: SessionKind
    /// Its worker process.
    public var pid: Int32
    /// The user it serves.
    public var uid: UInt32
    /// What is encoded to.
    public var codec: String
    /// Luma samples a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The frames' DRM fourcc.
    public var pixelFormat: String
    /// The encoder; nil until the worker has told.
    public var codecID: String?
    /// Whether that is hardware; nil until the worker has told.
    public var usingHardware: Bool?
    /// Why it is not, when it was allowed.
    public var fallbackReason: String?
    /// Frames taken.
    public var framesIn: UInt64
    /// Packets given.
    public var framesOut: UInt64
    /// Bytes of those packets.
    public var bytesOut: UInt64
    /// Frames taken and not yet given back as packets.
    public var pendingFrames: UInt64
    /// Milliseconds since Create.
    public var ageMs: UInt64

    /// A session by all that is told of it.
    public init(
        session: String, kind: SessionKind, pid: Int32, uid: UInt32, codec: String, width: Int, height: Int,
        pixelFormat: String, codecID: String?, usingHardware: Bool?, fallbackReason: String?,
        framesIn: UInt64, framesOut: UInt64, bytesOut: UInt64, pendingFrames: UInt64, ageMs: UInt64
    ) {
        self.session = session
        self.kind = kind
        self.pid = pid
        self.uid = uid
        self.codec = codec
        self.width = width
        self.height = height
        self.pixelFormat = pixelFormat
        self.codecID = codecID
        self.usingHardware = usingHardware
        self.fallbackReason = fallbackReason
        self.framesIn = framesIn
        self.framesOut = framesOut
        self.bytesOut = bytesOut
        self.pendingFrames = pendingFrames
        self.ageMs = ageMs
    }

    enum CodingKeys: String, CodingKey {
        case session, kind, pid, uid, codec, width, height
        case pixelFormat = "pixel_format"
        case codecID = "encoder_id"
        case usingHardware = "using_hardware"
        case fallbackReason = "fallback_reason"
        case framesIn = "frames_in"
        case framesOut = "frames_out"
        case bytesOut = "bytes_out"
        case pendingFrames = "pending_frames"
        case ageMs = "age_ms"
    }
}
