// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// Verifies the outputs of the `hwctl encode` runs of all tests: each loss must be one that was asked for, or one that the
/// run itself named.
enum OutputCheck {
    /// Which outputs are verified: those of small inputs, all (`make receipts`), or none.
    private static let extent = ProcessInfo.processInfo.environment["HWDAEMON_TEST_RECEIPTS"] ?? "none"
    /// Bytes of an input that is small.
    private static let small = 100_000

    private static let flags: Set = ["--copy", "--keep-partial", "--json", "--verify", "--retag"]
    /// Properties that change what the receipt compares.
    private static let properties = [
        "ColorPrimaries": "color", "TransferFunction": "color", "YCbCrMatrix": "color", "FullRangeVideo": "color",
        "PixelAspectRatio": "aspect", "CleanAperture": "size", "FieldCount": "fields", "FieldDetail": "fields",
        "MasteringDisplayColorVolume": "mastering", "ContentLightLevelInfo": "light",
    ]

    /// The files of a command line and its options.
    private struct CommandLine {
        var files: [String] = []
        var options: [(name: String, value: String)] = []

        init(_ arguments: [String]) {
            var rest = arguments.dropFirst()
            while let argument = rest.popFirst() {
                guard argument.hasPrefix("--") else {
                    files.append(argument)
                    continue
                }
                let pair = argument.split(separator: "=", maxSplits: 1).map(String.init)
                if pair.count == 2 {
                    options.append((pair[0], pair[1]))
                } else if OutputCheck.flags.contains(argument) {
                    options.append((argument, ""))
                } else {
                    options.append((argument, rest.popFirst() ?? ""))
                }
            }
        }

        func value(_ name: String) -> String? { options.last { $0.name == name }?.value }
    }

    /// Verifies the output of a run that succeeded, unless it cannot be read again.
    static func check(_ arguments: [String], _ run: Finished, socket: String) throws {
        guard extent != "none", arguments.first == "encode", run.status == 0 else { return }
        let line = CommandLine(arguments)
        guard line.files.count == 2, !line.files.contains("-"), line.value("--verify") == nil,
            !run.errors.contains("the input is damaged"), isExpected(line.files[0])
        else { return }
        let receipt = try ReceiptDocument(verification(line, run), socket: socket)
        let lost = receipt.items.filter(\.isFault).map { "\($0.name): \($0.sentence)" }
        #expect(lost.isEmpty, "\(arguments.joined(separator: " ")) lost something without naming it: \(run.errors)")
    }

    private static func isExpected(_ input: String) -> Bool {
        guard let size = try? FileManager.default.attributesOfItem(atPath: input)[.size] as? Int else {
            return extent == "all" && input.contains("%")
        }
        return extent == "all" || size <= small
    }

    private static func verification(_ line: CommandLine, _ run: Finished) -> [String] {
        var asked: [String] = []
        if let level = line.value("--max-level") { asked.append("max-level=\(level)") }
        if let mode = line.value("--hdr"), mode != "preserve" { asked.append("hdr=\(mode)") }
        // QuickTime's keys have no place in .mp4 yet, and no message names them.
        if line.files[1].hasSuffix(".mp4") { asked.append("metadata") }
        // hwctl encode leaves alpha out unless it is asked to keep it.
        if line.value("--alpha") == nil, line.value("--copy") == nil { asked.append("alpha") }
        for option in line.options where option.name == "--property" {
            let pair = option.value.split(separator: "=", maxSplits: 1).map(String.init)
            if let name = properties[pair[0]] { asked.append(name) }
            if pair[0] == "SourceAlphaMode", pair.count > 1 { asked.append("alpha-mode=\(pair[1])") }
        }
        if asked.contains("color") {
            let metadata = ["mastering", "light", "ambient", "dolby-vision", "rpu", "hdr10+"]
            asked += line.value("--retag") == nil ? ["pictures"] : metadata
        }
        for kind in ["audio", "subtitle"] where run.errors.contains("(\(kind), ") || run.text.contains("(\(kind), ")
        {
            asked.append(kind)
        }
        let rate = line.value("--frame-rate").map { ["--frame-rate", $0] } ?? []
        return rate + (asked.isEmpty ? [] : ["--asked", asked.joined(separator: ",")]) + line.files
    }
}
