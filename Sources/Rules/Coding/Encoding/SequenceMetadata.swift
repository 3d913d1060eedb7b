// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The static HDR metadata of a stream's coded video sequences, which can change only at key frames (H.265 D.3.28, D.3.35,
/// D.3.39).
struct SequenceMetadata: Sendable {
    /// In effect, by the last key frame or the session's properties.
    private var current: [FrameSideData.Kind: [UInt8]] = [:]
    /// Of frames since then.
    private var waiting: [FrameSideData.Kind: [UInt8]] = [:]
    /// The presentation time of the last key frame.
    private var lastSync = Int64.min

    init() {}

    init(_ configuration: EncoderConfiguration) {
        current[.masteringDisplay] = configuration.masteringDisplay
        current[.contentLight] = configuration.contentLight
        current[.ambientViewing] = configuration.ambientViewing
    }

    /// Takes the entries of a picture, in the order of coding.
    ///
    /// - Returns: the entries to write with it, and whether others wait for the next key frame.
    mutating func take(
        _ entries: [FrameSideData], pts: Int64, isSync: Bool
    ) -> (entries: [FrameSideData], isWaiting: Bool) {
        guard isSync else {
            // Leading pictures are shown before their key frame: they are of the sequence before it.
            guard pts > lastSync else { return ([], false) }
            let changed = entries.filter { current[$0.kind] != $0.bytes }
            // An entry that is the sequence's again cancels one that waits.
            for entry in entries { waiting[entry.kind] = current[entry.kind] == entry.bytes ? nil : entry.bytes }
            return ([], !changed.isEmpty)
        }
        lastSync = pts
        var due = entries
        for (kind, bytes) in waiting where !entries.contains(where: { $0.kind == kind }) {
            due.append(FrameSideData(kind, bytes))
        }
        waiting = [:]
        for entry in due { current[entry.kind] = entry.bytes }
        return (due.sorted { $0.kind.rawValue < $1.kind.rawValue }, false)
    }
}
