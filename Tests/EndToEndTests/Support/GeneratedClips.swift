// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import Synchronization

/// Files that ffmpeg made from nothing but its arguments and committed clips: the same arguments give a copy of the first one.
///
/// Starting ffmpeg takes longer than coding the small clips that most tests need.
enum GeneratedClips {
    private struct Entry {
        var file: String
        var run: Finished
    }

    private static let entries = Mutex<[[String]: Entry]>([:])
    private static let count = Atomic(0)
    /// Larger files are not kept.
    private static let maxSize = 4 << 20

    private static let scratch = try? Scratch()
    /// The folder of the kept files, until the test runner exits.
    private static let folder: String? = {
        // Static properties are never deinitialized.
        atexit { GeneratedClips.removeFolder() }
        return scratch?.root
    }()

    private static func removeFolder() {
        if let scratch { try? FileManager.default.removeItem(atPath: scratch.root) }
    }

    /// What determines the contents of the output, which is the last argument; nil where a file of a test is read.
    private static func key(_ arguments: [String]) -> [String]? {
        guard let output = arguments.last, output.hasPrefix("/tmp/"), !output.contains("%"),
            !arguments.dropLast().contains(where: { $0.contains("/tmp/") || $0 == "-" })
        else { return nil }
        return arguments.dropLast().filter { $0 != "-y" } + [URL(fileURLWithPath: output).pathExtension]
    }

    /// Writes the output of an earlier run with these arguments; nil where there was none.
    static func copy(_ arguments: [String]) throws -> Finished? {
        guard let key = key(arguments), let output = arguments.last,
            let entry = entries.withLock({ $0[key] })
        else { return nil }
        if arguments.contains("-y") { try? FileManager.default.removeItem(atPath: output) }
        try FileManager.default.copyItem(atPath: entry.file, toPath: output)
        return entry.run
    }

    /// Keeps the output of a run that succeeded.
    static func keep(_ arguments: [String], _ run: Finished) {
        guard let key = key(arguments), let output = arguments.last, let folder,
            let size = try? FileManager.default.attributesOfItem(atPath: output)[.size] as? Int, size <= maxSize
        else { return }
        let file = "\(folder)/\(count.add(1, ordering: .relaxed).newValue)"
        guard (try? FileManager.default.copyItem(atPath: output, toPath: file)) != nil else { return }
        entries.withLock { $0[key] = Entry(file: file, run: run) }
    }
}
