// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

@Suite struct DolbyVisionHostileTests {
    /// An RPU whose payload is changed and whose CRC matches again.
    private static func changed(_ nal: [UInt8], _ change: (inout [UInt8]) -> Void) -> [UInt8] {
        let rbsp = EmulationPrevention.remove(from: nal[2...])
        var payload = Array(rbsp[1..<(rbsp.count - 5)])
        change(&payload)
        let crc = CRC32.mpeg2(payload)
        let bytes = [25] + payload + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: crc >> $0) } + [0x80]
        return [0x7C, 1] + EmulationPrevention.insert(into: bytes)
    }

    @Test func refusesAWrongCRC() throws {
        var nal = try DolbyVisionTests.rpus("dolby_vision_84.mov")[0]
        nal[100] ^= 1
        #expect(throws: BitstreamError.self) { try DolbyVisionRPU(nal: nal) }
    }

    @Test(
        "Refuses what is no RPU",
        arguments: [[], [0x7C], [0x7C, 1], [0x7C, 1, 25, 0x80], [0x4E, 1, 25, 1, 2, 3, 4, 5, 6, 0x80]])
    func refusesOtherBytes(nal: [UInt8]) {
        #expect(throws: BitstreamError.self) { try DolbyVisionRPU(nal: nal) }
    }

    @Test func refusesWhatIsTooLarge() throws {
        var rpu = try DolbyVisionRPU(nal: DolbyVisionTests.rpus("dolby_vision_84.mov")[0])
        rpu.remainder = [UInt8](repeating: 0xFF, count: DolbyVisionRPU.maxSize)
        #expect(throws: BitstreamError.self) { try rpu.nalUnit() }
        let nal = Self.changed(try DolbyVisionTests.rpus("dolby_vision_84.mov")[0]) { $0 += rpu.remainder }
        #expect(throws: BitstreamError.self) { try DolbyVisionRPU(nal: nal) }
    }

    @Test func refusesAmbiguousLists() throws {
        var rpu = try DolbyVisionRPU(nal: DolbyVisionTests.rpus("dolby_vision_84.mov")[0])
        rpu.displayManagement?.extension2 = []
        #expect(throws: BitstreamError.self) { try rpu.nalUnit() }
        rpu.displayManagement?.extension2 = nil
        #expect(try DolbyVisionRPU(nal: rpu.nalUnit()) == rpu)
        rpu.remainder = [1, 2]
        #expect(throws: BitstreamError.self) { try rpu.nalUnit() }
    }

    @Test func throwsOrAcceptsMutationsWithAMatchingCRC() throws {
        let seeds = try [
            DolbyVisionTests.rpus("dolby_vision_84.mov")[0], DolbyVisionTests.rpus("dolby_vision_81.hevc")[1],
            DolbyVisionGenerator(.profile84).rpu(light: RPULight(max: 3000, average: 2000)).nalUnit(),
        ]
        var (random, accepted, refused) = (HostileInputTests.Generator(state: 84), 0, 0)
        for round in 0..<6000 {
            let nal = Self.changed(seeds[round % seeds.count]) { payload in
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    payload[Int.random(in: 0..<payload.count, using: &random)] = UInt8.random(
                        in: 0...255, using: &random)
                }
                if round % 5 == 0 { payload.removeLast(Int.random(in: 1..<payload.count, using: &random)) }
            }
            do throws(BitstreamError) {
                let rpu = try DolbyVisionRPU(nal: nal)
                #expect(try rpu.nalUnit() == nal)
                accepted += 1
            } catch {
                #expect(!error.reason.isEmpty)
                refused += 1
            }
        }
        #expect(accepted > 500 && refused > 500, "\(accepted) accepted, \(refused) refused")
    }
}
