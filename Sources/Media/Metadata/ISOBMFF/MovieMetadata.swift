// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// The metadata of a movie that libavformat's muxer leaves out: user data, and items with keys of any name.
///
/// Items are in a `meta` box of handler type `mdta` ("QuickTime File Format", metadata), which cameras use for their make,
/// model, place and date; in .mp4, too, players read it.
package struct MovieMetadata: Hashable, Sendable {
    /// Keys and values, in the order of keys.
    private var items: [Item] = []
    private var userData: [UserData] = []
    /// A line about what is not written; none where all is.
    package private(set) var notes: [String] = []

    private struct Item: Hashable {
        let key: String
        let value: String
    }

    fileprivate struct UserData: Hashable {
        let type: FourCC
        let text: String
    }

    /// What a file may add to a movie: bytes of a key, of a value and of all, and keys.
    private static let maxKeySize = 1 << 10
    private static let maxValueSize = 1 << 16
    private static let maxSize = 1 << 20
    private static let maxCount = 1000

    /// What libavformat's muxer writes in .mp4, from keys without a domain (movenc.c).
    private static let writtenInMP4: Set = [
        "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
        "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "episode_sort",
        "season_number", "media_type", "hd_video", "gapless_playback", "compilation", "track", "disc", "tmpo",
    ]
    /// The same in .mov.
    private static let writtenInQuickTime: Set = [
        "title", "artist", "album", "date", "comment", "genre", "copyright", "make", "model", "location",
    ]
    /// Keys that are withheld from the .mov muxer: libavformat reads their atoms back as another key (©aut as the artist).
    package static let takenFromQuickTimeMuxer = ["author"]
    /// Keys that QuickTime has in its own domain.
    private static let domainKeys: Set = [
        "author", "description", "director", "information", "keywords", "producer", "publisher", "software",
    ]
    /// The file's times are fields of its header.
    private static let headerKeys: Set = ["creation_time"]
    /// User data whose keys libavformat reads without a domain: ©mak, ©mod, ©xyz (ISO 6709) and ©day.
    private static let userDataTypes: [String: FourCC] = [
        "make": FourCC(rawValue: 0xA96D_616B), "model": FourCC(rawValue: 0xA96D_6F64),
        "location": FourCC(rawValue: 0xA978_797A), "date": FourCC(rawValue: 0xA964_6179),
    ]
    /// Where cameras store what players that do not read it find in user data.
    private static let cameraKeys = [
        ("location", "com.apple.quicktime.location.ISO6709"), ("make", "com.apple.quicktime.make"),
        ("model", "com.apple.quicktime.model"), ("date", "com.apple.quicktime.creationdate"),
    ]

    /// Nothing.
    package init() {}

    /// What remains of a source's metadata, without the keys of its container.
    package init(_ metadata: [String: String], isQuickTime: Bool) {
        let written = isQuickTime ? Self.writtenInQuickTime : Self.writtenInMP4
        var (size, left) = (0, [String]())
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let name = key.lowercased()
            guard !value.isEmpty, !written.contains(name), !Self.headerKeys.contains(name),
                !Self.isTranslation(key, value, of: metadata)
            else { continue }
            let bytes = key.utf8.count + value.utf8.count
            guard key.utf8.count <= Self.maxKeySize, value.utf8.count < Self.maxValueSize,
                size + bytes <= Self.maxSize, items.count + userData.count < Self.maxCount
            else {
                left.append(key)
                continue
            }
            size += bytes
            if let type = Self.userDataTypes[name] {
                userData.append(UserData(type: type, text: value))
            } else {
                let isQuickTimes = Self.domainKeys.contains(name)
                items.append(Item(key: isQuickTimes ? "com.apple.quicktime.\(name)" : key, value: value))
            }
        }
        if !isQuickTime { addCameraData(metadata) }
        notes = Self.note(left, because: "they exceed what is copied").map { [$0] } ?? []
    }

    /// Adds a camera's make, model, place and date as user data, where the source does not have them there.
    private mutating func addCameraData(_ metadata: [String: String]) {
        for (name, key) in Self.cameraKeys where metadata[name] == nil {
            guard let text = metadata[key], text.utf8.count < Self.maxValueSize, let type = Self.userDataTypes[name]
            else { continue }
            userData.append(UserData(type: type, text: text))
        }
    }

    /// Adds an item that the source does not have.
    package mutating func add(_ key: String, _ value: String) { items.append(Item(key: key, value: value)) }

    /// A line that names keys which are not written; nil without any.
    package static func note(_ keys: [String], because reason: String) -> String? {
        guard !keys.isEmpty else { return nil }
        let names = keys.prefix(8).map { String($0.prefix(64)) }.joined(separator: ", ")
        return
            "metadata are not written (\(names)\(keys.count > 8 ? " and \(keys.count - 8) more" : "")): \(reason)"
    }

    /// Whether a key such as `title-eng` repeats the value of `title`, as libavformat returns it.
    private static func isTranslation(_ key: String, _ value: String, of metadata: [String: String]) -> Bool {
        let parts = key.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count > 1, let language = parts.last, language.utf8.count == 3 else { return false }
        return metadata[String(key.dropLast(4))] == value
    }

    /// Adds the boxes to a movie.
    package func write(into movie: inout Box, isQuickTime: Bool) throws(BoxError) {
        if !userData.isEmpty {
            if movie.first("udta") == nil { movie.children.append(Box("udta", [])) }
            try movie.edit(["udta"]) { (box) throws(BoxError) in
                for entry in userData { box.fields += entry.box.bytes }
            }
        }
        guard !items.isEmpty, movie.first("meta") == nil else { return }
        var keys = MovieKeys(isQuickTime: isQuickTime)
        for item in items { keys.append(item.key, item.value) }
        movie.children.append(keys.box)
    }
}

extension MovieMetadata.UserData {
    /// International text of an undetermined language ("QuickTime File Format", user data text strings).
    fileprivate var box: Box {
        var body: [UInt8] = []
        body.appendBigEndian(UInt16(clamping: text.utf8.count))
        body.appendBigEndian(UInt16(0x55C4))
        return Box(type, body + Array(text.utf8))
    }
}
