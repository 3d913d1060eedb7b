// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDPolicy
import Testing

@testable import HWDProbing

/// Errors of overrides that are merged into the catalogue.
@Suite struct CatalogueTests {
    @Test(
        "An error names the entry by its id, not by its number behind the entries of this version",
        arguments: [
            (#""quirks": [{"id": "local", "why": "w"}]"#, "local: driver is missing"),
            (#""quirks": [{"id": "local", "driver": "x"}]"#, "local: why is missing"),
            (
                #""quirks": [{"id": "a", "driver": "x", "why": "w"}, {"id": "b", "driver": 7, "why": "w"}]"#,
                "b: driver is of the wrong type"
            ),
            (
                #""quirks": [{"id": "a", "driver": "x", "why": "w", "sandbox": "loose"}]"#,
                "a: sandbox is not valid"
            ),
            (
                #""quirks": [{"id": "a", "driver": "x", "why": "w", "versions": {"from": 25}}]"#,
                "a: versions.from is of the wrong type"
            ),
            (
                #""paths": [{"id": "hevc-main-decode", "enabled": "no"}]"#,
                "hevc-main-decode: enabled is of the wrong type"
            ),
            (#""paths": [{"id": "new", "codec": "hevc"}]"#, "new: operation is missing"),
            (
                #""paths": [{"id": "hevc-main-encode", "bit_depth": 9}]"#,
                "hevc-main-encode: bit_depth is 9, not 8 or 10"
            ),
        ])
    func names(_ fields: String, _ reason: String) throws {
        func document(_ text: String) throws -> PropertyValue {
            try JSONDecoder().decode(PropertyValue.self, from: Data(text.utf8))
        }
        let own = try document(Capabilities.embeddedDocument)
        #expect(throws: Never.self) { try Catalogue.decode(own) }
        let merged = try Capabilities.merge(document("{\"schema\": 1, \(fields)}"), over: own)
        let error = #expect(throws: SessionError.self) { try Catalogue.decode(merged) }
        #expect(error?.reason == reason)
    }
}
