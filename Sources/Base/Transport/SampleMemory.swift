// SPDX-License-Identifier: MIT
internal import CHWDLinux
public import HWDModel

/// Memory through which an encoder's process gives samples of its output to the process that checks them: luma of frames in
/// slots, and bytes of packets.
///
/// Neither process trusts the other, nor the broker, which creates the memory, either of them. A word says whose turn it is.
public final class SampleMemory: Sendable {
    /// Whose turn it is.
    public enum Turn: UInt64, Sendable {
        /// The encoder's: what it gave was found right, or it has given nothing yet.
        case encoder = 0
        /// The checker's.
        case checker = 1
        /// Nobody's: what the encoder gave was found wrong.
        case nobody = 2
        /// Nobody's: nothing is checked any more.
        case ended = 3
    }

    /// Bytes of a slot: the luma of 1920x1080 with a byte for each sample.
    public static let slotSize = 2 << 20
    /// Frames whose luma is in the memory: those inside an encoder, and those of two samples.
    public static let slotCount = 40
    /// Bytes of the packets of a sample; there is room for two.
    public static let packetSize = 4 << 20

    private static let headerSize = 4096
    private static let size = headerSize + slotCount * slotSize + 2 * packetSize

    private let memory: SharedMemory

    /// Creates the memory; pages are allocated when they are used.
    public init() throws(SystemError) { memory = try SharedMemory(creating: "hwdaemon-samples", size: Self.size) }

    /// Maps the memory in a worker or a checker.
    ///
    /// - Throws: `Parameter` if it is not sealed memory of the right size.
    public init(receiving file: consuming OwnedFD) throws(SessionError) {
        memory = try SharedMemory(receiving: file, minSize: Self.size, maxSize: Self.size, access: .readWrite)
    }

    /// The memfd; valid as long as this object exists.
    public var fileDescriptor: Int32 { memory.file.rawValue }

    /// The shared memory, for a ledger.
    public var shared: SharedMemory { memory }

    public var turn: Turn {
        get {
            guard let base = memory.bytes.baseAddress else { return .nobody }
            return Turn(rawValue: chwd_turn_load(base)) ?? .nobody
        }
        set {
            guard let base = memory.mutableBytes?.baseAddress else { return }
            chwd_turn_store(base, newValue.rawValue)
        }
    }

    /// The checker's answer: pictures of its samples with an earlier presentation time were compared.
    public var confirmedTime: Int64 {
        get {
            guard let base = memory.bytes.baseAddress else { return .min }
            return Int64(bitPattern: chwd_counter_load(base + 8))
        }
        set {
            guard let base = memory.mutableBytes?.baseAddress else { return }
            chwd_counter_store(base + 8, UInt64(bitPattern: newValue))
        }
    }

    /// Whether the encoder's process sent packets unverified that `VerifyOutput` asks to verify.
    public var hasUnverifiedPackets: Bool {
        get { memory.bytes.baseAddress.map { chwd_counter_load($0 + 16) != 0 } ?? false }
        set {
            guard let base = memory.mutableBytes?.baseAddress else { return }
            chwd_counter_store(base + 16, newValue ? 1 : 0)
        }
    }

    /// Whether the checker's decoder has skipped pictures up to an IDR picture.
    public var hasUndecodedPictures: Bool {
        get { memory.bytes.baseAddress.map { chwd_counter_load($0 + 24) != 0 } ?? false }
        set {
            guard let base = memory.mutableBytes?.baseAddress else { return }
            chwd_counter_store(base + 24, newValue ? 1 : 0)
        }
    }

    /// The bytes of a slot, 0 ..< `slotCount`; empty for any other number.
    public func slot(_ number: Int) -> UnsafeMutableRawBufferPointer {
        part(Self.headerSize, number, Self.slotCount, Self.slotSize)
    }

    /// The bytes of the packets of a sample, 0 or 1; empty for any other number.
    public func packets(_ half: Int) -> UnsafeMutableRawBufferPointer {
        part(Self.headerSize + Self.slotCount * Self.slotSize, half, 2, Self.packetSize)
    }

    private func part(_ start: Int, _ number: Int, _ count: Int, _ size: Int) -> UnsafeMutableRawBufferPointer {
        guard (0..<count).contains(number), let bytes = memory.mutableBytes else {
            return UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeMutableRawBufferPointer(rebasing: bytes[start + number * size..<start + (number + 1) * size])
    }
}
