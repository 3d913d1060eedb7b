// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDDisplays
internal import HWDModel
internal import HWDSystem

/// `hwctl displays`.
struct DisplaysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "displays",
        abstract: "List displays, and whether they can show HDR.",
        discussion: """
            EXAMPLES
              hwctl displays
              hwctl displays --edid edid.bin

            The connectors of all graphics cards are listed with what the displays' EDIDs say of HDR: PQ and HLG, peak \
            luminance, and headroom, which is the peak over reference white (203 cd/m²). A display is eligible for HDR if \
            it takes PQ or HLG and its connector has the properties HDR_OUTPUT_METADATA, Colorspace with BT.2020, and \
            max bpc of 10 or more; the properties are known where the card's node can be opened. Nothing is changed.
            """)

    @Option(help: ArgumentHelp("Describe the EDID in this file instead.", valueName: "file"))
    var edid: String?

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func run() throws {
        try report {
            if let edid { return try describe(edid) }
            let report = DisplayReport(ConnectorSource().connectors())
            if json { return try Console.json(report) }
            try Console.result(report.text)
        }
    }

    private func describe(_ path: String) throws {
        let bytes: [UInt8]
        do { bytes = try BoundedFile.read(path, limit: 1 << 16) } catch {
            throw CommandFailure(.noInput, "\(path): \(error.reason)")
        }
        let found: EDID
        do { found = try EDID(bytes) } catch { throw CommandFailure(.badInput, "\(path): \(error.reason)") }
        if json { return try Console.json(found) }
        try Console.result(Console.table(DisplayReport.rows(found)))
    }
}

/// The connectors of this machine.
struct DisplayReport: Encodable {
    private var schema = 1
    /// Whether a display can show HDR; nil where that is not known of any that may.
    private(set) var isEligible: Bool?
    private var connectors: [Entry]

    enum CodingKeys: String, CodingKey {
        case schema, connectors
        case isEligible = "eligible_for_hdr_playback"
    }

    /// A connector, and what follows from it.
    private struct Entry: Encodable {
        var connector: Connector

        enum CodingKeys: String, CodingKey {
            case reason, headroom
            case isEligible = "eligible_for_hdr_playback"
        }

        func encode(to encoder: any Encoder) throws {
            try connector.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(connector.isEligible, forKey: .isEligible)
            try container.encodeIfPresent(connector.reason, forKey: .reason)
            if connector.edid != nil { try container.encode(connector.headroom, forKey: .headroom) }
        }
    }

    init(_ connectors: [Connector]) {
        self.connectors = connectors.map { Entry(connector: $0) }
        let answers = connectors.map(\.isEligible)
        isEligible = answers.contains(true) ? true : answers.contains(nil) ? nil : false
    }

    /// The answer for a file with HDR video, with its reason.
    var eligibility: String {
        let connected = connectors.map(\.connector).filter(\.isConnected)
        if isEligible == true { return "yes" }
        guard let first = connected.first else { return "no: no display is connected" }
        let subject = connected.first { $0.isEligible == nil } ?? first
        return (isEligible == nil ? "not known: " : "no: ") + (subject.reason ?? "")
    }

    /// The human-readable tables.
    var text: String {
        guard !connectors.isEmpty else { return "no display: the kernel lists no connector of a graphics card" }
        var rows: [[String]] = []
        for connector in connectors.map(\.connector) {
            if !rows.isEmpty { rows.append([""]) }
            rows.append([
                "CONNECTOR \(connector.card) \(connector.name)", connector.isConnected ? "connected" : "no display",
            ])
            guard connector.isConnected else { continue }
            rows += connector.edid.map { Self.rows($0) } ?? []
            if connector.edid != nil { rows.append(["  headroom", Progress.decimal(connector.headroom, 2)]) }
            let eligible = connector.isEligible.map { $0 ? "yes" : "no" } ?? "not known"
            let reason = connector.reason.map { ": \($0)" } ?? ""
            rows.append(["  eligible for HDR", eligible + reason])
        }
        rows += [[""], ["eligible for HDR playback", eligibility]]
        return Console.table(rows)
    }

    /// The rows of one EDID.
    static func rows(_ edid: EDID) -> [[String]] {
        let name = edid.name.map { " \($0)" } ?? ""
        var rows = [["  display", "\(edid.manufacturer)\(name), product \(edid.product)"]]
        if let hdr = edid.hdr {
            let transfers = [hdr.supportsPQ ? "PQ" : nil, hdr.supportsHLG ? "HLG" : nil].compactMap { $0 }
            rows.append(["  HDR", transfers.isEmpty ? "neither PQ nor HLG" : transfers.joined(separator: ", ")])
            func row(_ name: String, _ value: Double?) {
                rows.append([name, value.map { "\(Progress.decimal($0, 3)) cd/m²" } ?? "not given"])
            }
            row("  peak", hdr.maxLuminance)
            row("  whole picture", hdr.maxFrameAverage)
            row("  black", hdr.minLuminance)
        } else {
            rows.append(["  HDR", "no"])
        }
        rows.append(["  BT.2020", edid.hasBT2020 ? "yes" : "no"])
        rows += edid.faults.map { ["  wrong", $0] }
        return rows
    }
}
