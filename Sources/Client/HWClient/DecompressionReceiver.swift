// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Decodes a decoder process's messages.
struct DecompressionReceiver: SessionReceiver {
    typealias Create = CreateDecompressionSession
    typealias Event = DecompressionSession.Event

    static let kind = SessionKind.decompression
    static var finished: Event { .finished }
    /// Far above the packets in flight and the credits, which bound what a client that fetches can have.
    let maxEventCount = 4096
    var packets = PacketPool()
    var heldFrames = 0
    private let maxHeldFrames: Int
    private var arenas: [UInt32: SharedMemory] = [:]
    private var reportCount = 0

    /// Reports, on average, about each packet; a packet has one for each of its layers and its metadata.
    private static let maxReportsPerPacket = 64
    /// Bytes of an arena.
    private static let maxArenaSize = 16 << 30
    private static let maxArenaCount = 64
    /// A limit of their numbers: those of several processes are one number for the app.
    private static let arenaIDBits = 24

    /// The number of a process's arena among those of all processes of the session.
    static func arenaID(_ id: UInt32, ofProcess process: Int) -> UInt32 {
        id | UInt32(truncatingIfNeeded: process) << arenaIDBits
    }

    /// The process whose arena has such a number.
    static func process(ofArena id: UInt32) -> Int { Int(id >> arenaIDBits) }

    init(_ created: Create.Reply) { maxHeldFrames = created.maxFramesInFlight }

    mutating func receive(
        _ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue
    ) throws(SessionError) -> Event? {
        switch opcode {
        case .addArena: try addArena(try AddArena(decoding: payload), &fds)
        case .removeArena: arenas[try RemoveArena(decoding: payload).arenaID] = nil
        case .frameReleased:
            guard packets.release(try FrameReleased(decoding: payload).frameID) else {
                throw Self.broken("it released a packet that is not in flight")
            }
        case .frameDecoded: return .frame(try receive(try FrameDecoded(decoding: payload)))
        case .packetReport:
            let report = try PacketReport(decoding: payload)
            guard report.frameID > 0 else { throw Self.broken("it reported a packet that was never sent") }
            reportCount += 1
            guard reportCount <= Self.maxReportsPerPacket * packets.storedCount else {
                throw Self.broken("it sent \(reportCount) reports about \(packets.storedCount) packets")
            }
            return .report(report)
        default: throw Self.unexpected(opcode)
        }
        return nil
    }

    private mutating func addArena(_ arena: AddArena, _ fds: inout FDQueue) throws(SessionError) {
        guard let file = fds.popFirst(), arena.size <= UInt64(Self.maxArenaSize),
            arenas.count < Self.maxArenaCount, arenas[arena.arenaID] == nil, arena.arenaID >> Self.arenaIDBits == 0
        else {
            throw Self.broken(
                "an arena has no file descriptor or an impossible number, is too large or exists already")
        }
        arenas[arena.arenaID] = try SharedMemory(
            receiving: file, minSize: Int(arena.size), maxSize: Self.maxArenaSize, access: .readOnly)
    }

    private mutating func receive(
        _ picture: FrameDecoded
    ) throws(SessionError) -> DecompressionSession.ReceivedFrame {
        heldFrames += 1
        guard let memory = arenas[picture.arenaID], heldFrames <= maxHeldFrames else {
            throw Self.broken("a picture is in no arena, or exceeds its credits")
        }
        do throws(SessionError) {
            try picture.layout.validate(
                picture.format, width: Int(clamping: picture.width), height: Int(clamping: picture.height),
                poolSize: UInt64(memory.size))
        } catch { throw Self.broken(error.reason) }
        let part = picture.cleanAperture
        guard part.width > 0, part.height > 0, UInt64(part.x) + UInt64(part.width) <= UInt64(picture.width),
            UInt64(part.y) + UInt64(part.height) <= UInt64(picture.height)
        else { throw Self.broken("a clean aperture is outside its picture") }
        return DecompressionSession.ReceivedFrame(
            description: picture, memory: memory, process: 0, pictureID: picture.pictureID)
    }
}
