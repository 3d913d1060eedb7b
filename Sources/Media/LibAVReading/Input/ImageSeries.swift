// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDMetadata
internal import HWDSystem

/// The files that match a pattern like `frame-%04d.png`.
package struct ImageSeries: Hashable {
    /// The pattern with its directory.
    let path: String
    /// The lowest number of a file.
    let first: Int
    /// The number of consecutive files from there.
    let count: Int
    /// The number of files after the first gap.
    let afterGap: Int
    private let pattern: Pattern

    /// The most entries of a directory that are read.
    private static let maxFiles = 10_000_000

    /// A file name with one number in printf(3)'s notation.
    package struct Pattern: Hashable {
        let prefix: String
        let digits: Int
        let suffix: String

        /// Parses `frame-%04d.png`; nil for a name without exactly one number.
        package init?(_ name: some StringProtocol) {
            let parts = name.split(separator: "%", omittingEmptySubsequences: false)
            guard parts.count == 2, let end = parts[1].firstIndex(of: "d") else { return nil }
            let width = parts[1][..<end]
            guard width.isEmpty || (width.first == "0" && width.count <= 3), width.allSatisfy(\.isNumber),
                let digits = width.isEmpty ? 0 : Int(width), digits <= 18
            else { return nil }
            prefix = String(parts[0])
            self.digits = digits
            suffix = String(parts[1][parts[1].index(after: end)...])
        }

        /// The name with this number.
        package func name(_ number: Int) -> String {
            let text = String(number)
            return prefix + String(repeating: "0", count: max(0, digits - text.count)) + text + suffix
        }

        /// The number in a name; nil where the name does not match.
        package func number(_ name: String) -> Int? {
            guard name.count > prefix.count + suffix.count, name.hasPrefix(prefix), name.hasSuffix(suffix),
                let number = Int(name.dropFirst(prefix.count).dropLast(suffix.count)), number >= 0,
                number <= Int(Int32.max), self.name(number) == name
            else { return nil }
            return number
        }
    }

    /// Finds the files; nil when `path` is the name of a file, or no pattern.
    /// - Throws: `noInput` for a pattern that no file matches, or a directory that cannot be read.
    init?(_ path: String) throws(MediaError) {
        guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last,
            let pattern = Pattern(name), access(FileName.bytes(path), F_OK) != 0
        else { return nil }
        let parent = String(path.dropLast(name.count))
        let numbers = try Self.numbers(parent.isEmpty ? "." : parent, pattern, path)
        guard let first = numbers.min() else { throw MediaError(.noInput, "\(path): no file matches this pattern") }
        var last = first
        while numbers.contains(last + 1) { last += 1 }
        self.path = path
        self.pattern = pattern
        self.first = first
        count = last - first + 1
        afterGap = numbers.count - count
    }

    /// A warning about a gap, in one line; nil without one.
    var warning: String? {
        guard afterGap > 0 else { return nil }
        return "warning: the series ends before \(pattern.name(first + count)), which is missing; "
            + "\(afterGap) \(afterGap == 1 ? "file" : "files") after it \(afterGap == 1 ? "is" : "are") left out"
    }

    private static func numbers(
        _ directory: String, _ pattern: Pattern, _ path: String
    ) throws(MediaError) -> Set<Int> {
        do throws(Directory.Failure) {
            return Set(try Directory.names(in: directory, limit: maxFiles).compactMap(pattern.number))
        } catch { throw .opening(path, errno: error.errno) }
    }
}
