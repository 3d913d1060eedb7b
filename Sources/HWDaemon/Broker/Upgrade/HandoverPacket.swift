// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport

/// A packet, in JSON, between a daemon that is upgraded and the one that replaces it.
///
/// The two may be of different versions: a receiver ignores packets that it cannot read, so fields that are added must be
/// optional.
enum HandoverPacket: Codable {
    /// The new daemon can serve; its process number, and whether it takes calls that wait.
    case ready(pid: Int32, takesCalls: Bool? = nil)
    /// The new daemon serves from now on; `socket` is the path of the socket's file, which it removes at its end.
    case serve(socket: String?)
    /// Sessions of the daemon before, as they are now.
    case sessions([HandedSession])
    /// A connection without a session, which the packet carries.
    case connection
    /// A connection, which the packet carries, with a Create call that may wait this much longer for a slot.
    case call(String, milliseconds: Int)
    /// The daemon before shall end its sessions: within its DrainTimeout, or now.
    case stop(now: Bool)

    /// The variable of the environment that a new daemon gets, and its value.
    static let variable = (name: "HWDAEMON_UPGRADE", version: "1")
    /// The listening socket's number in the new daemon, and that of the packets' socket.
    static let descriptors = (listener: Int32(3), channel: Int32(4))
    /// Sessions in one packet, whose texts are bounded.
    static let maxSessions = 16
}

/// A session of the daemon before, which counts within the new one's limits, is listed and may be continued there.
struct HandedSession: Codable, Hashable {
    /// How the session ended.
    struct End: Codable, Hashable {
        var status: Int32
        var reason: String
        var cause: SessionEnd.Cause
        var signal: Int32?
        var isAbandoned: Bool
        var isContinued: Bool
        /// In monotonic nanoseconds.
        var at: UInt64
    }

    /// The session as the registry has it; in JSON its members are on the same level as those below.
    var running: SessionRegistry.Running
    /// Bytes of memory that it takes.
    var memoryUsed: UInt64 = 0
    var framesIn: UInt64 = 0
    var framesOut: UInt64 = 0
    var bytesOut: UInt64 = 0
    /// Nil while it runs.
    var end: End?

    var id: String { running.id }

    private enum CodingKeys: String, CodingKey { case memoryUsed, framesIn, framesOut, bytesOut, end }

    init(_ session: SessionRegistry.Running) { running = session }

    init(_ result: SessionRegistry.Result) {
        self.init(result.session)
        (framesIn, framesOut) = (result.end.framesIn, result.end.framesOut)
        end = End(
            status: result.end.status.rawValue, reason: result.end.reason, cause: result.end.cause,
            signal: result.end.signal, isAbandoned: result.end.isAbandoned, isContinued: result.isContinued,
            at: result.at.nanoseconds)
    }

    init(from decoder: any Decoder) throws {
        running = try SessionRegistry.Running(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        memoryUsed = try container.decode(UInt64.self, forKey: .memoryUsed)
        framesIn = try container.decode(UInt64.self, forKey: .framesIn)
        framesOut = try container.decode(UInt64.self, forKey: .framesOut)
        bytesOut = try container.decode(UInt64.self, forKey: .bytesOut)
        end = try container.decodeIfPresent(End.self, forKey: .end)
    }

    func encode(to encoder: any Encoder) throws {
        try running.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(memoryUsed, forKey: .memoryUsed)
        try container.encode(framesIn, forKey: .framesIn)
        try container.encode(framesOut, forKey: .framesOut)
        try container.encode(bytesOut, forKey: .bytesOut)
        try container.encodeIfPresent(end, forKey: .end)
    }

    /// Its result; nil while it runs.
    var result: SessionRegistry.Result? {
        end.map { end in
            SessionRegistry.Result(
                session: running,
                end: SessionEnd(
                    status: Status(rawValue: end.status), reason: end.reason, framesIn: framesIn,
                    framesOut: framesOut, cause: end.cause, signal: end.signal, isAbandoned: end.isAbandoned),
                at: MonotonicTime(nanoseconds: end.at), isContinued: end.isContinued)
        }
    }

    /// Its frames and bytes so far.
    var work: SessionWork {
        var work = SessionWork()
        work.read(
            framesIn: framesIn, framesOut: framesOut, bytesOut: bytesOut,
            age: MonotonicTime.now.nanoseconds(since: running.created))
        return work
    }
}

extension SessionRegistry.Running: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, uid, pid, created, codecID, usingHardware, fallbackReason, memory, expectedCodecID, past, continues
        case isRealTime
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id),
            uid: try container.decode(UInt32.self, forKey: .uid),
            pid: try container.decode(Int32.self, forKey: .pid), facts: try SessionFacts(from: decoder),
            created: MonotonicTime(nanoseconds: try container.decode(UInt64.self, forKey: .created)))
        codecID = try container.decodeIfPresent(String.self, forKey: .codecID)
        usingHardware = try container.decodeIfPresent(Bool.self, forKey: .usingHardware)
        fallbackReason = try container.decodeIfPresent(String.self, forKey: .fallbackReason)
        memory = try container.decode(UInt64.self, forKey: .memory)
        expectedCodecID = try container.decodeIfPresent(String.self, forKey: .expectedCodecID)
        past = try container.decode([SessionRegistry.Past].self, forKey: .past)
        continues = try container.decodeIfPresent(String.self, forKey: .continues)
        isRealTime = try container.decodeIfPresent(Bool.self, forKey: .isRealTime) ?? false
    }

    func encode(to encoder: any Encoder) throws {
        try facts.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(uid, forKey: .uid)
        try container.encode(pid, forKey: .pid)
        try container.encode(created.nanoseconds, forKey: .created)
        try container.encodeIfPresent(codecID, forKey: .codecID)
        try container.encodeIfPresent(usingHardware, forKey: .usingHardware)
        try container.encodeIfPresent(fallbackReason, forKey: .fallbackReason)
        try container.encode(memory, forKey: .memory)
        try container.encodeIfPresent(expectedCodecID, forKey: .expectedCodecID)
        try container.encode(past, forKey: .past)
        try container.encodeIfPresent(continues, forKey: .continues)
        try container.encode(isRealTime, forKey: .isRealTime)
    }
}

extension SessionRegistry.Past: Codable {
    private enum CodingKeys: String, CodingKey { case codecID, isHardware, reason, cause }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        failure = RestartPolicy.Failure(
            codecID: try container.decodeIfPresent(String.self, forKey: .codecID),
            isHardware: try container.decode(Bool.self, forKey: .isHardware),
            reason: try container.decode(String.self, forKey: .reason))
        cause = try container.decode(SessionEnd.Cause.self, forKey: .cause)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(failure.codecID, forKey: .codecID)
        try container.encode(failure.isHardware, forKey: .isHardware)
        try container.encode(failure.reason, forKey: .reason)
        try container.encode(cause, forKey: .cause)
    }
}
