// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDWire
import Testing

@testable import HWClient

@Suite("Packets that another process would need")
struct PacketLogTests {
    private static func packet(_ size: Int = 10, units: [[UInt8]] = []) -> PacketLog.Packet {
        PacketLog.Packet(bytes: Array(repeating: 1, count: size), pts: 0, duration: 1, isOutput: true, units: units)
    }

    /// The numbers of the packets that are sent from now on, and whether each is only decoded.
    private static func sendAll(_ log: inout PacketLog) -> [(UInt64, Bool)] {
        var sent: [(UInt64, Bool)] = []
        while let entry = log.nextUnsent {
            if case .item(let number, let packet) = entry { sent.append((number, packet.isRepeated)) }
            log.didSend()
        }
        return sent
    }

    private func expectSent(_ log: inout PacketLog, _ numbers: [UInt64]) {
        let sent = Self.sendAll(&log).map(\.0)
        #expect(sent == numbers)
    }

    private static func takes(_ log: inout PacketLog, _ number: UInt64, isKeyFrame: Bool = false) -> Bool {
        log.take(pictureOf: number, isKeyFrame: isKeyFrame)
    }

    @Test("Sending begins again with the last key frame before which everything came")
    func keyFrame() {
        var log = PacketLog()
        for _ in 0..<10 { _ = log.append(Self.packet()) }
        expectSent(&log, Array(1...10))
        let first = (UInt64(1)...4).map { number in Self.takes(&log, number, isKeyFrame: number == 1) }
        #expect(first == [true, true, true, true])
        // Two of its leading pictures precede the key frame 6 in presentation order; 5 has not come.
        let later = [
            Self.takes(&log, 7), Self.takes(&log, 8), Self.takes(&log, 6, isKeyFrame: true),
        ]
        #expect(later == [true, true, true])
        log.rewind()
        expectSent(&log, Array(1...10))
        let again = [Self.takes(&log, 6, isKeyFrame: true), Self.takes(&log, 5)]
        #expect(again == [false, true])
        log.rewind()
        let sent = Self.sendAll(&log)
        #expect(sent.map(\.0) == [6, 7, 8, 9, 10])
        #expect(sent.map(\.1) == [true, true, true, false, false])
        #expect(log.isWhole)
    }

    @Test("Requests are repeated in their order until they are answered; then nothing before is needed")
    func marks() {
        var log = PacketLog()
        log.append(.properties([.maxTemporalLevel: .int(2)]))
        for _ in 0..<3 { _ = log.append(Self.packet(units: [[1]])) }
        log.append(.format([9]))
        _ = log.append(Self.packet(units: [[2]]))
        log.append(.barrier)
        _ = log.append(Self.packet())
        _ = Self.sendAll(&log)
        let report = PacketReport(frameID: 2, status: .videoDecoderBadData, flags: [], reason: "damaged")
        let isNew = log.take(report)
        #expect(isNew)
        log.rewind()
        var order = ""
        while let entry = log.nextUnsent {
            switch entry {
            case .item(let number, _): order += "\(number)"
            case .mark(.properties): order += "p"
            case .mark(.format): order += "f"
            case .mark(.barrier): order += "b"
            }
            log.didSend()
        }
        #expect(order == "p123f4b5")
        let isRepeated = !log.take(report)
        #expect(isRepeated)
        log.takeAnswer()
        let settled = log.takeSettledProperties()
        #expect(settled == [.maxTemporalLevel: .int(2)])
        #expect(log.settled.earlier.units == [[1]] && log.settled.format == [9] && log.settled.later.units == [[2]])
        log.rewind()
        expectSent(&log, [5])
    }

    @Test("Beyond 64 MiB the oldest packets go, until a key frame makes up for them")
    func limit() {
        var log = PacketLog()
        for _ in 0..<5 { _ = log.append(Self.packet(16 << 20)) }
        _ = Self.sendAll(&log)
        #expect(!log.isWhole)
        for number in UInt64(1)...4 { _ = Self.takes(&log, number, isKeyFrame: number == 3) }
        #expect(log.isWhole)
    }

    @Test("Parameter sets and messages that last are found before the first slice, in either framing")
    func units() {
        let sets: [[UInt8]] = [[0x40, 1, 2], [0x42, 1, 3], [0x44, 1, 4]]
        // Content light levels (144) behind a message that does not last; and that one alone, with an emulation prevention byte.
        let lasting: [UInt8] = [0x4E, 1, 1, 1, 7, 144, 4, 3, 232, 1, 144, 0x80]
        let passing: [UInt8] = [0x4E, 1, 1, 3, 0, 0, 3, 144, 0x80]
        let slice: [UInt8] = [0x26, 1, 5, 6, 7]
        let all = sets + [lasting, passing, slice, [0x44, 1, 9]]
        func prefixed(_ units: [[UInt8]]) -> [[UInt8]] { units.map { unit in [0, UInt8(unit.count)] + unit } }
        func delimited(_ units: [[UInt8]]) -> [[UInt8]] { units.map { unit in [0, 0, 1] + unit } }
        let packet = Array(prefixed(all).joined())
        let first = packet.withUnsafeBytes { StreamUnits($0, .lengthPrefixed(2)) }
        #expect(first.hasPicture && first.units == prefixed(sets + [lasting]))
        let second = Array(delimited(all).joined()).withUnsafeBytes { StreamUnits($0, .byteStream) }
        #expect(second.hasPicture && second.units == delimited(sets + [lasting]))
        let cut = Array(packet.dropLast(8)).withUnsafeBytes { StreamUnits($0, .lengthPrefixed(2)) }
        #expect(!cut.hasPicture)
        var preamble = StreamPreamble()
        preamble.add(first.units)
        preamble.add([first.units[0]])
        #expect(preamble.units == Array(first.units.dropFirst()) + [first.units[0]])
    }
}
