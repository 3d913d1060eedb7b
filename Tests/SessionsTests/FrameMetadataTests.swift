// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEVC
import HWDModel
import Testing

@testable import HWDSessions

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
        var session = CompressionSession(request: request, properties: PropertyStore(backend: .x265))
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
