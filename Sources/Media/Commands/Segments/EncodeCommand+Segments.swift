// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDEdits
internal import HWDModel

extension EncodeCommand {
    /// The most segments that one machine encodes at a time.
    private static let maxParallel = 256

    /// Checks `--segment` and `--parallel` against the other options.
    func validateSegments() throws {
        if let parallel, !(1...Self.maxParallel).contains(parallel) {
            throw ValidationError("--parallel takes a number from 1 to \(Self.maxParallel), not \(parallel).")
        }
        guard segment != nil || parallel != nil else { return }
        let name = segment == nil ? "--parallel" : "--segment"
        if segment != nil, parallel != nil {
            throw ValidationError("--segment and --parallel contradict each other.")
        }
        if let other = excluded.first(where: { $0.1 })?.0 {
            throw ValidationError("\(name) cannot be combined with \(other).")
        }
        guard outputs.outputDir == nil else { return }
        if files.contains("-") { throw ValidationError("\(name) takes files, not standard input or output.") }
        guard segment != nil else { return }
        guard let format = try? OutputFormat(path: output), format.isMovie else {
            throw ValidationError("--segment writes a .mov or .mp4, which hwctl join reads, not \(output).")
        }
    }

    /// Options that have no meaning for segments, and whether they are given.
    private var excluded: [(String, Bool)] {
        let ofBoth = [
            ("--copy", copy), ("--check", check), ("--start, --duration and --end", time.range != nil),
            ("--output-frame-rate", picture.outputFrameRate != nil), ("--frame-rate", frameRate != nil),
            ("--max-level", maxLevel != nil), ("--keep-partial", keepPartial), ("--two-pass", coding.twoPass),
            (PropertyKey.multiPassStorage.rawValue, coding.hasTwoPasses),
        ]
        guard segment != nil else { return ofBoth }
        return ofBoth + [
            ("--output-dir", outputs.outputDir != nil), ("--skip-existing", outputs.replacing.skipExisting),
            ("--no-overwrite", outputs.replacing.noOverwrite),
            ("--verify: hwctl verify compares the joined file", verify),
            ("options of sound and subtitles, which are those of hwctl join", !sound.isDefault),
        ]
    }
}
