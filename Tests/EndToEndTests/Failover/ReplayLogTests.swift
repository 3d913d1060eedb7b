// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDWire
import Testing

@testable import HWClient
@testable import HWDTransport

@Suite("What another process would be sent, and when work begins again")
struct ReplayLogTests {
    private static func sendAll(_ log: inout ReplayLog<String, Int>) -> String {
        var sent = ""
        while let entry = log.nextUnsent {
            switch entry {
            case .item(let number, let item): sent += "\(item)\(number)"
            case .mark(let mark): sent += "(\(mark))"
            }
            log.didSend()
        }
        return sent
    }

    @Test("Items and marks are sent in order, and again without those that were forgotten")
    func order() {
        var log = ReplayLog<String, Int>(first: 1)
        log.append(7)
        for item in ["a", "b", "c"] { log.append(item) }
        log.append(8)
        log.append("d")
        let first = Self.sendAll(&log)
        #expect(first == "(7)a1b2c3(8)d4" && log.isSent)
        log[2] = nil
        #expect(log[2] == nil && log[3] == "c" && log.first == 1)
        // An item precedes the second mark, none the first.
        let taken = [log.takeFirstMark { $0 == 7 }, log.takeFirstMark { $0 == 8 }]
        #expect(taken == [7, nil])
        log[1] = nil
        #expect(log.first == 3)
        log.rewind()
        let again = Self.sendAll(&log)
        #expect(again == "c3(8)d4")
        log[4] = nil
        log[3] = nil
        let last = log.takeFirstMark { _ in true }
        #expect(last == 8 && log.first == 5 && log.isSent)
    }

    @Test("Numbers stay those of their items while thousands come and go out of order")
    func many() {
        var log = ReplayLog<UInt64, Void>(first: 0)
        for number in UInt64(0)..<5000 {
            let appended = log.append(number)
            #expect(appended == number)
            log.didSend()
            // Pairs are forgotten in reverse, a few numbers behind.
            if number >= 9, number % 2 == 1 { (log[number - 8], log[number - 9]) = (nil, nil) }
            #expect(log[number] == number && log[number + 1] == nil)
            #expect(log.end - log.first <= 10)
        }
    }

    @Test("Frames are counted by how far processes are with them, and found by their numbers")
    func frames() {
        var log = FrameLog()
        let layout = FrameLayout.packed(.nv12, width: 64, height: 64).layout
        for number in UInt64(0)..<4 {
            log.append(
                EncodeFrame(frameID: 100 + number, pts: Int64(number), duration: 1, poolID: 3, layout: layout))
            if number < 3 { log.didSend() }
        }
        for number in UInt64(0)..<2 { log[number]?.progress = .read }
        log[1]?.samples = .returned
        #expect((log.unreadCount, log.newCount, log.readCount) == (2, 2, 2))
        #expect(log.keptCount(inPool: 3) == 1 && log.keptNumbers == [0] && log.lentNumbers(inPool: 3) == [0, 2, 3])
        #expect(log.sentFrame(2)?.frame.frameID == 102 && log.sentFrame(3) == nil && log.sentFrame(4) == nil)
        log[0] = nil
        log.rewind()
        #expect((log.unreadCount, log.newCount, log.readCount) == (3, 2, 0))
        #expect(log.keptCount(inPool: 3) == 0 && log[1]?.progress == .repeated && log[2]?.progress == .new)
    }

    // MARK: - Messages without end

    /// Receives a message as often as a worker may send it; the error of the next one.
    private static func flood<Receiver: SessionReceiver>(
        _ receiver: inout Receiver, _ opcode: Opcode, _ payload: [UInt8]
    ) -> (count: Int, error: SessionError?) {
        for count in 0..<100_000 {
            var none = FDQueue(EmptyCollection())
            do throws(SessionError) { _ = try receiver.receive(opcode, payload.span.bytes, &none) } catch {
                return (count, error)
            }
        }
        return (100_000, nil)
    }

    @Test("Format descriptions without packets, and reports about few packets, break the protocol")
    func floods() throws {
        var encoder = CompressionReceiver(
            CreateCompressionSession.Reply(
                session: "a", encoderID: "b", usingHardware: false, fallbackReason: nil, maxFramesInFlight: 8,
                maxPacketsInFlight: 8))
        let descriptions = Self.flood(&encoder, .formatDescription, [1, 2, 3])
        #expect(descriptions.count == 1024 && descriptions.error?.status == .videoEncoderMalfunction)

        var decoder = DecompressionReceiver(
            CreateDecompressionSession.Reply(
                session: "a", decoderID: "b", usingHardware: false, width: 64, height: 64, pixelFormat: "NV12",
                maxPacketsInFlight: 8, maxFramesInFlight: 8))
        try decoder.packets.grow(toHold: 16)
        for frameID in UInt64(1)...2 {
            _ = [UInt8](repeating: 1, count: 16).withUnsafeBytes { decoder.packets.store($0, frameID: frameID) }
        }
        var writer = ByteWriter()
        PacketReport(frameID: 1, status: .videoDecoderBadData, flags: [], reason: "damaged").encode(into: &writer)
        let reports = Self.flood(&decoder, .packetReport, writer.bytes)
        #expect(reports.count == 128 && reports.error?.status == .videoDecoderMalfunction)
    }

    // MARK: - Work that begins again

    private struct Unrelated: Error {}

    /// Runs work that meets these errors in turn, then none.
    private static func run(
        _ policy: SessionPolicy, _ errors: [any Error], allowing isAllowed: Bool = true
    ) -> (attempts: Int, remedies: [ClientError.Remedy], error: (any Error)?) {
        var (attempts, remedies) = (0, [ClientError.Remedy]())
        do {
            try policy.run(
                repeatingIf: { remedy, _ in
                    remedies.append(remedy)
                    return isAllowed
                },
                {
                    attempts += 1
                    if attempts <= errors.count { throw errors[attempts - 1] }
                })
            return (attempts, remedies, nil)
        } catch { return (attempts, remedies, error) }
    }

    @Test("Work begins again once for each kind of hardware that failed")
    func software() {
        let decoder = ClientError(.session(.videoDecoderMalfunction), "d").with(.software(.decompression))
        let encoder = ClientError(.session(.videoEncoderMalfunction), "e").with(.software(.compression))
        let both = Self.run(SessionPolicy(), [decoder, encoder])
        #expect(both.attempts == 3 && both.error == nil)
        #expect(both.remedies == [.software(.decompression), .software(.compression)])
        let twice = Self.run(SessionPolicy(), [encoder, encoder])
        #expect(twice.attempts == 2 && twice.error as? ClientError == encoder)
        let refused = Self.run(SessionPolicy(), [encoder], allowing: false)
        #expect(refused.attempts == 1 && refused.error as? ClientError == encoder)
    }

    @Test("Other errors end work, and so do missing slots where nobody waits")
    func others() {
        let error = ClientError(.session(.videoEncoderMalfunction), "software failed")
        let slots = ClientError(.session(.videoEncoderNotAvailableNow), "no slot").with(.slots)
        for error: any Error in [error, slots, Unrelated()] {
            let run = Self.run(SessionPolicy(), [error])
            #expect(run.attempts == 1 && run.remedies == [] && run.error != nil)
        }
    }
}
