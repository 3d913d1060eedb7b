// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
internal import HWDModel
internal import HWDSystem
package import HWMovies

/// `hwctl repair`.
package struct RepairCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Finish a recording whose recorder died, in place.",
        discussion: """
            EXAMPLES
              hwctl repair talk.mov
              hwctl repair --json talk.mov

            A recording that was not finished is a .mov or .mp4 in fragments, the last of which may be cut off. It plays as it \
            is; programs that edit, and QuickTime, want one movie box. repair appends that and turns what was the first one into \
            media data with one write of 16 bytes. No media is moved or lost: a file of any size takes a moment, and a \
            repair that is interrupted can be made again. Chapters that began before the end are kept. A file that is \
            finished already is not changed. Files in fragments of other programs are finished, too.
            """)

    @Argument(help: "The recording, a .mov or .mp4.")
    var file: String

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    /// What `--json` prints.
    private struct Report: Encodable {
        var schema = 1
        let file: String
        /// Whether the file was changed.
        let repaired: Bool
        let durationSeconds: Double
        let packets: Int
        let bytesWritten: Int
        let remarks: [String]

        enum CodingKeys: String, CodingKey {
            case schema, file, repaired
            case durationSeconds = "duration_s"
            case packets
            case bytesWritten = "bytes_written"
            case remarks
        }
    }

    package init() {}

    package func run() throws {
        try report {
            for (mode, status) in [(F_OK, ExitStatus.noInput), (W_OK, .noPermission)]
            where access(FileName.bytes(file), mode) != 0 {
                let reason = String(cString: strerror(errno))
                throw CommandFailure(status, "\(FileName.printable(file)) cannot be repaired: \(reason)")
            }
            let repair: MovieRepair
            do throws(MovieError) { repair = try MovieRepair(path: file) } catch { throw CommandFailure(error) }
            let isRepaired = repair.outcome == .finished
            for remark in repair.remarks { Console.note("\(FileName.printable(file)): \(remark)") }
            if json {
                return try Console.json(
                    Report(
                        file: file, repaired: isRepaired, durationSeconds: repair.duration,
                        packets: repair.packetCount, bytesWritten: repair.bytesWritten, remarks: repair.remarks))
            }
            // A damaged file may state any time.
            let tenths = Int64(min(max(repair.duration, 0) * 10, 1e15))
            let length = "\(tenths / 10).\(tenths % 10) s, \(repair.packetCount) packets"
            try Console.result(
                isRepaired
                    ? "\(FileName.printable(file)): finished, \(length)"
                    : "\(FileName.printable(file)): is finished already, \(length)")
        }
    }
}

extension CommandFailure {
    /// The failure of a movie that is read or written.
    package init(_ error: MovieError) { self.init(error.exitStatus, error.reason) }
}
