// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDSystem
internal import HWDTransport
internal import HWDWire

/// The files that a probe's answer came from: while they are what they were, another probe would tell the same.
enum LoadedFiles {
    /// More than any driver loads.
    private static let maximum = 256

    /// This program, every library in it now, and the folders those lie in, where a new one would show.
    ///
    /// - Parameter more: further files that matter, which need not exist.
    /// - Returns: nothing where that cannot be told, as when a library's file has been replaced since it was loaded.
    static func stamps(_ more: [String]) -> [FileStamp] {
        guard let maps = try? BoundedFile.read("/proc/self/maps") else { return [] }
        var paths: Set<String> = Set(more)
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            // proc_pid_maps(5): address, permissions, offset, device, inode and, after spaces, the path.
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[1].dropFirst(2).first == "x" else { continue }
            // The path stands in a column of its own: the last field begins with what spaces are left.
            let path = String(fields[5].drop { $0 == " " })
            guard path.hasPrefix("/"), !path.hasPrefix("/memfd:") else { continue }
            guard !path.hasSuffix(" (deleted)") else { return [] }
            paths.insert(path)
            // Beside the program lie its like, which no probe loads.
            if path != Program.path, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
                paths.insert(String(path[..<slash]))
            }
        }
        guard paths.count <= maximum else { return [] }
        return paths.sorted().map { FileStamp(now: $0) }
    }
}
