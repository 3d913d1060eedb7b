// SPDX-License-Identifier: MIT
public import HWDModel

/// A running session in the reply of `ListSessions`.
public struct SessionInfo: Codable, Sendable {
    public var session: String
    public var kind: SessionKind
    /// The worker process.
    public var pid: Int32
    /// The user that created it.
    public var uid: UInt32
    /// The codec that Create named; `none` for a transfer.
    public var codec: String
    /// Width in luma samples.
    public var width = 0
    /// Height in luma samples.
    public var height = 0
    /// The frames' DRM fourcc; for a transfer both sides', joined by `>`.
    public var pixelFormat = ""
    /// The encoder, decoder or converter; nil until the worker has reported it.
    public var codecID: String?
    /// Whether that is hardware; nil until the worker has reported it.
    public var usingHardware: Bool?
    /// Why it is not hardware, where hardware was allowed.
    public var fallbackReason: String?
    /// Frames or packets that the client sent.
    public var framesIn: UInt64 = 0
    /// Packets or frames that the worker sent.
    public var framesOut: UInt64 = 0
    /// Bytes that the worker produced.
    public var bytesOut: UInt64 = 0
    /// Frames or packets that entered and have no result yet.
    public var pendingFrames: UInt64 = 0
    /// Milliseconds since Create.
    public var ageMs: UInt64 = 0
    /// Bytes of memory that the session takes: its process's private memory, arenas and pools.
    public var memoryBytes: UInt64?
    /// Bytes of memory that it was granted; more is granted as it needs it, within `MaxMemory`.
    public var grantedBytes: UInt64?

    /// A session of which no more is known; the rest is set afterwards.
    public init(session: String, kind: SessionKind, pid: Int32, uid: UInt32, codec: String) {
        (self.session, self.kind, self.pid, self.uid, self.codec) = (session, kind, pid, uid, codec)
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
        case memoryBytes = "memory_bytes"
        case grantedBytes = "granted_bytes"
    }
}
