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
    /// A connection, which the packet carries, with a Create call that may wait this much longer for a place.
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
    /// How a process ended that served the session before.
    struct Past: Codable, Hashable {
        var codecID: String?
        var isHardware: Bool
        var reason: String
        var cause: SessionEnd.Cause
    }

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

    var id: String
    var uid: UInt32
    var kind: SessionKind
    var pid: Int32
    var codec: String
    /// Luma samples, as the stream or Create has them.
    var width: Int
    var height: Int
    var pixelFormat: String
    /// In monotonic nanoseconds.
    var created: UInt64
    var codecID: String?
    var usingHardware: Bool?
    var fallbackReason: String?
    var pictureBytes: UInt64
    /// Bytes that were granted, and bytes that it takes.
    var memory: UInt64
    var memoryUsed: UInt64
    var past: [Past]
    var framesIn: UInt64
    var framesOut: UInt64
    var bytesOut: UInt64
    /// What decides on its GPU's load and on its process's sandbox; absent in packets of earlier versions.
    var frameRate: Double?
    var expectedCodecID: String?
    var converts: Bool?
    /// The session that it continues.
    var continues: String?
    /// Whether its threads may run before others.
    var isRealTime: Bool?
    /// Nil while it runs.
    var end: End?
}

extension HandedSession {
    init(_ session: SessionRegistry.Running) {
        self.init(
            id: session.id, uid: session.uid, kind: session.kind, pid: session.pid, codec: session.codec,
            width: session.width, height: session.height, pixelFormat: session.pixelFormat,
            created: session.created.nanoseconds, codecID: session.codecID, usingHardware: session.usingHardware,
            fallbackReason: session.fallbackReason, pictureBytes: session.pictureBytes, memory: session.memory,
            memoryUsed: 0,
            past: session.past.map {
                Past(
                    codecID: $0.failure.codecID, isHardware: $0.failure.isHardware, reason: $0.failure.reason,
                    cause: $0.cause)
            }, framesIn: 0, framesOut: 0, bytesOut: 0, frameRate: session.frameRate,
            expectedCodecID: session.expectedCodecID, converts: session.converts, continues: session.continues,
            isRealTime: session.isRealTime)
    }

    init(_ result: SessionRegistry.Result) {
        self.init(result.session)
        (framesIn, framesOut) = (result.end.framesIn, result.end.framesOut)
        end = End(
            status: result.end.status.rawValue, reason: result.end.reason, cause: result.end.cause,
            signal: result.end.signal, isAbandoned: result.end.isAbandoned, isContinued: result.isContinued,
            at: result.at.nanoseconds)
    }

    /// The session as a registry has it.
    var running: SessionRegistry.Running {
        SessionRegistry.Running(
            id: id, uid: uid, kind: kind, pid: pid, codec: codec, width: width, height: height,
            pixelFormat: pixelFormat, converts: converts ?? false, created: MonotonicTime(nanoseconds: created),
            codecID: codecID, usingHardware: usingHardware, fallbackReason: fallbackReason,
            pictureBytes: pictureBytes, memory: memory, frameRate: frameRate ?? GPULoad.assumedRate,
            expectedCodecID: expectedCodecID,
            past: past.map {
                SessionRegistry.Past(
                    failure: RestartPolicy.Failure(
                        codecID: $0.codecID, isHardware: $0.isHardware, reason: $0.reason), cause: $0.cause)
            }, continues: continues, isRealTime: isRealTime ?? false)
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
            age: MonotonicTime.now.nanoseconds(since: MonotonicTime(nanoseconds: created)))
        return work
    }
}
