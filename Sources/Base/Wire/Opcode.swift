// SPDX-License-Identifier: MIT
public import HWDModel

/// The type of a session's message: the `opcode` field of its header.
///
/// docs/protocol.md describes the payloads and which message answers which.
public enum Opcode: UInt32, Sendable, CaseIterable {
    // Client to worker.
    case setProperties = 1
    case copyProperties = 2
    case addPool = 3
    case removePool = 4
    case prepare = 5
    case encodeFrame = 6
    case completeFrames = 7
    case releasePacket = 8
    case invalidate = 9
    case decodeFrame = 10
    case finishDelayedFrames = 11
    case canAcceptFormat = 12
    case changeFormat = 13
    case releaseFrame = 14
    case encodeFrameWithMetadata = 15
    case transferFrame = 20
    case finishFrames = 21
    case transferTimedFrame = 22
    case addTable = 23
    case changeEffects = 24
    case addPicture = 25
    case addFence = 26

    // Worker to client.
    case reply = 64
    case formatDescription = 65
    case addArena = 66
    case frameReleased = 67
    case packet = 68
    case end = 69
    case frameDecoded = 70
    case packetReport = 71
    case removeArena = 72
    case qualityMetrics = 73
    case frameTransferred = 80
}

extension Opcode {
    /// One end of a session's connection.
    public enum Sender: Hashable, Sendable {
        case client
        case worker
    }

    /// What happens when a message of the client cannot be carried out.
    public enum Failure: Hashable, Sendable {
        /// The worker sends a failed reply and the session continues.
        case isAnswered
        /// The session ends, because the two sides no longer agree on its state.
        case endsSession
    }

    /// A set of session kinds; an option set, because a `Set` would allocate for every message.
    struct Kinds: OptionSet, Sendable {
        let rawValue: UInt8

        static let compression = Kinds(.compression)
        static let decompression = Kinds(.decompression)
        static let transfer = Kinds(.transfer)
        static let coding: Kinds = [.compression, .decompression]
        static let importing: Kinds = [.compression, .transfer]
        static let all: Kinds = [.compression, .decompression, .transfer]

        init(rawValue: UInt8) { self.rawValue = rawValue }

        init(_ kind: SessionKind) {
            switch kind {
            case .compression: rawValue = 1
            case .decompression: rawValue = 2
            case .transfer: rawValue = 4
            }
        }
    }

    /// What the protocol fixes about a message besides its payload.
    struct Rules: Sendable {
        var sender: Sender
        var kinds: Kinds
        /// File descriptors that come with it.
        var fdCounts: ClosedRange<Int> = 0...0
        /// Meaningful for the client's messages only.
        var failure = Failure.endsSession

        static func client(
            _ kinds: Kinds, fdCounts: ClosedRange<Int> = 0...0, failure: Failure = .endsSession
        ) -> Rules { Rules(sender: .client, kinds: kinds, fdCounts: fdCounts, failure: failure) }

        static func worker(_ kinds: Kinds, fdCounts: ClosedRange<Int> = 0...0) -> Rules {
            Rules(sender: .worker, kinds: kinds, fdCounts: fdCounts)
        }
    }

    /// The one table of who sends what, and in which kinds of session.
    var rules: Rules {
        switch self {
        case .setProperties, .copyProperties, .removePool: .client(.all, failure: .isAnswered)
        case .addPool: .client(.all, fdCounts: 1...1)
        case .invalidate: .client(.all)
        case .prepare, .encodeFrame, .encodeFrameWithMetadata, .completeFrames, .releasePacket:
            .client(.compression)
        case .decodeFrame, .finishDelayedFrames, .releaseFrame: .client(.decompression)
        case .canAcceptFormat, .changeFormat: .client(.decompression, failure: .isAnswered)
        case .transferFrame, .transferTimedFrame, .finishFrames: .client(.transfer)
        case .addTable: .client(.transfer, fdCounts: 1...1, failure: .isAnswered)
        case .changeEffects: .client(.transfer, failure: .isAnswered)
        case .addPicture: .client(.importing, fdCounts: 1...AddPicture.maxObjects, failure: .isAnswered)
        case .addFence: .client(.importing, fdCounts: 1...1, failure: .isAnswered)

        case .reply, .end: .worker(.all)
        case .frameReleased: .worker(.coding)
        case .addArena: .worker(.coding, fdCounts: 1...1)
        case .formatDescription, .qualityMetrics: .worker(.compression)
        // A packet that does not fit the arena comes in a memfd of its own.
        case .packet: .worker(.compression, fdCounts: 0...1)
        case .frameDecoded, .packetReport, .removeArena: .worker(.decompression)
        case .frameTransferred: .worker(.transfer)
        }
    }

    public var sender: Sender { rules.sender }

    /// File descriptors that come with the message.
    public var fdCounts: ClosedRange<Int> { rules.fdCounts }

    /// The consequence of a failure, for messages that the client sends.
    public var failure: Failure { rules.failure }

    /// Whether sessions of a kind have this message.
    public func serves(_ kind: SessionKind) -> Bool { rules.kinds.contains(Kinds(kind)) }

    /// Checks a received message's sender, kind of session and file descriptors.
    ///
    /// - Throws: `Parameter`, naming the rule that the sender broke.
    public func validate(
        from sender: Sender, in kind: SessionKind, fdCount: Int
    ) throws(SessionError) {
        let rules = rules
        guard rules.sender == sender else {
            throw SessionError(.parameter, "message \(self) is the \(rules.sender)'s to send")
        }
        guard rules.fdCounts.contains(fdCount) else {
            throw SessionError(.parameter, "message \(self) came with \(fdCount) file descriptors")
        }
        guard rules.kinds.contains(Kinds(kind)) else {
            let kinds = SessionKind.allCases.filter(serves).map(\.adjective).joined(separator: " and ")
            throw SessionError(.parameter, "message \(self) is for \(kinds) sessions")
        }
    }
}
