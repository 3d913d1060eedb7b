// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDTransport
public import HWDWire

extension CompressionSession {
    /// A coded picture: its description and its bytes.
    public struct ReceivedPacket {
        private enum Place {
            case shared(SharedMemory)
            case copied(PacketCopy)
        }

        /// Times, flags, types.
        public private(set) var description: Packet
        /// Nil unless `CalculateMeanSquaredError` is set and the encoder measures it.
        public let meanSquaredError: MeanSquaredError?
        private var place: Place
        /// The session's process that it is released to; nil for a copy.
        private(set) var process: Int?

        init(_ description: Packet, _ meanSquaredError: MeanSquaredError?, in memory: SharedMemory) {
            self.description = description
            self.meanSquaredError = meanSquaredError
            place = .shared(memory)
        }

        /// NAL units with 4-byte lengths, without parameter sets; valid until the packet is released.
        public var bytes: UnsafeRawBufferPointer {
            switch place {
            case .shared(let memory):
                UnsafeRawBufferPointer(
                    rebasing: memory.bytes[
                        Int(description.offset)..<Int(description.offset) + Int(description.size)])
            case .copied(let copy): UnsafeRawBufferPointer(copy.bytes)
            }
        }

        func of(_ process: Int) -> ReceivedPacket {
            var packet = self
            packet.process = process
            return packet
        }

        func described(as description: Packet) -> ReceivedPacket {
            var packet = self
            packet.description = description
            return packet
        }

        /// The same packet in memory of its own.
        func copied() -> ReceivedPacket {
            var packet = self
            packet.place = .copied(PacketCopy(bytes))
            packet.process = nil
            return packet
        }
    }

    /// A packet's bytes, which live as long as a packet refers to them.
    private final class PacketCopy {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ source: UnsafeRawBufferPointer) {
            bytes = .allocate(byteCount: source.count, alignment: 16)
            bytes.copyMemory(from: source)
        }

        deinit { bytes.deallocate() }
    }
}
