// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDPolicy
import Testing

/// A catalogue merged from several files.
private func merged(_ texts: String...) throws -> Capabilities {
    var document = Capabilities.emptyDocument
    for text in texts {
        document = try Capabilities.merge(
            JSONDecoder().decode(PropertyValue.self, from: Data(text.utf8)), over: document)
    }
    let capabilities = try JSONDecoder().decode(Capabilities.self, from: JSONEncoder().encode(document))
    try capabilities.validate()
    return capabilities
}

private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../..").standardizedFileURL

/// Vendor strings of drivers.
private enum Vendor {
    static let mesa22 =
        "Mesa Gallium driver 22.3.6 for AMD Radeon RX 580 Series (polaris10, LLVM 15.0.6, DRM 3.49, 6.1.0)"
    static let mesa23 = "Mesa Gallium driver 23.3.0 for AMD Radeon Graphics (raphael_mendocino, LLVM 17.0.5)"
    static let mesa25 = "Mesa Gallium driver 25.1.0-devel for AMD Radeon RX 7900 XT (radeonsi, navi31, ACO)"
    static let ihd = "Intel iHD driver for Intel(R) Gen Graphics - 23.1.1 ()"
    static let nvidia = "VA-API NVDEC driver [direct backend]"
}

@Suite struct CapabilitiesTests {
    private let builtIn: Capabilities

    init() throws { builtIn = try merged(Capabilities.embeddedDocument) }

    @Test func embedsTheCatalogueFile() throws {
        let file = try String(contentsOf: root.appendingPathComponent("capabilities.json"), encoding: .utf8)
        #expect(try merged(file) == builtIn)
        #expect(
            builtIn.paths.map(\.id) == [
                "hevc-main-encode", "hevc-main10-encode", "hevc-main-decode", "hevc-main10-decode",
                "h264-high-decode", "vp9-profile0-decode", "vp9-profile2-decode", "av1-main-decode",
                "av1-main-10-bit-decode",
            ])
        #expect(builtIn.paths.allSatisfy { ($0.bitDepth == 10) == ($0.vaRTFormat == "YUV420_10") })
        #expect(builtIn.paths.filter(\.servesSessions).map(\.id) == builtIn.paths.prefix(4).map(\.id))
        #expect(builtIn.quirks.allSatisfy { $0.link != nil && !$0.why.isEmpty })
    }

    /// Why the schema cannot be checked; nil when it can.
    private static let noValidator: String? = {
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = ["python3", "-c", "from jsonschema import Draft202012Validator"]
        python.standardError = FileHandle.nullDevice
        guard (try? python.run()) != nil else { return "there is no python3" }
        python.waitUntilExit()
        return python.terminationStatus == 0 ? nil : "python3 has no jsonschema with draft 2020-12"
    }()

    @Test(.enabled(if: noValidator == nil, "\(noValidator ?? "")"))
    func catalogueConformsToItsSchema() throws {
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // Invalid documents must fail, too: a schema that accepts everything proves nothing.
        let script = """
            import copy, json, sys
            from jsonschema import Draft202012Validator as V
            schema, file = (json.load(open(name)) for name in sys.argv[1:])
            V.check_schema(schema)
            errors = [error.message for error in V(schema).iter_errors(file)]
            for spoil in (lambda f: f.pop("schema"), lambda f: f["paths"][0].pop("id"),
                          lambda f: f["paths"][0].update(bit_depth=9), lambda f: f["quirks"][0].update(drivr="x"),
                          lambda f: f["quirks"][0]["versions"].update(before="25.x"),
                          lambda f: f["quirks"][0]["adjust"].update(nonsense=1)):
                bad = copy.deepcopy(file); spoil(bad)
                if V(schema).is_valid(bad): errors.append("takes a spoilt file")
            sys.exit("\\n".join(errors) or 0)
            """
        python.arguments = [
            "python3", "-c", script, root.appendingPathComponent("docs/capabilities.schema.json").path,
            root.appendingPathComponent("capabilities.json").path,
        ]
        let errors = Pipe()
        python.standardError = errors
        try python.run()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        python.waitUntilExit()
        #expect(python.terminationStatus == 0, "\(text)")
    }

    @Test(
        "Quirks are those of the driver, its version, the device and the path",
        arguments: [
            (
                Vendor.mesa22, nil, "hevc-main-encode",
                [
                    "mesa-22-own-headers", "mesa-one-qp", "mesa-unwritten-coded-status",
                    "mesa-unreported-minimum-size", "radeonsi-ctb-64-aligned-size",
                ]
            ),
            (
                Vendor.mesa22, nil, "hevc-main10-encode",
                [
                    "mesa-22-own-headers", "mesa-one-qp", "mesa-unwritten-coded-status",
                    "mesa-unreported-minimum-size", "radeonsi-ctb-64-aligned-size",
                    "radeonsi-no-derived-10-bit-images",
                ]
            ),
            (Vendor.mesa22, nil, "hevc-main-decode", []),
            (Vendor.mesa23, nil, "hevc-main-encode", ["mesa-one-qp", "radeonsi-ctb-64-aligned-size"]),
            (Vendor.mesa25, nil, "hevc-main-encode", ["mesa-25-no-b", "radeonsi-ctb-64-aligned-size"]),
            (Vendor.ihd, "8086:46a6", "hevc-main-encode", ["ihd-low-power-references", "ihd-hrd-selects-cbr"]),
            (
                Vendor.ihd, "8086:8a52", "hevc-main-encode",
                ["ihd-low-power-references", "ihd-hrd-selects-cbr", "ihd-ice-lake-minimum-size"]
            ),
            (Vendor.nvidia, "10de:2684", "hevc-main-encode", ["nvidia-decode-only"]),
            (Vendor.nvidia, nil, "hevc-main-decode", ["nvidia-no-derived-images"]),
            ("x265 3.5", nil, "hevc-main-encode", []),
        ] as [(String, String?, String, [String])])
    func quirks(_ driver: String, _ pciID: String?, _ path: String, _ expected: [String]) {
        #expect(builtIn.quirks(driver: driver, pciID: pciID, path: path).map(\.id) == expected)
    }

    @Test func quirksDisableFeaturesAndPaths() throws {
        let entry = try #require(builtIn.path("hevc-main-encode"))
        var path = CodecPath(entry, device: "/dev/dri/renderD128", driver: Vendor.mesa25)
        #expect(builtIn.apply(to: &path))
        #expect(path.quirks == ["mesa-25-no-b", "radeonsi-ctb-64-aligned-size"])
        #expect(path.features == ["alpha-layer"] && path.reason == nil)
        path = CodecPath(entry, device: "/dev/dri/renderD128", driver: Vendor.nvidia)
        #expect(!builtIn.apply(to: &path))
        #expect(path.reason == "disabled by the quirk nvidia-decode-only: nvidia-vaapi-driver only decodes")
    }

    @Test func overridesReplaceFieldsAndTheLastOneWins() throws {
        let changed = try merged(
            Capabilities.embeddedDocument,
            #"""
            {"schema": 1,
             "paths": [{"id": "hevc-main10-encode", "enabled": false}],
             "quirks": [{"id": "mesa-25-no-b", "versions": {"from": "26"}},
                        {"id": "local", "driver": "*", "why": "tried"}]}
            """#,
            #"{"schema": 1, "quirks": [{"id": "local", "enabled": false}]}"#)
        #expect(changed.path("hevc-main10-encode") == nil && changed.path("hevc-main-encode") != nil)
        #expect(changed.paths.count == builtIn.paths.count)
        let mesa = try #require(changed.quirks.first { $0.id == "mesa-25-no-b" })
        #expect(mesa.versions?.from == "26" && mesa.disableFeatures == ["b-frames", "temporal-layers"])
        #expect(changed.quirks.last?.id == "local" && changed.quirks.last?.why == "tried")
        #expect(changed.quirks(driver: "anything", pciID: nil, path: "p").isEmpty)
    }

    @Test(
        "A file that is not of the form is refused by name",
        arguments: [
            ("[]", "the catalogue is not a JSON object"), ("{}", "schema is missing"),
            (#"{"schema": 2}"#, "schema is 2, not 1"), (#"{"schema": 1, "quirk": []}"#, "quirk is not a field"),
            (#"{"schema": 1, "paths": {}}"#, "paths is not a list"),
            (#"{"schema": 1, "paths": [7]}"#, "paths[0] has no id"),
            (#"{"schema": 1, "quirks": [{"id": "a"}, {"id": "a"}]}"#, "a is in quirks twice"),
            (#"{"schema": 1, "quirks": [{"id": "a", "disable": 1}]}"#, "a: disable is not a field of quirks"),
            (
                #"{"schema": 1, "quirks": [{"id": "a", "driver": "{version}{version}", "why": "w"}]}"#,
                "a: driver is not a pattern"
            ),
            (
                #"{"schema": 1, "quirks": [{"id": "a", "driver": "x {version}", "why": "w", "versions": {"from": "1.x"}}]}"#,
                "a: 1.x is not a version"
            ),
            (
                #"{"schema": 1, "quirks": [{"id": "a", "driver": "x", "why": "w", "versions": {"from": "1"}}]}"#,
                "a: versions needs {version} in driver"
            ),
            (
                #"{"schema": 1, "paths": [{"id": "hevc-main-encode", "bit_depth": 12}]}"#,
                "hevc-main-encode: bit_depth is 12"
            ),
            (
                #"{"schema": 1, "paths": [{"id": "hevc-main-encode", "pixel_formats": ["RGB3"]}]}"#,
                "hevc-main-encode: there is no pixel format RGB3"
            ),
        ])
    func refused(_ text: String, _ reason: String) {
        let error = #expect(throws: SessionError.self) { try merged(Capabilities.embeddedDocument, text) }
        #expect(error?.reason.hasPrefix(reason) == true, "\(error?.reason ?? "")")
    }
}

@Suite struct DriverPatternTests {
    @Test(
        "Versions are compared number by number",
        arguments: [
            ("22.3.6", "25.0", true), ("25", "25.0.0", false), ("9", "10", true), ("1.10", "1.9", false),
            ("0", "0.0.1", true), ("999999999", "1", false),
        ])
    func order(_ left: String, _ right: String, _ isLess: Bool) throws {
        let (left, right) = (try #require(DriverVersion(left)), try #require(DriverVersion(right)))
        #expect((left < right) == isLess)
        #expect(!(left < right && right < left))
    }

    @Test(arguments: ["", ".", "1.", ".1", "1..2", "1.x", "-1", "+1", "1234567890", "1.2.3.4.5.6.7.8.9", "１"])
    func notAVersion(_ text: String) { #expect(DriverVersion(text) == nil) }

    @Test func includesTheFirstVersionAndExcludesTheLast() throws {
        let range = Capabilities.Versions(from: "22.0", before: "23")
        for (version, isIn) in [("21.9.9", false), ("22", true), ("22.99", true), ("23.0.0", false), ("24", false)]
        {
            #expect(range.contains(DriverVersion(version)) == isIn, "\(version)")
        }
        #expect(!range.contains(nil))
        #expect(Capabilities.Versions().contains(nil))
    }

    @Test(
        "A pattern finds the version in its place",
        arguments: [
            ("Mesa Gallium driver {version} for AMD *", Vendor.mesa22, "22.3.6"),
            ("Mesa Gallium driver {version}* for AMD *", Vendor.mesa25, "25.1"),
            ("Intel iHD driver for * - {version} *", Vendor.ihd, "23.1.1"),
            ("{version}", "1.2.", nil), ("{version}.", "1.2.", "1.2"), ("a{version}b", "a7b", "7"),
            ("* {version}", "driver 3 4", "4"), ("a {version}", "b 1", nil), ("x{version}", "x1y", nil),
            ("1{version}", "123", nil),
        ] as [(String, String, String?)])
    func version(_ pattern: String, _ text: String, _ expected: String?) throws {
        let match = try #require(DriverPattern(pattern)).match(text)
        #expect(match?.version?.description == expected)
        #expect((match == nil) == (expected == nil))
    }

    @Test(
        "A star matches any text",
        arguments: [
            ("*", "", true), ("*", "anything", true), ("a*c", "abbc", true), ("a*c", "ac", true),
            ("a*c", "acb", false), ("a*b*c", "a-b-b-c", true), ("abc", "abc", true), ("abc", "ABC", false),
            ("a", "ab", false), ("**a", "xa", true),
        ])
    func star(_ pattern: String, _ text: String, _ matches: Bool) throws {
        #expect((try #require(DriverPattern(pattern)).match(text) != nil) == matches)
    }

    @Test func refusesAnEmptyPattern() {
        #expect(DriverPattern("") == nil)
        #expect(DriverPattern("{version} and {version}") == nil)
    }

    @Test func matchesLongHostileTextsQuickly() throws {
        let pattern = try #require(DriverPattern("*a*a*a*a*a*{version}*a*a*b"))
        // One that tries every division of the text needs years.
        #expect(pattern.match(String(repeating: "a1", count: 500)) == nil)
    }
}
