// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDDisplays

/// EDIDs as displays send them, from their blocks.
enum CannedEDID {
    /// Sets the last byte so that the block's sum is 0.
    static func summed(_ block: [UInt8]) -> [UInt8] {
        block.dropLast() + [0 &- block.dropLast().reduce(0, &+)]
    }

    /// A base block with a name and one detailed timing.
    static func base(_ name: String = "HDR PANEL", extensions: Int) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: 128)
        block.replaceSubrange(0..<8, with: [0, 255, 255, 255, 255, 255, 255, 0])
        // "DEL", product 0x1234, week 1 of 2020, EDID 1.4, digital.
        block.replaceSubrange(8..<20, with: [0x10, 0xAC, 0x34, 0x12, 1, 0, 0, 0, 1, 30, 1, 4])
        block.replaceSubrange(20..<25, with: [0xB5, 60, 34, 0x78, 0x3A])
        block.replaceSubrange(
            25..<35, with: [0xFC, 0x81, 0xA4, 0x55, 0x4D, 0x9D, 0x25, 0x12, 0x50, 0x54])
        for index in stride(from: 38, to: 54, by: 1) { block[index] = 1 }
        block.replaceSubrange(
            54..<72,
            with: [
                0x02, 0x3A, 0x80, 0x18, 0x71, 0x38, 0x2D, 0x40, 0x58, 0x2C, 0x45, 0x00, 0x55, 0x50, 0x21, 0, 0,
                0x1E,
            ])
        let text = Array(name.utf8.prefix(13)) + [0x0A]
        block.replaceSubrange(
            72..<90, with: [0, 0, 0, 0xFC, 0] + (text + [UInt8](repeating: 0x20, count: 13)).prefix(13))
        block.replaceSubrange(
            90..<108, with: [0, 0, 0, 0xFD, 0, 24, 75, 30, 160, 60, 0, 0x0A] + [UInt8](repeating: 0x20, count: 6))
        block.replaceSubrange(108..<126, with: [0, 0, 0, 0x10] + [UInt8](repeating: 0, count: 14))
        block[126] = UInt8(extensions)
        return summed(block)
    }

    /// A CTA-861 extension with these data blocks.
    static func cta(_ blocks: [[UInt8]]) -> [UInt8] {
        let data = blocks.flatMap { $0 }
        let head: [UInt8] = [2, 3, UInt8(4 + data.count), 0]
        return summed(head + data + [UInt8](repeating: 0, count: 124 - data.count))
    }

    static let video: [UInt8] = [0x42, 0x10, 0x04]
    static let bt2020: [UInt8] = [0xE3, 0x05, 0xE0, 0x00]
    /// The block of the published vector: PQ, HLG, 993.486, 672.717 and 0.626 cd/m².
    static let hdr: [UInt8] = [0xE6, 0x06, 0x0D, 0x01, 0x8A, 0x78, 0x40]

    static let all: [(name: String, bytes: [UInt8])] = [
        ("HDR with all luminances", base(extensions: 1) + cta([video, hdr, bt2020])),
        ("HDR without luminances", base(extensions: 1) + cta([video, [0xE3, 0x06, 0x05, 0x01]])),
        ("only a peak", base(extensions: 1) + cta([video, [0xE4, 0x06, 0x09, 0x01, 0x60]])),
        ("SDR with an extension", base("SDR", extensions: 1) + cta([video])),
        ("no extension", base("OLD", extensions: 0)),
        ("HDR in the second extension", base(extensions: 2) + cta([video]) + cta([hdr])),
    ]
}

@Suite struct EDIDTests {
    @Test func readsThePublishedVector() throws {
        let edid = try EDID(CannedEDID.all[0].bytes)
        #expect(
            edid.manufacturer == "DEL" && edid.product == 0x1234 && edid.name == "HDR PANEL" && edid.faults.isEmpty)
        let hdr = try #require(edid.hdr)
        #expect(hdr.supportsPQ && hdr.supportsHLG && hdr.supportsType1 && edid.hasBT2020)
        #expect(abs((hdr.maxLuminance ?? 0) - 993.486) < 0.001)
        #expect(abs((hdr.maxFrameAverage ?? 0) - 672.717) < 0.001)
        #expect(abs((hdr.minLuminance ?? 0) - 0.626) < 0.001)
    }

    /// edid-decode computes 50 cd/m² from the code 0, which CTA-861 defines as "not indicated".
    @Test func aPeakOfCode0IsNotGiven() throws {
        let block: [UInt8] = [0xE6, 0x06, 0x05, 0x01, 0, 0x50, 0x20]
        let hdr = try #require(try EDID(CannedEDID.base(extensions: 1) + CannedEDID.cta([block])).hdr)
        #expect(hdr.maxLuminance == nil && hdr.minLuminance == nil)
        #expect(abs((hdr.maxFrameAverage ?? 0) - 282.843) < 0.001)
    }

    /// What edid-decode prints of an EDID: whether it lists PQ and HLG, and the luminances it names.
    private static func judge(_ bytes: [UInt8]) throws -> (pq: Bool, hlg: Bool, luminances: [Double]) {
        let file = FileManager.default.temporaryDirectory.appending(path: "edid-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(bytes).write(to: file)
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/edid-decode")
        process.arguments = [file.path]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let luminances = text.split(separator: "\n").filter { $0.contains("Desired content") }.compactMap { line in
            line.split(separator: "(").last?.split(separator: " ").first.flatMap { Double($0) }
        }
        return (text.contains("SMPTE ST2084"), text.contains("Hybrid Log-Gamma"), luminances)
    }

    @Test(
        "edid-decode agrees",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/edid-decode"), "edid-decode is not installed"
        ),
        arguments: CannedEDID.all.map(\.name))
    func edidDecodeAgrees(name: String) throws {
        let bytes = try #require(CannedEDID.all.first { $0.name == name }).bytes
        let (edid, theirs) = (try EDID(bytes), try Self.judge(bytes))
        #expect(edid.faults.isEmpty)
        #expect(edid.hdr?.supportsPQ ?? false == theirs.pq && edid.hdr?.supportsHLG ?? false == theirs.hlg)
        // It prints no line for a luminance that is not given.
        let ours = [edid.hdr?.maxLuminance, edid.hdr?.maxFrameAverage, edid.hdr?.minLuminance].compactMap { $0 }
        #expect(ours.count == theirs.luminances.count, "\(ours), not \(theirs.luminances)")
        for (own, other) in zip(ours, theirs.luminances) { #expect(abs(own - other) < 0.001) }
    }

    @Test func reportsFaultsAndReadsTheRest() throws {
        var broken = CannedEDID.all[0].bytes
        broken[200] = 1
        #expect(try EDID(broken).hdr != nil && EDID(broken).faults.count == 1)
        // The last data block claims more than there is.
        let long = CannedEDID.base(extensions: 1) + CannedEDID.cta([CannedEDID.hdr, [0xE9, 0x05]])
        #expect(try EDID(long).hdr != nil && EDID(long).faults.count == 1)
        let missing = CannedEDID.base(extensions: 3)
        #expect(try EDID(missing).faults.count == 1)
        var end = CannedEDID.cta([])
        end[2] = 200
        #expect(try EDID(CannedEDID.base(extensions: 1) + CannedEDID.summed(end)).faults.count == 1)
    }

    @Test(
        "Refuses what is no EDID",
        arguments: [[], [UInt8](repeating: 0, count: 127), [UInt8](repeating: 0, count: 128)])
    func refuses(bytes: [UInt8]) {
        #expect(throws: EDID.Failure.self) { try EDID(bytes) }
    }

    @Test func acceptsOrRefusesMutations() {
        var state: UInt64 = 7
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var accepted = 0
        for round in 0..<5000 {
            var bytes = CannedEDID.all[round % CannedEDID.all.count].bytes
            for _ in 0..<3 { bytes[next(bytes.count)] = UInt8(next(256)) }
            bytes.removeLast(round % 3 == 0 ? next(bytes.count) : 0)
            if let edid = try? EDID(bytes) {
                accepted += 1
                #expect(edid.hdr?.maxLuminance.map { $0 >= 50 && $0 < 13_000 } ?? true)
            }
        }
        #expect(accepted > 1000)
    }
}
