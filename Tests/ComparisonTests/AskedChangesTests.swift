// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEdits
import HWDModel
import Testing

@testable import HWDComparison
@testable import HWDMetadata

/// Which losses are expected of an output that was made with changes.
@Suite struct AskedChangesTests {
    private static let metadata = ["mastering", "light", "ambient", "dolby-vision", "rpu", "hdr10+"]

    private func expected(_ list: String, _ change: AskedChanges.ColorChange) throws -> [String] {
        let asked = try AskedChanges(text: list)
        return FileContent.compared.map(\.rawValue).filter { asked.reason(for: $0, change) != nil }
    }

    @Test func listsAreParsedAndWritten() throws {
        for list in [
            "", "color,size", "audio,hdr=sdr,max-level=2,alpha-mode=premultiplied", "color,retag,hdr=drop",
            "audio,start=0.4,duration=1.3,key-frame", "size,crop=100:50:2:4,rotate=90",
        ] {
            #expect(try AskedChanges(text: list).texts.joined(separator: ",") == list)
        }
        for list in [
            "colour", "hdr=bright", "max-level=7", "retag=1", "alpha-mode=none", "size=2", "crop=1:2:3",
            "crop=0:2:0:0", "rotate=45",
        ] {
            #expect(throws: MediaError.self) { try AskedChanges(text: list) }
        }
    }

    /// Metadata of a color are lost with it, and only then; a profile also where the color only gets a name.
    @Test func metadataOfAChangedColor() throws {
        #expect(try expected("color", .none) == ["color", "icc"])
        #expect(try expected("color", .samples) == ["color", "icc", "dolby-vision", "rpu", "hdr10+"])
        #expect(try expected("color", .points) == ["color", "icc"] + Self.metadata)
        #expect(try expected("hdr=sdr", .none) == [])
        #expect(try expected("hdr=sdr", .points) == ["depth", "icc"] + Self.metadata)
        #expect(try expected("hdr=pq", .points) == ["icc"] + Self.metadata)
        #expect(try expected("hdr=regenerate", .none) == ["dolby-vision", "rpu", "hdr10+"])
        #expect(try expected("hdr=drop", .none) == Self.metadata)
        #expect(try expected("hdr=preserve", .points) == [])
        #expect(try expected("size", .none) == ["size", "rpu", "hdr10+"])
        #expect(try expected("crop=64:64:0:0", .none) == ["size", "dolby-vision", "rpu", "hdr10+", "projection"])
        #expect(try expected("rotate=180", .none) == ["size", "dolby-vision", "rpu", "hdr10+", "projection"])
    }

    @Test func changesOfColors() {
        let hlg = ColorDescription(primaries: 9, transfer: 18, matrix: 9, chromaLocation: 2)
        var other = hlg
        #expect(AskedChanges.ColorChange(hlg, other) == .none)
        other.chromaLocation = 0
        #expect(AskedChanges.ColorChange(hlg, other) == .samples)
        other.transfer = 16
        #expect(AskedChanges.ColorChange(hlg, other) == .points)
        // What was not described did not change.
        #expect(AskedChanges.ColorChange(ColorDescription(), hlg) == .none)
    }
}
