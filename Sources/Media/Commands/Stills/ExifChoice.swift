// SPDX-License-Identifier: GPL-2.0-or-later

/// Whose Exif a HEIC file gets.
enum ExifChoice: Equatable {
    /// That of the picture; without one it is an error where the choice was given.
    case keep(isGiven: Bool)
    case drop
    /// That of another file, which must have some.
    case file(String)

    /// - Parameter word: of `--exif`; nil where it is not given. A file named keep or drop is ./keep or ./drop.
    init(_ word: String?) {
        switch word {
        case nil: self = .keep(isGiven: false)
        case "keep", "copy": self = .keep(isGiven: true)
        case "drop": self = .drop
        case let path?: self = .file(path)
        }
    }

    /// The file; nil for the picture's own.
    var path: String? {
        if case .file(let path) = self { return path }
        return nil
    }
}
