// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDModel
internal import HWDSystem

/// Several files that one command writes to a directory, with a line for each.
struct EncodeBatch {
    let files: [FilePair]

    /// What became of a file.
    enum Result {
        case written(any FileSummary)
        case skipped
        case failed(CommandFailure)
    }

    private var results: [Result] = []

    /// Names the outputs.
    /// - Throws: a usage failure for two inputs with one output.
    init(_ inputs: [String], in folder: String, _ format: OutputFormat) throws {
        var taken: [String: String] = [:]
        files = try inputs.map { input in
            let name = input.split(separator: "/").last.map(String.init) ?? input
            let stem = name.lastIndex(of: ".").map { $0 == name.startIndex ? name : String(name[..<$0]) } ?? name
            let output = "\(folder)\(folder.hasSuffix("/") ? "" : "/")\(stem).\(format.fileExtension)"
            if let other = taken.updateValue(input, forKey: output) {
                throw CommandFailure(.usage, "\(other) and \(input) would both be written to \(output)")
            }
            return FilePair(input: input, output: output)
        }
    }

    /// Writes each file; continues after one that fails, and ends at an interruption.
    ///
    /// - Parameter write: writes a file; nil where it is left out.
    /// - Throws: a failure with the worst exit code of the files (`CommandFailure.worst`).
    mutating func run(json: Bool, _ write: (FilePair) throws -> (any FileSummary)?) throws {
        if Console.verbosity == .normal { Console.verbosity = .brief }
        for (number, file) in files.enumerated() {
            let result: Result
            let name = file.input.split(separator: "/").last.map(String.init) ?? file.input
            Progress.label = files.count > 1 ? "\(number + 1)/\(files.count) \(name)" : name
            do {
                result = try write(file).map(Result.written) ?? .skipped
            } catch {
                result = .failed(CommandFailure(error))
            }
            results.append(result)
            Console.report(result, of: file, "\(number + 1)/\(files.count) ")
            if case .failed(let failure) = result, failure.exitCode == CommandFailure.interrupted.exitCode {
                if json { try printDocument() }
                throw CommandFailure.interruptedBatch(
                    written: count { if case .written = $0 { true } else { false } })
            }
        }
        try summarize(json: json)
    }

    private func count(_ isCounted: (Result) -> Bool) -> Int { results.count(where: isCounted) }

    private func summarize(json: Bool) throws {
        let failures = results.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
        let skipped = count { if case .skipped = $0 { true } else { false } }
        let parts = [
            "\(files.count - failures.count - skipped) written", skipped > 0 ? "\(skipped) skipped" : nil,
            failures.isEmpty ? nil : "\(failures.count) failed",
        ].compactMap { $0 }
        let line = "\(files.count == 1 ? "1 file" : "\(files.count) files"): \(parts.joined(separator: ", "))"
        if json { try printDocument() }
        guard let worst = CommandFailure.worst(of: failures) else { return Console.file(line) }
        throw worst.inBatch(line)
    }

    /// Prints the JSON document of the files so far.
    private func printDocument() throws {
        try Console.json(BatchDocument(files: zip(files, results).map(BatchDocument.Entry.init)))
    }
}

extension Console {
    /// Prints the line of a file, after its number.
    fileprivate static func report(_ result: EncodeBatch.Result, of pair: FilePair, _ number: String) {
        switch result {
        case .written(let summary): file(number + summary.result)
        case .skipped: file("\(number)\(pair.output): exists, skipped")
        case .failed(let failure): error("\(number)\(pair.input): failed (\(failure.exitCode)): \(failure.reason)")
        }
    }
}

/// The JSON document of several files.
private struct BatchDocument: Encodable {
    struct Entry: Encodable {
        let file: FilePair
        let result: EncodeBatch.Result

        init(_ file: FilePair, _ result: EncodeBatch.Result) { (self.file, self.result) = (file, result) }

        private enum CodingKeys: String, CodingKey {
            case input, output, skipped, error
            case exitCode = "exit_code"
        }

        func encode(to encoder: any Encoder) throws {
            if case .written(let summary) = result { return try summary.encode(to: encoder) }
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(file.input, forKey: .input)
            try container.encode(file.output, forKey: .output)
            guard case .failed(let failure) = result else { return try container.encode(true, forKey: .skipped) }
            try container.encode(failure.reason, forKey: .error)
            try container.encode(failure.exitCode, forKey: .exitCode)
        }
    }

    var schema = 2
    var files: [Entry]
}
