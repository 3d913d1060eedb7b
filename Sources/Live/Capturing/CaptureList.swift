// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands

/// What `--list` prints.
package struct CaptureList: Encodable {
    package var schema = 1
    package var sources: [CaptureListing] = []
    package var sounds: [CaptureSoundListing] = []
    /// Why the sources of a kind cannot be listed.
    package var problems: [String] = []

    /// Asks every kind; one that fails keeps none of the others from being listed.
    package init(_ kinds: [CaptureKind], sound: CaptureSoundKind? = nil) {
        for kind in kinds {
            do throws(CommandFailure) { sources += try kind.list() } catch {
                // Kinds of one service have one reason.
                if !problems.contains(error.reason) { problems.append(error.reason) }
            }
        }
        guard let sound else { return }
        do throws(CommandFailure) { sounds = try sound.list() } catch { problems.append(error.reason) }
    }

    /// Prints it: one document, or a table.
    package func print(json: Bool) throws {
        if json { return try Console.json(self) }
        let rows = sources.map { source in
            [
                source.name, source.description, source.formats.joined(separator: ", "),
                source.recorded.joined(separator: ", "),
            ]
        }
        try Console.result(Console.table([["source", "what it is", "frames", "recorded as"]] + rows))
        if !sounds.isEmpty {
            let rows = sounds.map { [$0.name, $0.description, $0.isMonitor ? "what it plays" : "what it hears"] }
            try Console.result("\n" + Console.table([["--audio", "what it is", "what is recorded"]] + rows))
        }
        for problem in problems { Console.note("warning: \(problem)") }
    }
}
