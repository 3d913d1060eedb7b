// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// The wrong lines of a configuration, each with its location.
struct ConfigurationFault: Error, Hashable {
    var lines: [String]

    /// The first line, and how many there are beside it.
    var summary: String { (lines.first ?? "") + (lines.count > 1 ? " (and \(lines.count - 1) more)" : "") }
}

/// Reads the configuration files of a directory: `hwdaemon.conf`, then every other `*.conf` by name.
struct SettingsFiles {
    /// Bytes of one file, and number of files, that are accepted.
    private static let maxSize = 65536
    private static let maxFiles = 64

    /// The directory; nil reads no files.
    let folder: String?
    /// Whether a directory that does not exist is an error.
    var mustExist = false
    /// The defaults.
    let base: Settings
    /// Keys and values of the command line, which override the files.
    let overrides: [(key: String, value: String)]

    /// The settings of the files and the command line.
    ///
    /// - Throws: every wrong line, as `file:line: reason`.
    func load() throws(ConfigurationFault) -> Settings {
        var settings = base
        var faults: [String] = []
        for path in try paths() { read(path, &settings, &faults) }
        for (key, value) in overrides {
            do throws(SettingFault) { try settings.set(key, to: value, base: base) } catch {
                faults.append("command line: \(error.reason)")
            }
        }
        guard faults.isEmpty else { throw ConfigurationFault(lines: faults) }
        return settings
    }

    private func paths() throws(ConfigurationFault) -> [String] {
        guard let folder else { return [] }
        let names: [String]
        do throws(Directory.Failure) {
            // Backups of editors and hidden files are not configuration.
            names = try Directory.names(in: folder).filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
        } catch {
            if error.errno == ENOENT, !mustExist { return [] }
            throw ConfigurationFault(lines: ["\(folder): \(error)"])
        }
        guard names.count <= Self.maxFiles else {
            throw ConfigurationFault(lines: ["\(folder): more than \(Self.maxFiles) files"])
        }
        let main = "hwdaemon.conf"
        return names.sorted { ($0 == main ? 0 : 1, $0) < ($1 == main ? 0 : 1, $1) }.map { "\(folder)/\($0)" }
    }

    private func read(_ path: String, _ settings: inout Settings, _ faults: inout [String]) {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return faults.append("\(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.maxSize + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes[count...].withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if got < 0 { return faults.append("\(path): \(String(cString: strerror(errno)))") }
            if got == 0 { break }
            count += got
        }
        guard count <= Self.maxSize else {
            return faults.append("\(path): more than \(Self.maxSize) bytes")
        }
        Self.parse(
            String(decoding: bytes.prefix(count), as: UTF8.self), named: path, base: base, &settings, &faults)
    }

    /// Parses a file: `Key=Value` lines, empty lines, and comments that start with `#` or `;`.
    static func parse(
        _ text: String, named name: String, base: Settings, _ settings: inout Settings, _ faults: inout [String]
    ) {
        for (index, raw) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = trimmed(raw)
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
            do throws(SettingFault) {
                guard let sign = line.firstIndex(of: "=") else {
                    throw SettingFault("'\(line.printable(maxBytes: 80))' is not Key=Value")
                }
                let (key, value) = (trimmed(line[..<sign]), trimmed(line[line.index(after: sign)...]))
                try settings.set(key, to: value, base: base)
            } catch {
                faults.append("\(name):\(index + 1): \(error.reason.printable(maxBytes: 300))")
            }
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" && $0 != "\r" }
        return end.map { String(start[...$0]) } ?? ""
    }
}
