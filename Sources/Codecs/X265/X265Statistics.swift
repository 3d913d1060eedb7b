// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDMemoryFiles
internal import Synchronization

/// What the first of two passes knows about each frame, in files in memory that x265 writes and reads by name.
///
/// x265 (3.5, RateControl::init) opens `name.temp` and `name.cutree.temp` in the first pass, renames them when it closes,
/// and reads both in the final pass.
public final class X265Statistics: Sendable {
    private static let count = Atomic<Int>(0)

    /// The name for x265's option `stats`.
    let name: String

    /// Statistics that no pass has collected yet.
    public init() {
        let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        name = HWD_MEMORY_FILE_PREFIX + "\(number)."
    }

    deinit { hwd_memory_files_remove(name) }

    /// Whether an open encoder writes to them.
    var isCollecting: Bool { hwd_memory_file_exists(name + ".temp") }

    /// Bytes of memory: for each frame a line and, for pictures that others refer to, two for each block of 16x16 samples.
    public var byteCount: UInt64 { hwd_memory_file_bytes(name) }
}
