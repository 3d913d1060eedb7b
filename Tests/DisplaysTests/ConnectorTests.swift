// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDDisplays

@Suite struct ConnectorTests {
    /// Folders like those of a kernel: connectors with a status, and an EDID where one is given.
    private func source(_ connectors: [(String, String, [UInt8]?)]) throws -> (ConnectorSource, remove: () -> Void)
    {
        let root = FileManager.default.temporaryDirectory.appending(path: "drm-\(UUID().uuidString)")
        for name in ["card0", "renderD128", "version"] {
            try FileManager.default.createDirectory(
                at: root.appending(path: "drm/\(name)"), withIntermediateDirectories: true)
        }
        for (name, status, edid) in connectors {
            let folder = root.appending(path: "drm/\(name)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("\(status)\n".utf8).write(to: folder.appending(path: "status"))
            if let edid { try Data(edid).write(to: folder.appending(path: "edid")) }
        }
        let source = ConnectorSource(
            sysfs: root.appending(path: "drm").path, nodes: root.appending(path: "dri").path)
        return (source, { try? FileManager.default.removeItem(at: root) })
    }

    @Test func listsConnectorsAndDisplays() throws {
        let (source, remove) = try source([
            ("card0-HDMI-A-1", "connected", CannedEDID.all[0].bytes), ("card0-DP-1", "disconnected", []),
            ("card1-eDP-1", "connected", [1, 2, 3]), ("card1-DP-2", "connected", []),
        ])
        defer { remove() }
        let connectors = source.connectors()
        #expect(
            connectors.map { "\($0.card) \($0.name)" } == [
                "card0 DP-1", "card0 HDMI-A-1", "card1 DP-2", "card1 eDP-1",
            ])
        #expect(connectors.map(\.isConnected) == [false, true, true, true])
        let display = connectors[1]
        #expect(display.edid?.hdr?.supportsPQ == true && abs(display.headroom - 993.486 / 203) < 0.001)
        // The card has no node here, so that its properties are not known.
        #expect(display.isEligible == nil && display.reason?.contains("card0") == true)
        #expect(connectors[0].isEligible == false && connectors[3].isEligible == false)
        #expect(connectors[3].faults.first?.contains("3 bytes") == true && connectors[3].headroom == 1)
        #expect(connectors[2].reason?.contains("EDID") == true)
    }

    @Test func withoutACardThereIsNone() {
        #expect(ConnectorSource(sysfs: "/nonexistent", nodes: "/nonexistent").connectors().isEmpty)
    }

    @Test func eligibilityNeedsDisplayAndConnector() throws {
        var connector = Connector(card: "card0", name: "DP-1", isConnected: true)
        connector.edid = try EDID(CannedEDID.all[0].bytes)
        var properties = ConnectorProperties()
        connector.properties = properties
        #expect(connector.isEligible == false && connector.reason?.contains("HDR_OUTPUT_METADATA") == true)
        properties.add(name: "HDR_OUTPUT_METADATA", values: [0], enumerated: [])
        connector.properties = properties
        #expect(connector.isEligible == false && connector.reason?.contains("Colorspace") == true)
        properties.add(name: "Colorspace", values: [0, 1], enumerated: ["Default", "BT2020_RGB"])
        properties.add(name: "max bpc", values: [8, 8], enumerated: [])
        connector.properties = properties
        #expect(connector.isEligible == false && connector.reason?.contains("10 bits") == true)
        properties.add(name: "max bpc", values: [8, 12], enumerated: [])
        connector.properties = properties
        #expect(connector.isEligible == true && connector.reason == nil)
        connector.edid = try EDID(CannedEDID.all[3].bytes)
        #expect(connector.isEligible == false)
        connector.isConnected = false
        #expect(connector.isEligible == false && connector.reason == "no display is connected")
    }
}
