// SPDX-License-Identifier: MIT

/// What a decoder remembers of packets beyond their pictures: parameter sets, and SEI messages that apply until they are
/// replaced.
///
/// Reads NAL units as far as the first slice; a worker checks packets, this code only looks into them.
struct StreamUnits {
    /// How packets delimit NAL units.
    enum Framing {
        /// By a length of this many bytes before each (ISO/IEC 14496-15).
        case lengthPrefixed(Int)
        /// By start codes (H.265 Annex B).
        case byteStream

        /// That of the packets of a format description: an hvcC record begins with its version, a byte stream with a zero.
        init(description: [UInt8]) {
            self =
                description.count > 21 && description[0] == 1
                ? .lengthPrefixed(Int(description[21] & 3) + 1) : .byteStream
        }
    }

    /// The units that are remembered, with their framing.
    private(set) var units: [[UInt8]] = []
    /// Whether a slice was found.
    private(set) var hasPicture = false

    /// Types of NAL units (H.265 7.4.2.2): the first that is no slice, parameter sets, SEI messages before the picture.
    private static let firstOther: UInt8 = 32, parameterSets: ClosedRange<UInt8> = 32...34, prefixSEI: UInt8 = 39
    /// Payload types of SEI messages that apply until they are replaced (H.265 D.2.1, F.14.2.1): mastering display, content light
    /// level, preferred transfer characteristics, ambient viewing environment, alpha channel.
    private static let lastingMessages: Set<Int> = [137, 144, 147, 148, 165]

    init(_ packet: UnsafeRawBufferPointer, _ framing: Framing) {
        switch framing {
        case .lengthPrefixed(let size): readPrefixed(packet, size)
        case .byteStream: readByteStream(packet)
        }
    }

    private mutating func readPrefixed(_ packet: UnsafeRawBufferPointer, _ lengthSize: Int) {
        var start = 0
        while !hasPicture, start + lengthSize < packet.count {
            let length = packet[start..<start + lengthSize].reduce(0) { $0 << 8 | Int($1) }
            let end = start + lengthSize + length
            guard end <= packet.count else { return }
            take(packet, start..<end, unit: start + lengthSize)
            start = end
        }
    }

    private mutating func readByteStream(_ packet: UnsafeRawBufferPointer) {
        var start = Self.startCode(in: packet, from: 0)
        while !hasPicture, let code = start {
            // A slice ends the search: what follows it is not read.
            if code + 4 < packet.count, Self.isSliceOfBase(packet[code + 3], packet[code + 4]) {
                return hasPicture = true
            }
            let next = Self.startCode(in: packet, from: code + 3)
            take(packet, code..<(next ?? packet.count), unit: code + 3)
            start = next
        }
    }

    /// The offset of the next three bytes 0, 0, 1.
    private static func startCode(in packet: UnsafeRawBufferPointer, from offset: Int) -> Int? {
        var index = offset
        while index + 2 < packet.count {
            if packet[index + 2] > 1 {
                index += 3
            } else if packet[index] == 0, packet[index + 1] == 0, packet[index + 2] == 1 {
                return index
            } else {
                index += 1
            }
        }
        return nil
    }

    /// `nal_unit_type` of a unit's first byte.
    private static func type(_ byte: UInt8) -> UInt8 { byte >> 1 & 0x3F }

    /// Whether the header of a NAL unit is that of a slice of layer 0; pictures of other layers do not come alone.
    private static func isSliceOfBase(_ first: UInt8, _ second: UInt8) -> Bool {
        type(first) < firstOther && first & 1 == 0 && second >> 3 == 0
    }

    private mutating func take(_ packet: UnsafeRawBufferPointer, _ whole: Range<Int>, unit start: Int) {
        guard start + 2 < whole.upperBound else { return }
        let type = Self.type(packet[start])
        if Self.isSliceOfBase(packet[start], packet[start + 1]) {
            hasPicture = true
        } else if Self.parameterSets.contains(type)
            || type == Self.prefixSEI && Self.hasLastingMessage(packet[(start + 2)..<whole.upperBound])
        {
            units.append(Array(packet[whole]))
        }
    }

    /// Whether an SEI NAL unit, after its header, has a message that lasts (H.265 7.3.5).
    private static func hasLastingMessage(_ escaped: Slice<UnsafeRawBufferPointer>) -> Bool {
        var payload: [UInt8] = []
        var zeros = 0
        for byte in escaped {
            // Emulation prevention (H.265 7.4.2).
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            payload.append(byte)
        }
        var rest = payload[...]
        func number() -> Int? {
            var value = 0
            while let byte = rest.popFirst() {
                value += Int(byte)
                if byte < 0xFF { return value }
            }
            return nil
        }
        // The last byte is rbsp_trailing_bits.
        while rest.count > 2, let type = number(), let size = number() {
            if lastingMessages.contains(type) { return true }
            rest = rest.dropFirst(size)
        }
        return false
    }
}

/// The units of packets that are not sent again, for another process: each of equal ones once, in the order of their last
/// occurrence.
struct StreamPreamble {
    private(set) var units: [[UInt8]] = []
    private var size = 0

    /// Twice the sets that H.265 has ids for, a few kilobytes each; the oldest are dropped.
    private static let maxSize = 1 << 20, maxCount = 192

    /// The units as one packet; nil if there is none.
    var packet: [UInt8]? { units.isEmpty ? nil : Array(units.joined()) }

    mutating func add(_ new: [[UInt8]]) {
        for unit in new {
            if let known = units.firstIndex(of: unit) { remove(at: known) }
            units.append(unit)
            size += unit.count
        }
        while size > Self.maxSize || units.count > Self.maxCount { remove(at: 0) }
    }

    private mutating func remove(at index: Int) { size -= units.remove(at: index).count }
}
