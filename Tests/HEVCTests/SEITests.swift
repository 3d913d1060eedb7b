// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDHEVC

@Suite struct SEITests {
    @Test func readsMasteringDisplayAndLightLevelOfTheEncoder() throws {
        let variant = try #require(Variant.all.first { $0.name == "ten bits, HDR" })
        var found: (MasteringDisplayColourVolume?, ContentLightLevelInfo?)
        for message in try Inspection(try variant.encode()).messages {
            switch try message.interpreted() {
            case .masteringDisplayColourVolume(let volume): found.0 = volume
            case .contentLightLevelInfo(let level): found.1 = level
            default: break
            }
        }
        let volume = try #require(found.0)
        #expect(
            volume.displayPrimaries == [
                Chromaticity(x: 13250, y: 34500), Chromaticity(x: 7500, y: 3000), Chromaticity(x: 34000, y: 16000),
            ])
        #expect(volume.whitePoint == Chromaticity(x: 15635, y: 16450))
        #expect(volume.maxDisplayMasteringLuminance == 10_000_000 && volume.minDisplayMasteringLuminance == 1)
        #expect(found.1 == ContentLightLevelInfo(maxContentLightLevel: 1000, maxPicAverageLightLevel: 400))
    }

    @Test func readsAnMD5HashOfEveryPicture() throws {
        let variant = try #require(Variant.all.first { $0.name.contains("hashes") })
        let hashes = try Inspection(try variant.encode()).messages.filter { $0.payloadType == 132 }
        #expect(hashes.count == 24)
        for hash in hashes {
            guard case .decodedPictureHash(let value) = try hash.interpreted() else {
                Issue.record("payload type 132 is not interpreted as a picture hash")
                continue
            }
            #expect(value.hashType == 0 && value.planes.count == 3)
        }
    }

    @Test func readsHDRMessagesOfClips() throws {
        let transfer = try Inspection(try Clips.annexB("hlg.mov")).messages.compactMap { message -> Int? in
            guard case .alternativeTransferCharacteristics(let code) = try message.interpreted() else { return nil }
            return code
        }
        #expect(transfer.contains(18))
        let payloadTypes = try Inspection(try Clips.annexB("pq.mov")).messages.map(\.payloadType)
        #expect(Set([137, 144]).isSubset(of: Set(payloadTypes)))
    }

    @Test(
        "Alpha channel information has the published bytes",
        arguments: [(0, "4e01a50400007f9080"), (1, "4e01a50410007f9080")])
    func alphaChannelInfo(use: Int, hex: String) throws {
        let info = AlphaChannelInfo(alphaChannelUseIdc: use)
        let nal = try SEI(messages: [SEIMessage(.alphaChannelInfo(info))]).nalUnit()
        #expect(Hexadecimal.text(nal) == hex)
        #expect(try SEI(nal: nal).messages.first?.interpreted() == .alphaChannelInfo(info))
    }

    @Test func writesLongTypesAndSizesWithExtensionBytes() throws {
        let sei = SEI(messages: [
            SEIMessage(payloadType: 700, payload: [UInt8](repeating: 0, count: 255)),
            try SEIMessage(.userDataUnregistered(uuid: Array(0..<16), data: [1, 2, 3])),
        ])
        let nal = try sei.nalUnit()
        #expect(nal.starts(with: [0x4E, 1, 255, 255, 190, 255, 0, 0, 3, 0, 0, 3]))
        #expect(try SEI(nal: nal) == sei)
    }

    @Test(
        "Refuses malformed messages",
        arguments: [[0x4E, 1], [0x4E, 1, 0x80], [0x4E, 1, 5, 9, 1, 0x80], [0x4E, 1, 255, 255]])
    func refusesMalformedMessages(nal: [UInt8]) {
        #expect(throws: BitstreamError.self) { try SEI(nal: nal) }
    }
}
