// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEIF
import Testing

@Suite struct ExifTests {
    private func exif(_ name: String) throws -> [UInt8] {
        let source = try Clips.source(name.hasPrefix("/") ? name : Clips.path(name))
        let file = try HEIFFile(source)
        let primary = try #require(file.primary)
        let item = try #require(file.metadata(of: primary).first { $0.kind == .exif })
        return try file.exif(item.id, from: source)
    }

    /// Values of exiftool 12.57 (-n).
    @Test(.needsMediaSet) func readsWhatExiftoolReads() throws {
        let arrow = try #require(ExifFields(tiff: exif("still_arrow.heic")))
        #expect(arrow.make == "Apple" && arrow.model == "iPhone 8 Plus" && arrow.software == "11.4.1")
        #expect(arrow.orientation == 6 && arrow.isoSpeed == 25 && arrow.date == "2018:07:31 14:52:07")
        #expect(arrow.lens == "iPhone 8 Plus back dual camera 3.99mm f/1.8" && arrow.exposureTime == 1.0 / 33)
        #expect(arrow.fNumber == 1.8 && arrow.focalLength == 3.99)
        let sony = try #require(ExifFields(tiff: exif("still_exif_xmp.heic")))
        #expect(sony.make == "SONY" && sony.model == "ILCE-7SM3" && sony.orientation == nil && sony.isoSpeed == 80)
        #expect(sony.exposureTime == 0.005 && sony.fNumber == 3.2 && sony.lens == "FE 24-70mm F2.8 GM")
        let plain = try #require(ExifFields(tiff: exif("heic/C034_exif_no_offset.heic")))
        #expect(plain.date == "2016:02:15 09:37:31" && plain.make == nil)
    }

    @Test func theOrientationAloneIsReplaced() throws {
        let tiff = try exif(Clips.still)
        for isLittle in [true, false] {
            var bytes = WritingTests.tiff(orientation: 6)
            if !isLittle {
                bytes = [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
            }
            #expect(ExifFields(tiff: bytes)?.orientation == 6)
            let upright = try #require(ExifFields.replacingOrientation(in: bytes, with: 1))
            #expect(ExifFields(tiff: upright)?.orientation == 1)
            #expect(zip(bytes, upright).count { $0 != $1 } == 1 && upright.count == bytes.count)
        }
        #expect(ExifFields.replacingOrientation(in: [1, 2, 3], with: 1) == nil)
        #expect(ExifFields.replacingOrientation(in: tiff, with: 1)?.count == tiff.count)
    }

    @Test func theIdentifierOfALivePhotoIsAddedAndReplaced() throws {
        let camera = try exif(Clips.still)
        let fields = try #require(ExifFields(tiff: camera))
        for tiff in [camera, WritingTests.tiff(orientation: 6), nil] {
            var editor = try #require(tiff.map { ExifEditor($0) } ?? ExifEditor())
            for identifier in ["FIRST", "01234567-89AB-4CDE-8F01-23456789ABCD"] {
                _ = try editor.setContentIdentifier(identifier)
                #expect(ExifFields(tiff: editor.tiff)?.contentIdentifier == identifier)
            }
            guard let tiff else { continue }
            let after = try #require(ExifFields(tiff: editor.tiff))
            #expect(after.orientation == ExifFields(tiff: tiff)?.orientation)
            if tiff == camera { #expect(after.make == fields.make && after.exposureTime == fields.exposureTime) }
        }
        #expect(ExifEditor([1, 2, 3]) == nil)
    }

    @Test func theTimeIsAdded() throws {
        for tiff in [WritingTests.tiff(orientation: 6), nil] {
            var editor = try #require(tiff.map { ExifEditor($0) } ?? ExifEditor())
            try editor.setDateTaken("2023:06:01 12:00:00", microseconds: 1234, offset: "-03:30")
            let fields = try #require(ExifFields(tiff: editor.tiff))
            #expect(fields.date == "2023:06:01 12:00:00")
            #expect(fields.orientation == tiff.flatMap { ExifFields(tiff: $0) }?.orientation)
            for text in ["001234", "-03:30"] {
                let bytes = Array(text.utf8) + [0]
                #expect(editor.tiff.indices.contains { editor.tiff[$0...].starts(with: bytes) }, "\(text)")
            }
        }
    }

    /// A TIFF file keeps what describes the photograph, with its GPS directory, and loses its samples.
    @Test func samplesOfTIFFAreLeftOut() throws {
        func field(_ tag: Int, _ type: Int, _ count: Int, _ value: Int) -> [UInt8] {
            [tag & 255, tag >> 8, type, 0, count, 0, 0, 0, value & 255, value >> 8, 0, 0].map { UInt8($0) }
        }
        let fields = [
            field(0x0100, 4, 1, 4), field(0x010F, 2, 5, 92), field(0x0111, 4, 1, 134), field(0x0112, 3, 1, 6),
            field(0x0117, 4, 1, 8), field(0x8825, 4, 1, 98),
        ]
        var tiff: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 6, 0] + fields.joined() + [0, 0, 0, 0]
        tiff += [UInt8](repeating: 0, count: 92 - tiff.count) + Array("Make".utf8) + [0, 0]
        tiff += [1, 0] + field(1, 2, 2, 78) + [0, 0, 0, 0]
        tiff += [UInt8](repeating: 0, count: 134 - tiff.count) + [0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB]
        let kept = try #require(ExifFields.withoutSamples(in: tiff))
        let read = try #require(ExifFields(tiff: kept))
        #expect(read.make == "Make" && read.orientation == 6 && !kept.contains(0xAB) && kept.count < tiff.count)
        #expect(kept.indices.contains { kept[$0...].starts(with: field(1, 2, 2, 78)) })
        // Nothing but the samples: no Exif. A structure without samples is kept as it is.
        let bare = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0] + field(0x0111, 4, 1, 26) + [0, 0, 0, 0]
        #expect(ExifFields.withoutSamples(in: bare) == nil)
        let plain = WritingTests.tiff(orientation: 3)
        #expect(ExifFields.withoutSamples(in: plain) == plain)
        for length in 0..<tiff.count { _ = ExifFields.withoutSamples(in: Array(tiff.prefix(length))) }
    }

    /// A directory that names itself in every field costs no more than one that does so once.
    @Test func directoriesThatNameThemselvesAreCopiedOnce() throws {
        let count = 1000
        func field(_ tag: Int, _ type: Int, _ value: Int) -> [UInt8] {
            [tag & 255, tag >> 8, type, 0, 1, 0, 0, 0, value & 255, value >> 8, 0, 0].map { UInt8($0) }
        }
        var tiff: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0, UInt8(count & 255), UInt8(count >> 8)]
        tiff += field(0x0111, 4, 8) + field(0x0112, 3, 6)
        for _ in 2..<count { tiff += field(0x8769, 4, 8) }
        tiff += [0, 0, 0, 0]
        let kept = try #require(ExifFields.withoutSamples(in: tiff))
        #expect(ExifFields(tiff: kept)?.orientation == 6 && kept.count < 200, "\(kept.count) bytes")
    }

    @Test func exifOfABurstHasANumberOfItsOwn() throws {
        let bytes = try WritingTests.make(.burst).bytes()
        let file = try HEIFFile(MemorySource(bytes))
        let primary = try #require(file.primary)
        let edit = try file.replacingExif(of: primary, with: ExifEditor().tiff, from: MemorySource(bytes))
        var changed = bytes + edit.appended
        for patch in edit.patches {
            changed.replaceSubrange(Int(patch.offset)..<Int(patch.offset) + patch.bytes.count, with: patch.bytes)
        }
        let after = try HEIFFile(MemorySource(changed))
        let numbers = after.items.map(\.id) + after.groups.map(\.id)
        #expect(after.groups.count == 1 && after.items.count == file.items.count + 1)
        #expect(Set(numbers).count == numbers.count, "\(numbers)")
        #expect(after.metadata(of: primary).map(\.kind) == [.exif])
    }

    @Test func everyPrefixAndMutationIsReadOrRefused() throws {
        let tiff = try exif(Clips.still)
        for length in 0..<tiff.count { _ = ExifFields(tiff: Array(tiff.prefix(length))) }
        var random = SplitMix(state: 1)
        var read = 0
        for _ in 0..<5000 {
            var bytes = tiff
            for _ in 0..<3 {
                bytes[Int.random(in: 4..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            read += ExifFields(tiff: bytes) == nil ? 0 : 1
            guard var editor = ExifEditor(bytes), (try? editor.setContentIdentifier("X")) != nil else { continue }
            #expect(ExifFields(tiff: editor.tiff)?.contentIdentifier == "X")
        }
        #expect(read == 5000)
    }
}
