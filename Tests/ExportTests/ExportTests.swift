// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDExport

@Suite struct ExportTests {
    private let catalogue = ExportCatalogue.builtIn

    @Test func thePresetsOfThisVersionAreFoundByEachOfTheirNames() throws {
        #expect(catalogue.presets.count >= 10)
        for preset in catalogue.presets {
            #expect(catalogue.preset(preset.name)?.name == preset.name)
            #expect(catalogue.preset("AVAssetExportPreset" + preset.name)?.name == preset.name)
            if let short = preset.short { #expect(catalogue.preset(short.uppercased())?.name == preset.name) }
            #expect(preset.summary.utf8.count <= 200)
        }
        #expect(catalogue.preset("none") == nil)
    }

    @Test(arguments: [
        (1280, 720, "1280x720"), (1920, 1080, "1920x1080"), (3840, 2160, "1920x1080"), (2160, 3840, "1080x1920"),
        (4096, 2160, "1920x1012"), (1920, 1440, "1440x1080"), (5000, 100, "1920x38"), (853, 480, "853x480"),
    ])
    func sizesFitTheBoxAndNeverGrow(_ width: Int, _ height: Int, _ expected: String) throws {
        let preset = try #require(catalogue.preset("HEVC1920x1080"))
        #expect(preset.size(of: ExportPreset.Size(width: width, height: height)).description == expected)
    }

    @Test func ratesFollowSizesAndFrameRates() throws {
        let rates = catalogue.rates
        func bits(_ width: Int, _ height: Int, _ rate: Double?, depth: Int = 8, alpha: Bool = false) -> Int64 {
            rates.bitsPerSecond(
                ExportPreset.Size(width: width, height: height), frameRate: rate, bitDepth: depth, alpha: alpha)
        }
        #expect(bits(1920, 1080, 30) == 6_000_000 && bits(1280, 720, nil) == 3_000_000)
        #expect((18_000_000...18_001_000).contains(bits(3840, 2160, 30)))
        #expect(bits(1920, 1080, 60) > 8_000_000 && bits(1920, 1080, 60) < 12_000_000)
        #expect(bits(1920, 1080, 30, depth: 10) == 6_600_000 && bits(1920, 1080, 30, alpha: true) == 7_500_000)
        var last: Int64 = 0
        for height in stride(from: 16, through: 8640, by: 16) {
            let next = bits(height * 16 / 9, height, 30)
            #expect(next >= last && next > 0)
            last = next
        }
        #expect(bits(1, 1, 0.001) >= 1000)
    }

    @Test func verdictsSayWhyAPresetDoesNotFit() throws {
        let plain = ExportSource(width: 3840, height: 2160, frameRate: 25)
        func reason(_ name: String, _ source: ExportSource, scales: Bool = true) throws -> String? {
            ExportCompatibility(try #require(catalogue.preset(name)), source, scales: scales).reason
        }
        #expect(try reason("HEVCHighestQuality", plain) == nil)
        #expect(try reason("web-alpha", plain) == "the source has no alpha")
        #expect(try reason("slow-motion", plain) == "the source has 25.00 frames per second, fewer than 100")
        #expect(try reason("hevc-1080p", plain) == nil)
        #expect(try reason("hevc-1080p", plain, scales: false)?.contains("scaled to 1920x1080") == true)
        let fast = ExportSource(width: 1280, height: 720, frameRate: 240, hasAlpha: true)
        let misfits = ExportCompatibility.all(for: fast, scales: false).filter { !$0.fits }
        #expect(misfits.isEmpty)
    }

    @Test func propertiesAreThoseOfTheSource() throws {
        let source = ExportSource(width: 1920, height: 1080, frameRate: 30, hasAlpha: true)
        let web = try #require(catalogue.preset("web-alpha")).properties(for: source, catalogue.rates)
        #expect(web["AverageBitRate"] == .int(7_500_000) && web["AlphaChannelMode"] == .string("premultiplied"))
        let best = try #require(catalogue.preset("archive")).properties(for: source, catalogue.rates)
        #expect(best["PrioritizeEncodingSpeedOverQuality"] == .bool(false) && best["Quality"] == .double(0.75))
    }

    @Test func documentsOfAdministratorsAddAndReplace() throws {
        var mine = catalogue
        let document =
            #"{"schema":1,"presets":[{"name":"Archive","summary":"ours","properties":{"QP":18}},{"name":"House","summary":"new"}]}"#
        try mine.merge(Array(document.utf8))
        #expect(mine.presets.count == catalogue.presets.count + 1)
        #expect(mine.preset("archive")?.properties == ["QP": .int(18)] && mine.preset("house") != nil)
        #expect(mine.rates == catalogue.rates)
    }

    @Test(arguments: [
        #"{"schema":2}"#, "{", #"{"schema":1,"presets":[{"name":"a b","summary":""}]}"#,
        #"{"schema":1,"presets":[{"name":"a","summary":"","max_size":[0,9]}]}"#,
        #"{"schema":1,"presets":[{"summary":"no name"}]}"#,
        #"{"schema":1,"rates":{"frame_rate":30,"frame_rate_exponent":0.5,"ten_bit_factor":1,"alpha_factor":1,"points":[[9,9],[8,8]]}}"#,
    ])
    func damagedDocumentsAreRefusedWhole(_ document: String) {
        var mine = catalogue
        #expect(throws: ExportCatalogue.Fault.self) { try mine.merge(Array(document.utf8)) }
        #expect(mine == catalogue)
    }

    @Test(arguments: [
        (#"{"schema":1,"presets":[{"name":"a","summary":"","max_sise":[64,64]}]}"#, "max_sise"),
        (#"{"schema":1,"preset":[]}"#, "preset"),
        (
            #"{"schema":1,"rates":{"frame_rate":30,"frame_rate_exponent":0.5,"ten_bit_factor":1,"alpha_factor":1,"point":[]}}"#,
            "rates.point"
        ),
    ])
    func unknownFieldsAreRefusedByName(_ document: String, _ name: String) {
        var mine = catalogue
        let fault = #expect(throws: ExportCatalogue.Fault.self) { try mine.merge(Array(document.utf8)) }
        #expect(fault?.description.hasSuffix("\(name) is unknown") == true, "\(String(describing: fault))")
        #expect(mine == catalogue)
    }

    @Test func presetsThatReducePicturesTooMuchDoNotFit() throws {
        var mine = catalogue
        let document = #"{"schema":1,"presets":[{"name":"Icon","summary":"small","max_size":[64,64]}]}"#
        try mine.merge(Array(document.utf8))
        let icon = try #require(mine.preset("icon"))
        #expect(ExportCompatibility(icon, ExportSource(width: 512, height: 256, frameRate: 25)).fits)
        let reason = ExportCompatibility(icon, ExportSource(width: 1920, height: 1080, frameRate: 25)).reason
        #expect(reason == "the source is 1920x1080, and pictures are reduced to an eighth at most, not to 64x36")
    }
}
