// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDSystem
internal import HWDTransport
internal import HWDWire

/// The files that a probe's answer depends on: while they are unchanged, another probe would report the same.
enum LoadedFiles {
    /// More files than any driver loads.
    private static let maxCount = 256

    /// This program, every library loaded now, and the libraries' directories, which change when one is added.
    ///
    /// - Parameter more: further files, which need not exist.
    /// - Returns: an empty list if the files are unknown, for instance because a loaded library was replaced.
    static func stamps(_ more: [String]) -> [FileStamp] {
        guard let maps = try? BoundedFile.read("/proc/self/maps", limit: 1 << 20) else { return [] }
        var paths: Set<String> = Set(more)
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            // proc_pid_maps(5): address, permissions, offset, device, inode and, after spaces, the path.
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[1].dropFirst(2).first == "x" else { continue }
            // Spaces align the path, and the last field begins with the rest of them.
            let path = String(fields[5].drop { $0 == " " })
            guard path.hasPrefix("/"), !path.hasPrefix("/memfd:") else { continue }
            guard !path.hasSuffix(" (deleted)") else { return [] }
            paths.insert(path)
            // The program's own directory holds programs, which no probe loads.
            if path != Program.path, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
                paths.insert(String(path[..<slash]))
            }
        }
        guard paths.count <= maxCount else { return [] }
        return paths.sorted().map { FileStamp(now: $0) }
    }
}
