// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Decodes an encoder process's messages.
struct CompressionReceiver: SessionReceiver {
    typealias Create = CreateCompressionSession
    typealias Event = CompressionSession.Event

    static let kind = SessionKind.compression
    static var finished: Event { .completed }
    let maxEventCount: Int
    /// Frames sent whose release the app has not fetched: its credits in use.
    var framesInFlight = 0
    /// Frames whose release the app has not fetched although the worker has sent it.
    private var unfetchedReleases = 0
    private var arenas: [UInt32: SharedMemory] = [:]
    /// The quality of the packet that comes next.
    private var metrics: QualityMetrics?

    /// Format descriptions since the last packet.
    private var descriptionCount = 0

    /// The most of them; each change of the encoder's properties may cause one.
    private static let maxDescriptionCount = 1024
    /// Bytes of an arena or of one packet's own memory: more than any picture of level 6.2 takes.
    private static let maxMemorySize = 1 << 30

    init(_ created: Create.Reply) {
        // The credits bound what can be outstanding in both directions. Each packet may have its own format description,
        // and so may the packet that waits for a credit.
        maxEventCount = created.maxFramesInFlight + 2 * created.maxPacketsInFlight + 1
    }

    mutating func receive(
        _ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue
    ) throws(SessionError) -> Event? {
        switch opcode {
        case .formatDescription:
            descriptionCount += 1
            guard descriptionCount <= Self.maxDescriptionCount else {
                throw Self.broken("it sent \(descriptionCount) format descriptions without a packet")
            }
            return .formatDescription(payload.withUnsafeBytes { Array($0) })
        case .addArena:
            let arena = try AddArena(decoding: payload)
            guard arenas.isEmpty else { throw Self.broken("it sent a second arena") }
            arenas[arena.arenaID] = try Self.map(&fds, size: arena.size)
            return nil
        case .frameReleased:
            guard unfetchedReleases < framesInFlight else {
                throw Self.broken("it released a frame that is not in flight")
            }
            unfetchedReleases += 1
            return .frameReleased(try FrameReleased(decoding: payload).frameID)
        case .qualityMetrics:
            guard metrics == nil else { throw Self.broken("it sent no packet with its quality") }
            metrics = try QualityMetrics(decoding: payload)
            return nil
        case .packet: return .packet(try receive(try Packet(decoding: payload), &fds))
        default: throw Self.unexpected(opcode)
        }
    }

    mutating func didFetch(_ event: Event) {
        guard case .frameReleased = event else { return }
        framesInFlight -= 1
        unfetchedReleases -= 1
    }

    private mutating func receive(
        _ packet: Packet, _ fds: inout FDQueue
    ) throws(SessionError) -> CompressionSession.ReceivedPacket {
        let quality = metrics
        (metrics, descriptionCount) = (nil, 0)
        guard quality == nil || quality?.packetID == packet.packetID else {
            throw Self.broken("it sent the quality of another packet")
        }
        let found =
            packet.arenaID == Packet.ownMemory
            ? try Self.map(&fds, size: UInt64(packet.size)) : arenas[packet.arenaID]
        guard let memory = found, packet.offset <= UInt64(memory.size),
            UInt64(packet.size) <= UInt64(memory.size) - packet.offset
        else { throw Self.broken("a packet is outside the memory that it names") }
        return CompressionSession.ReceivedPacket(packet, quality?.meanSquaredError, in: memory)
    }

    private static func map(_ fds: inout FDQueue, size: UInt64) throws(SessionError) -> SharedMemory {
        guard let file = fds.popFirst(), size <= UInt64(maxMemorySize) else {
            throw broken("packet memory has no file descriptor or is too large")
        }
        return try SharedMemory(
            receiving: file, minSize: Int(size), maxSize: maxMemorySize, access: .readOnly)
    }
}
