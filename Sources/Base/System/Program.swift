// SPDX-License-Identifier: MIT
internal import Glibc

/// The executable that this process runs.
public enum Program {
    /// Its absolute path with symbolic links resolved (proc(5)); empty where /proc is not mounted.
    public static let path = ResolvedPath.link("/proc/self/exe") ?? ""

    /// The last part of `path`.
    public static var name: String { path.split(separator: "/").last.map(String.init) ?? "" }

    /// The directory of `path`, without a trailing slash; `.` where the path is not known.
    public static var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }
}

extension Program {
    /// The arguments of this process without the program's name, as `FileName` represents bytes.
    public static var arguments: [String] {
        CommandLine.unsafeArgv.withMemoryRebound(to: UnsafeMutablePointer<CChar>?.self, capacity: 1) { first in
            (1..<max(1, Int(CommandLine.argc))).compactMap { number in
                first[number].map { FileName.string($0) }
            }
        }
    }
}

/// The environment of this process.
public enum Environment {
    /// A variable's value; nil where it is not set or is empty.
    public static func value(_ name: String) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return String(cString: value)
    }
}
