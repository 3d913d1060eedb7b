// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDPolicy

/// Requests, properties and exports of hevc-with-alpha sessions.
@Suite struct AlphaTests {
    private func request(_ format: String = "YUVA", codec: String = "hevc-with-alpha") throws -> CompressionRequest
    {
        try CompressionRequest(codec: codec, width: 640, height: 360, pixelFormat: format, timeBase: Rational(1))
    }

    @Test func refusesPixelFormatsThatTheCodecExcludes() throws {
        #expect(try request().hasAlpha && request().bitDepth == 8)
        #expect(try !request("NV12", codec: "hevc").hasAlpha)
        for (format, codec, fragment) in [
            ("NV12", "hevc-with-alpha", "not one of YUVA"), ("YUVA", "hevc", "which hevc supports"),
            ("P010", "hevc-with-alpha", "YUVA, AB4H"),
        ] {
            let error = #expect(throws: SessionError.self) { try request(format, codec: codec) }
            #expect(
                error?.status == .parameter && error?.reason.contains(fragment) == true, "\(error?.reason ?? "")")
        }
        let error = #expect(throws: SessionError.self) { try request("YUVA", codec: "prores") }
        #expect(error?.status == .couldNotFindVideoEncoder)
    }

    @Test func refusesAlphaPropertiesInSessionsWithoutAlpha() throws {
        var store = PropertyStore(backend: .x265)
        for row in PropertyTable.compression where row.isForAlpha {
            let error = #expect(throws: SessionError.self) {
                try store.set([row.key.rawValue: row.defaultValue ?? .string("straight")], isOpen: false)
            }
            #expect(error?.status == .propertyNotSupported && error?.reason.contains("hevc-with-alpha") == true)
        }
        #expect(try store.copy([])["AlphaChannelMode"] == nil)
        #expect(
            try PropertyStore(backend: .vaapi, hasAlpha: true).copy([])["AlphaChannelMode"]
                == .string("premultiplied"))
    }

    @Test func reportsBeforehandWhatCannotBeExported() {
        let good = AlphaExport.Source(hasAlpha: true, width: 1920, height: 1080)
        #expect(AlphaExport.check(good) == AlphaExport.Verdict())
        let main10 = AlphaExport.Settings(profileLevel: ProfileLevel(.main10), fileEnding: "webm")
        #expect(AlphaExport.check(good, main10).reasons.count == 2)
        let opaque = AlphaExport.Source(hasAlpha: false, width: 20000, height: 1080)
        #expect(AlphaExport.check(opaque).reasons.count == 2 && !AlphaExport.check(opaque).isPossible)
        let deep = AlphaExport.Source(
            hasAlpha: true, width: 64, height: 64, bitDepth: 12,
            color: ColorDescription(transfer: 16, isFullRange: true))
        let verdict = AlphaExport.check(deep, AlphaExport.Settings(fileEnding: "hevc"))
        #expect(verdict.isPossible && verdict.notes.count == 4)
    }
}
