// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@testable import HWDCoding

/// Which HDR metadata of frames a session writes, and with which pictures.
@Suite struct FrameMetadataTests {
    /// The RPUs of a committed clip.
    private static let rpus: [[UInt8]] = {
        let clip = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Media/dolby_vision_81.hevc")
        let units = (try? Data(contentsOf: clip)).map { AnnexB.NALUnits([UInt8]($0)).map { Array($0) } } ?? []
        return units.filter { $0.first == 0x7C }
    }()

    private let light = FrameSideData(.contentLight, [3, 0xE8, 1, 0x90])

    private func configuration(_ properties: [String: PropertyValue] = [:]) throws -> EncoderConfiguration {
        let request = try CompressionRequest(
            codec: "hevc", width: 64, height: 64, pixelFormat: "P010", timeBase: try #require(Rational(1, 30)))
        var store = PropertyStore(backend: .x265)
        try store.set(properties, isOpen: false)
        return try EncoderConfiguration(request: request, properties: store)
    }

    /// The NAL unit types that `writer` makes of a picture with one slice.
    private func types(
        _ writer: inout FrameMetadataWriter, pts: Int64, isSync: Bool = false, level: UInt8 = 0
    ) throws -> [UInt8] {
        let type: UInt8 = isSync ? 20 : 1
        let sample: [UInt8] = [0, 0, 0, 3, type << 1, level + 1, 0x80]
        let picture = EncodedPicture(frameID: 1, pts: pts, dts: pts, nalUnitType: type, temporalLevel: level)
        var types: [UInt8] = []
        try writer.write(picture, sample.span.bytes) { (_, bytes) throws(SessionError) in
            let copy = bytes.withUnsafeBytes { Array($0) }
            do throws(BitstreamError) {
                var units = try LengthPrefixedNALUnits(copy[...])
                while let unit = try units.next() {
                    let header = try NALUnitHeader(nal: unit)
                    #expect(header.temporalID == Int(level))
                    types.append(header.nalUnitType.rawValue)
                }
            } catch { throw SessionError(.parameter, error.reason) }
        }
        return types
    }

    @Test func metadataStayWithTheirPicture() throws {
        try #require(Self.rpus.count > 3)
        var writer = FrameMetadataWriter(try configuration(["PreserveDynamicHDRMetadata": .bool(true)]))
        writer.add(FrameMetadata(sideData: [light, FrameSideData(.dolbyVisionRPU, Self.rpus[0])]), pts: 0)
        writer.add(FrameMetadata(sideData: [light]), pts: 1)
        writer.add(FrameMetadata(sideData: [light, FrameSideData(.dolbyVisionRPU, Self.rpus[1])]), pts: 2)
        // Static metadata are written with key frames alone.
        #expect(try types(&writer, pts: 0, isSync: true) == [39, 20, 62])
        #expect(try types(&writer, pts: 2, level: 1) == [1, 62])
        #expect(try types(&writer, pts: 1, level: 2) == [1])
        #expect(try types(&writer, pts: 2) == [1])
        #expect(writer.notes == [])
    }

    /// The payloads of the messages of a type that `writer` writes with a picture.
    private func payloads(
        _ writer: inout FrameMetadataWriter, _ type: Int, pts: Int64, isSync: Bool
    ) throws -> [[UInt8]] {
        let nalType: UInt8 = isSync ? 20 : 1
        let sample: [UInt8] = [0, 0, 0, 3, nalType << 1, 1, 0x80]
        let picture = EncodedPicture(frameID: 1, pts: pts, dts: pts, nalUnitType: nalType, temporalLevel: 0)
        var coded: [UInt8] = []
        try writer.write(picture, sample.span.bytes) { (_, bytes) throws(SessionError) in
            coded = bytes.withUnsafeBytes { Array($0) }
        }
        var (units, found) = (try LengthPrefixedNALUnits(coded[...]), [[UInt8]]())
        while let unit = try units.next() {
            guard unit.first == 0x4E else { continue }
            found += try SEI(nal: unit).messages.filter { $0.payloadType == type }.map(\.payload)
        }
        return found
    }

    @Test func staticMetadataOfOtherPicturesWaitForAKeyFrame() throws {
        var writer = FrameMetadataWriter(try configuration())
        let other = FrameSideData(.contentLight, [4, 0, 2, 0])
        for (pts, entry) in [(0, light), (1, other), (2, light), (3, other)] {
            writer.add(FrameMetadata(sideData: [entry]), pts: Int64(pts))
        }
        #expect(try payloads(&writer, 144, pts: 0, isSync: true) == [light.bytes])
        #expect(writer.notesVersion == 0)
        #expect(try payloads(&writer, 144, pts: 1, isSync: false) == [])
        #expect(writer.notesVersion == 1)
        #expect(try payloads(&writer, 144, pts: 2, isSync: false) == [])
        #expect(try payloads(&writer, 144, pts: 3, isSync: false) == [])
        #expect(
            writer.notes.count == 1 && writer.notes[0].contains("2 frames are")
                && writer.notes[0].contains("next key frame"))
        // Once, with the next key frame, whose own entries would have precedence.
        #expect(try payloads(&writer, 144, pts: 4, isSync: true) == [other.bytes])
        #expect(try payloads(&writer, 144, pts: 8, isSync: true) == [])
        // A leading picture belongs to the sequence before its key frame.
        writer.add(FrameMetadata(sideData: [light]), pts: 7)
        #expect(try payloads(&writer, 144, pts: 7, isSync: false) == [])
        #expect(writer.notes.count == 1 && writer.notes[0].contains("2 frames are"))
    }

    @Test func staticMetadataThatReturnDoNotWait() throws {
        var writer = FrameMetadataWriter(try configuration())
        let other = FrameSideData(.contentLight, [4, 0, 2, 0])
        for (pts, entry) in [(0, light), (1, other), (2, light)] {
            writer.add(FrameMetadata(sideData: [entry]), pts: Int64(pts))
        }
        #expect(try payloads(&writer, 144, pts: 0, isSync: true) == [light.bytes])
        for pts: Int64 in 1...2 { #expect(try payloads(&writer, 144, pts: pts, isSync: false) == []) }
        #expect(try payloads(&writer, 144, pts: 4, isSync: true) == [])
    }

    @Test func metadataThatTheStreamContradictsAreNamed() throws {
        var writer = FrameMetadataWriter(try configuration())
        writer.add(FrameMetadata(sideData: [light]), pts: 0)
        var sample: [UInt8] = []
        let own = SEIMessage(payloadType: 144, payload: [1, 0, 1, 0])
        for unit in [try SEI(messages: [own]).nalUnit(), [0x28, 1, 0x80]] {
            try LengthPrefixedNALUnits.append(unit, to: &sample)
        }
        let picture = EncodedPicture(frameID: 1, pts: 0, dts: 0, nalUnitType: 20, temporalLevel: 0)
        var coded: [UInt8] = []
        try writer.write(picture, sample.span.bytes) { (_, bytes) throws(SessionError) in
            coded = bytes.withUnsafeBytes { Array($0) }
        }
        #expect(coded == sample && writer.notes.count == 1 && writer.notes[0].contains("other values"))
    }

    /// Captions are no HDR metadata.
    @Test func captionsAreWrittenInEveryMode() throws {
        let captions = try SEIMessage(.closedCaptions(ClosedCaptions(constructs: [.init(bytes: [0x94, 0x2C])])))
        let entry = FrameSideData(.closedCaptions, captions.payload)
        for mode in ["Auto", "None"] {
            var writer = FrameMetadataWriter(try configuration(["HDRMetadataInsertionMode": .string(mode)]))
            writer.add(FrameMetadata(sideData: [entry]), pts: 0)
            #expect(try payloads(&writer, 4, pts: 0, isSync: false) == [captions.payload] && writer.notes == [])
            writer.add(FrameMetadata(sideData: [FrameSideData(.closedCaptions, [0xB5, 0, 0x31, 1])]), pts: 1)
            #expect(try payloads(&writer, 4, pts: 1, isSync: false) == [] && writer.notes.count == 1)
        }
    }

    @Test func stillsGetNoGeneratedRPU() throws {
        let hlg: [String: PropertyValue] = ["TransferFunction": .string("ITU_R_2100_HLG")]
        func generates(_ properties: [String: PropertyValue]) throws -> Bool {
            try configuration(hlg.merging(properties) { $1 }).generatesRPU
        }
        #expect(try generates([:]))
        #expect(try generates(["SourceFrameCount": .int(2)]))
        #expect(try !generates(["SourceFrameCount": .int(1)]))
        #expect(try !generates(["HDRMetadataInsertionMode": .string("None")]))
    }

    @Test func noneIsWrittenInModeNone() throws {
        let properties: [String: PropertyValue] = [
            "PreserveDynamicHDRMetadata": .bool(true), "HDRMetadataInsertionMode": .string("None"),
        ]
        var writer = FrameMetadataWriter(try configuration(properties))
        writer.add(FrameMetadata(sideData: [light, FrameSideData(.dolbyVisionRPU, Self.rpus[0])]), pts: 0)
        #expect(try types(&writer, pts: 0, isSync: true) == [20])
    }

    @Test func dynamicMetadataAreLeftOutUnlessTheyArePreserved() throws {
        var writer = FrameMetadataWriter(try configuration())
        writer.add(FrameMetadata(sideData: [light, FrameSideData(.dolbyVisionRPU, Self.rpus[0])]), pts: 0)
        #expect(try types(&writer, pts: 0, isSync: true) == [39, 20])
        #expect(writer.notes.count == 1 && writer.notes[0].contains("PreserveDynamicHDRMetadata"))
    }

    /// The bytes are a client's: what cannot be read is left out and reported, and the frame is coded.
    @Test func damagedMetadataAreLeftOut() throws {
        var writer = FrameMetadataWriter(try configuration(["PreserveDynamicHDRMetadata": .bool(true)]))
        var damaged = Self.rpus[0]
        damaged[10] ^= 1
        let entries: [[UInt8]] = [[], [0x7C], [0x02, 0x01, 0x19], Array(Self.rpus[0].dropLast(9)), damaged]
        for (index, bytes) in entries.enumerated() {
            writer.add(FrameMetadata(sideData: [FrameSideData(.dolbyVisionRPU, bytes)]), pts: Int64(index))
        }
        writer.add(FrameMetadata(sideData: [FrameSideData(.hdr10Plus, [0xB5, 0, 0x3C, 0, 1, 4, 1])]), pts: 9)
        #expect(try types(&writer, pts: 9) == [1])
        for pts in entries.indices { #expect(try types(&writer, pts: Int64(pts)) == [1], "entry \(pts)") }
        #expect(writer.notes.allSatisfy { $0.contains("not written") })
        let counts = writer.notes.compactMap { $0.split(separator: " ").compactMap { Int($0) }.first }
        #expect(counts.reduce(0, +) == 6, "\(writer.notes)")
    }

    /// A reason quotes bytes of the stream, so that the notes must not have one for each reason.
    @Test func notesAreBounded() throws {
        var writer = FrameMetadataWriter(try configuration(["PreserveDynamicHDRMetadata": .bool(true)]))
        for number in 0..<500 {
            let bytes = [UInt8](repeating: 0, count: 16385 + number)
            let entry = FrameSideData(.hdr10Plus, bytes)
            writer.add(FrameMetadata(sideData: [entry, entry]), pts: Int64(number))
        }
        #expect(writer.notes.count == 1 && writer.notes[0].contains(" 500 frames"), "\(writer.notes)")
        #expect(writer.notes.allSatisfy { $0.utf8.count < 256 })
    }

    @Test func framesOfAnotherColorThanTheStreamsAreRefused() throws {
        let request = try CompressionRequest(
            codec: "hevc", width: 64, height: 64, pixelFormat: "NV12", timeBase: try #require(Rational(1, 30)))
        var session = try CompressionAdmission(request: request, properties: PropertyStore(backend: .x265))
        try session.setProperties(["TransferFunction": .string("SMPTE_ST_2084_PQ")])
        _ = try session.prepare()
        var pools = PoolLedger<Void>(maxBytes: 1 << 20)
        try pools.add(1, (), size: 65536, isWritable: false)
        func frame(_ number: Int64, _ color: ColorDescription) -> EncodeFrame {
            EncodeFrame(
                frameID: UInt64(number), pts: number, duration: 1, poolID: 1,
                layout: FrameLayout.packed(.nv12, width: 64, height: 64).layout,
                metadata: FrameMetadata(color: color))
        }
        try session.admit(frame(0, ColorDescription(primaries: 9, transfer: 16, matrix: 9)), in: pools)
        for color in [
            ColorDescription(primaries: 9, transfer: 18, matrix: 9),
            ColorDescription(primaries: 9, transfer: 16, matrix: 9, isFullRange: true),
        ] {
            let error = #expect(throws: SessionError.self) { try session.admit(frame(1, color), in: pools) }
            #expect(error?.status == .parameter && error?.reason.contains("color") == true)
        }
    }
}
