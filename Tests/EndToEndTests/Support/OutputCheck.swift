// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import Foundation
import Testing

@testable import HWDComparison
@testable import hwctl_media

/// Verifies the outputs of the `hwctl encode` runs of all tests: each loss must be one that was asked for, or one that the
/// run itself named.
enum OutputCheck {
    /// Which outputs are verified: all (`make check-receipts`, and the long tests of `make check`), or those of some small inputs (`make test`).
    private static let checksAll = ProcessInfo.processInfo.environment["HWDAEMON_TEST_RECEIPTS"] == "all"
    /// Bytes of an input that is small, and how many runs there are for each one that is verified.
    private static let (small, interval) = (100_000, UInt64(5))

    /// Verifies the output of a run that succeeded, unless it cannot be read again.
    static func check(_ arguments: [String], _ run: Finished, socket: String) throws {
        guard arguments.first == "encode", run.status == 0 else { return }
        let command = try EncodeCommand.parse(Array(arguments.dropFirst()))
        guard command.outputs.outputDir == nil, !command.check, ![command.input, command.output].contains("-"),
            !command.verify, command.segment == nil, !command.isStill,
            !run.errors.contains("the input is damaged"), !run.errors.contains(": exists, skipped"),
            isExpected(command, arguments)
        else { return }
        let receipt = try ReceiptDocument(verification(command, run), socket: socket)
        let lost = receipt.items.filter(\.isFault).map { "\($0.name): \($0.sentence)" }
        let line = arguments.joined(separator: " ")
        // The log of the tests shows which outputs were verified.
        print("receipt: \(receipt.items.count) items, \(lost.count) lost: \(line)")
        #expect(lost.isEmpty, "\(line) lost something without naming it: \(run.errors)")
    }

    private static func isExpected(_ command: EncodeCommand, _ arguments: [String]) -> Bool {
        guard !checksAll else { return true }
        guard let size = try? FileManager.default.attributesOfItem(atPath: command.input)[.size] as? Int,
            size <= small
        else { return false }
        // The same runs each time: folders have random names. FNV-1a.
        let text = arguments.map { $0.split(separator: "/").last ?? "" }.joined(separator: " ")
        let digest = text.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return digest % interval == 0
    }

    private static func verification(_ command: EncodeCommand, _ run: Finished) -> [String] {
        var changes = AskedChanges(command)
        if run.errors.contains("metadata are not written (") || run.text.contains("metadata are not written (") {
            changes.names.insert("metadata")
        }
        // hwctl encode leaves alpha out unless it is asked to keep it.
        if command.coding.alpha == nil, !command.copy { changes.names.insert("alpha") }
        for line in run.errorLines + run.text.split(whereSeparator: \.isNewline)
        where line.contains(" is not copied: ") {
            for kind in ["audio", "subtitle"] where line.contains("(\(kind), ") { changes.names.insert(kind) }
        }
        // Frames with alpha have 8 bits.
        if run.errors.contains(" bits reduced to 8,") { changes.names.insert("depth") }
        // AAC has no more than 96,000.
        if run.errors.contains(" samples per second: ") { changes.names.insert("audio") }
        let rate = command.frameRate.map { ["--frame-rate", $0] } ?? []
        let asked = changes.texts
        return rate + (asked.isEmpty ? [] : ["--asked", asked.joined(separator: ",")])
            + [command.input, command.output]
    }
}
