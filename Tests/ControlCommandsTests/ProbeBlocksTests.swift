// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDControlCommands

@Suite("Blocks of hwctl probe")
struct ProbeBlocksTests {
    /// A node of which one path works and one does not, for different causes, with more text than a line holds.
    private static let snapshot: ProbeSnapshot = {
        var node = RenderNode(
            node: "/dev/dri/renderD128", state: .ready,
            reason: "its encoder has no bit rates, because the HuC firmware is not installed on this computer")
        (node.pciID, node.pciAddress, node.kernelDriver) = ("8086:8a52", "0000:00:02.0", "i915")
        (node.driver, node.cause) = ("Intel iHD driver for Intel(R) Gen Graphics - 23.1.1 ()", .hucFirmware)
        func path(_ id: String, _ operation: CodecOperation, _ reason: String?) -> CodecPath {
            var path = CodecPath(
                id: id, codec: "hevc", operation: operation, profile: "main", bitDepth: 8, device: node.node,
                driver: node.driver ?? "")
            (path.claimed, path.verified, path.reason) = (true, reason == nil, reason)
            (path.cause, path.quirks) = (reason == nil ? nil : .driverCrashed, ["ihd-low-power-references"])
            return path
        }
        var snapshot = ProbeSnapshot(
            encoders: [], nodes: [node],
            paths: [
                path("hevc-main-decode", .decode, nil),
                path(
                    "hevc-main-encode", .encode,
                    "the probe of this node crashed (signal 11, SIGSEGV); it printed nothing"),
            ])
        snapshot.quirks = [
            QuirkDescription(
                id: "ihd-low-power-references", why: "",
                link: "https://github.com/intel/media-driver/issues/1390")
        ]
        return snapshot
    }()

    @Test("Lines fit the terminal, words stay whole, and what follows is indented", arguments: [40, 60, 80, 120])
    func wrapping(_ columns: Int) throws {
        let text = ProbeBlocks(columns: columns).text(Self.snapshot)
        for line in text.split(separator: "\n") {
            // A word that is longer than a line stands alone on it.
            let words = line.split(separator: " ")
            #expect(line.count <= columns || words.count <= 2, "\(line)")
        }
        let block = text.split(separator: "\n\n")[0].split(separator: "\n")
        #expect(block.count > 8 || columns > 80)
        #expect(block.dropFirst().allSatisfy { $0.hasPrefix("  ") })
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for whole in [Self.snapshot.nodes[0].reason, Self.snapshot.paths[1].reason] {
            let reason = try #require(whole)
            #expect(words.contains(reason))
        }
    }

    @Test("Remedies are the last lines of a block, each once, and the quirk has its link")
    func order() throws {
        let text = ProbeBlocks(columns: 400).text(Self.snapshot)
        let titles = text.split(separator: "\n\n")[0].split(separator: "\n").dropFirst()
            .map { String($0.dropFirst(2).prefix(12)).split(separator: "  ").first.map(String.init) ?? "" }
        #expect(titles == ["Device", "Driver", "Decodes", "Not used", "Quirk", "Reason", "Remedy", "Remedy"])
        #expect(text.contains("ihd-low-power-references (https://github.com/intel/media-driver/issues/1390)"))
        #expect(text.contains("firmware-misc-nonfree") && text.contains("another version of intel-media-va-driver"))
    }
}
