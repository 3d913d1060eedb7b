// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
package import HWDBoxes
public import HWDMetadata
internal import HWDSystem

/// The video of a Live Photo: a movie with the identifier of the pair, and the time of its still picture.
public struct LivePhotoClip: Hashable, Sendable {
    static let identifierKey = "com.apple.quicktime.content.identifier"

    /// The identifier of the pair; nil without one.
    public private(set) var identifier: String?
    /// When the still picture was taken, in seconds; nil where nothing says so.
    public private(set) var stillTime: Double?
    /// The length in seconds.
    public private(set) var duration = 0.0

    /// Reads a movie.
    ///
    /// - Throws: `noInput`, `noPermission`, `io`; `badInput` for a damaged file, and for one that is no movie.
    public init(_ path: String) throws(MediaError) {
        let descriptor = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .opening(path, errno: errno) }
        defer { close(descriptor) }
        do throws(BoxError) {
            let entries = try MovieFile.entries(descriptor)
            guard let entry = entries.first(where: { $0.type == "moov" }) else {
                throw BoxError("the file has no moov box")
            }
            try self.init(MovieFile.movie(descriptor, entry))
        } catch { throw MediaError(.badInput, "\(path) is no movie that can be a clip: \(error.reason)") }
    }

    init(_ movie: Box) throws(BoxError) {
        let header = try MovieHeader(movie)
        duration = Double(header.duration) / Double(header.timeScale)
        if let meta = movie.first("meta"), let keys = try? MovieKeys(meta) {
            identifier = keys.text(Self.identifierKey)
        }
        stillTime = movie.children.first(where: StillTimeTrack.matches).map {
            Double(StillTimeTrack.time($0)) / Double(header.timeScale)
        }
    }

    /// Adds the identifier of a pair and the time of the still picture to a movie, in place of those that it has.
    ///
    /// - Parameter time: in seconds.
    /// - Throws: `badInput` for a movie without a video track, or a time outside of it.
    package static func edit(_ movie: inout Box, _ identifier: String, time: Double, sampleAt offset: UInt64)
        throws(BoxError)
    {
        let header = try MovieHeader(movie)
        guard time >= 0, time <= Double(header.duration) / Double(header.timeScale),
            let ticks = UInt32(exactly: (time * Double(header.timeScale)).rounded())
        else { throw BoxError("the time of the still picture is not inside the clip") }
        let video = movie.children.first {
            $0.type == "trak" && $0.first("mdia", "hdlr")?.fields.fourCC(at: 8) == "vide"
        }
        guard let video, let id = video.trackID, let videoID = UInt32(exactly: id),
            let media = video.first("mdia", "mdhd"),
            let scale = media.fields.bigEndian(at: media.offsetAfterTimes, 4), scale > 0
        else { throw BoxError("the clip has no video track") }
        movie.children.removeAll(where: StillTimeTrack.matches)
        let track = StillTimeTrack(
            id: try header.takeTrackID(&movie), video: videoID, movieScale: header.timeScale,
            timeScale: UInt32(scale), time: ticks, offset: offset)
        let place = movie.children.lastIndex { $0.type == "trak" }.map { $0 + 1 } ?? movie.children.endIndex
        movie.children.insert(track.box, at: place)
        var keys =
            try movie.first("meta").map { (meta) throws(BoxError) in try MovieKeys(meta) }
            ?? MovieKeys(isQuickTime: true)
        keys.set(identifierKey, identifier)
        movie.put(keys.box)
    }
}

/// What a description of a file says of a Live Photo.
public struct LivePhotoDescription: Hashable, Sendable, Encodable {
    /// The identifier of the pair; nil without one.
    public let contentIdentifier: String?
    /// When the still picture was taken, in seconds; nil where nothing says so.
    public let stillImageTime: Double?

    enum CodingKeys: String, CodingKey {
        case contentIdentifier = "content_identifier"
        case stillImageTime = "still_image_time"
    }

    /// nil for a clip that has neither.
    init?(_ clip: LivePhotoClip) {
        guard clip.identifier != nil || clip.stillTime != nil else { return nil }
        (contentIdentifier, stillImageTime) = (clip.identifier, clip.stillTime)
    }
}

/// The header of a movie (ISO/IEC 14496-12 8.2.2).
private struct MovieHeader {
    let timeScale: UInt32
    let duration: UInt64

    init(_ movie: Box) throws(BoxError) {
        guard let header = movie.first("mvhd") else { throw BoxError("the movie has no header") }
        let isLong = header.fields.first == 1
        let place = isLong ? 20 : 12
        guard let scale = header.fields.bigEndian(at: place, 4), scale > 0,
            let duration = header.fields.bigEndian(at: place + 4, isLong ? 8 : 4)
        else { throw BoxError("the movie's header is cut off") }
        (timeScale, self.duration) = (UInt32(scale), duration)
    }

    /// A number for another track, behind those that the movie has; the header names the next one.
    func takeTrackID(_ movie: inout Box) throws(BoxError) -> UInt32 {
        let highest = movie.children.compactMap(\.trackID).max() ?? 0
        guard let id = UInt32(exactly: highest + 1), id < .max - 1 else {
            throw BoxError("the movie can have no other track")
        }
        try movie.edit(["mvhd"]) { header throws(BoxError) in
            guard header.fields.count >= 8 else { throw BoxError("the movie's header is cut off") }
            var next: [UInt8] = []
            next.appendBigEndian(id + 1)
            header.fields.replaceSubrange(header.fields.count - 4..<header.fields.count, with: next)
        }
        return id
    }
}
