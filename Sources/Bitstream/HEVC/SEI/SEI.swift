// SPDX-License-Identifier: MIT

/// `sei_message()` (7.3.5): a payload type and the payload's bytes.
public struct SEIMessage: Hashable, Sendable {
    /// `payloadType` (D.2.1), 0 and up.
    public var payloadType: Int
    /// `sei_payload()`, padding included, without emulation prevention.
    public var payload: [UInt8]

    public init(payloadType: Int, payload: [UInt8]) {
        self.payloadType = payloadType
        self.payload = payload
    }
}

/// `sei_rbsp()` (7.3.2.4): a NAL unit of supplemental enhancement information.
public struct SEI: Hashable, Sendable {
    /// Of type prefix or suffix SEI.
    public var header: NALUnitHeader
    /// At least one.
    public var messages: [SEIMessage]

    /// The given messages, by default in a prefix SEI of the base layer.
    public init(header: NALUnitHeader = NALUnitHeader(.prefixSEI), messages: [SEIMessage]) {
        self.header = header
        self.messages = messages
    }

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed SEI.
    public init(nal: ArraySlice<UInt8>) throws(BitstreamError) {
        header = try NALUnitHeader(nal: nal)
        guard header.nalUnitType == .prefixSEI || header.nalUnitType == .suffixSEI else {
            throw BitstreamError(.malformed, "a NAL unit of type \(header.nalUnitType) is not an SEI")
        }
        messages = []
        var rest = EmulationPrevention.remove(from: nal.dropFirst(2))[...]
        // rbsp_trailing_bits() of a byte-aligned RBSP.
        while rest.last == 0 { rest.removeLast() }
        guard rest.popLast() == 0x80 else {
            throw BitstreamError(.malformed, "the stop bit of rbsp_trailing_bits is missing")
        }
        repeat {
            let type = try Self.extendedNumber(&rest)
            let size = try Self.extendedNumber(&rest)
            guard size <= rest.count else {
                throw BitstreamError(
                    .truncated, "an SEI payload of \(size) bytes exceeds the \(rest.count) bytes left")
            }
            messages.append(SEIMessage(payloadType: type, payload: Array(rest.prefix(size))))
            rest = rest.dropFirst(size)
        } while !rest.isEmpty
    }

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed SEI.
    public init(nal: [UInt8]) throws(BitstreamError) {
        try self.init(nal: nal[...])
    }

    /// The whole NAL unit; throws `malformed` without messages.
    public func nalUnit() throws(BitstreamError) -> [UInt8] {
        guard !messages.isEmpty else { throw BitstreamError(.malformed, "the SEI has no message") }
        var rbsp: [UInt8] = []
        for message in messages {
            try check("payloadType", message.payloadType, 0...maxUE)
            for number in [message.payloadType, message.payload.count] {
                rbsp += [UInt8](repeating: 0xFF, count: number / 255)
                rbsp.append(UInt8(number % 255))
            }
            rbsp += message.payload
        }
        return try header.nalUnit(rbsp: rbsp + [0x80])
    }

    /// The sum of `ff_byte`s and the last byte.
    private static func extendedNumber(_ rest: inout ArraySlice<UInt8>) throws(BitstreamError) -> Int {
        var number = 0
        while let byte = rest.popFirst() {
            number += Int(byte)
            if byte != 0xFF { return number }
        }
        throw BitstreamError(.truncated, "the SEI ends inside a message's type or size")
    }
}
