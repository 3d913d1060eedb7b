// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Copies a source's metadata, chapters and timecode to an output.
enum FileCopy {
    /// Keys that describe the source's container, not its contents.
    private static let fileKeys = [
        "major_brand", "minor_version", "compatible_brands", "encoder", "timecode", MediaWriter.partKey,
    ]
    private static let trackKeys = ["encoder", "timecode", "rotate", "stereo_mode"]
    /// The most chapters that are copied: their titles are in memory.
    private static let maxChapters = 10_000

    /// Copies the file's metadata, except for keys that describe its container.
    /// - Returns: the metadata; no keys without a source.
    static func metadata(
        from source: MediaReader?, to output: UnsafeMutablePointer<AVFormatContext>
    ) -> [String: String] {
        guard let source, let input = source.libAV else { return [:] }
        av_dict_copy(&output.pointee.metadata, input.demuxer.context.pointee.metadata, 0)
        for key in fileKeys { av_dict_set(&output.pointee.metadata, key, nil, 0) }
        return LibAVDictionary.all(output.pointee.metadata)
    }

    /// The keys of a file's metadata that describe its contents, in alphabetical order.
    static func contentKeys(of source: MediaReader) -> [String] {
        guard let input = source.libAV else { return [] }
        return LibAVDictionary.all(input.demuxer.context.pointee.metadata).keys.filter {
            !(fileKeys + ["creation_time"]).contains($0.lowercased())
        }.sorted()
    }

    /// What an output does not get of a source, one line each; other streams have lines of their own.
    ///
    /// - Parameter isCopy: whether the pictures are copied.
    static func losses(of source: MediaReader?, _ format: OutputFormat, isCopy: Bool) -> [String] {
        guard let source else { return [] }
        let lines = [switchedOn(source, format), arrangement(source, format), unwritable(source, format)]
        return lines.compactMap { $0 }
            + FileContent.allCases.compactMap { content in
                let treatment = content.treatment(in: format)
                guard treatment == .named || treatment == .copied && !isCopy else { return nil }
                let reason =
                    treatment == .copied
                    ? "it does not describe encoded pictures"
                    : format.isByteStream ? "\(format.title) holds only video" : "\(format.title) holds none"
                return loss(content, of: source, format, because: reason)
            }
    }

    /// A line about something that an output does not get; nil where the source does not have it.
    private static func loss(
        _ content: FileContent, of source: MediaReader, _ format: OutputFormat, because reason: String
    ) -> String? {
        let video = source.video
        func line(_ isThere: Bool, _ name: String? = nil) -> String? {
            isThere ? "the \(name ?? content.title) is not written: \(reason)" : nil
        }
        switch content {
        case .crop: return video.croppingNote(format.isByteStream ? "a raw .hevc stream" : format.title)
        case .metadata: return MovieMetadata.note(contentKeys(of: source), because: reason)
        case .chapters:
            let count = source.libAV?.demuxer.context.pointee.nb_chapters ?? 0
            return count > 0 ? "chapters are not written: \(reason)" : nil
        case .rotation:
            return line(video.rotation != 0, "rotation by \(Int(video.rotation))°").map { "warning: \($0)" }
        case .timecode:
            return line(timecode(from: source, rate: video.averageFrameRate ?? video.baseFrameRate) != nil)
        case .profile: return line(video.profile != nil || video.profileVaries)
        case .projection: return line(!video.projection.isEmpty).map { "warning: \($0)" }
        case .views where format.isByteStream && source.carriedBoxes.contains { $0.type == "lhvC" }:
            return
                "warning: the parameter sets of the second view or layer (lhvC) are not written: a raw .hevc stream "
                + "shows the base layer alone"
        case .views, .colorVolume:
            let types = source.carriedBoxes.map(\.type.description).filter(content.boxes.contains)
            return line(!types.isEmpty, "\(content.title) (\(types.joined(separator: ", ")))")
        case .tracks: return tracksLoss(source, format, because: reason)
        case .unknown:
            let names = source.unknownContents
            guard !names.isEmpty else { return nil }
            let rest = names.count > 8 ? " and \(names.count - 8) more" : ""
            return
                "not written, because their types are not known: \(names.prefix(8).joined(separator: ", "))\(rest)"
        // Streams have lines of their own.
        case .audio, .subtitle, .streams, .timestamps, .duration, .dolbyVision: return nil
        case .frames, .size, .aspect, .fields, .depth, .chroma, .color, .mastering, .light, .ambient, .rpu,
            .hdr10Plus, .captions, .alpha, .levels, .pictures:
            return nil
        }
    }

    /// A warning about subtitles that are off in the source; nil where the output's muxer leaves them off.
    ///
    /// The muxer of .mp4 enables the first track of each kind where no other is the default, and fragments cannot be changed.
    private static func switchedOn(_ source: MediaReader, _ format: OutputFormat) -> String? {
        let tracks = source.otherStreams.filter { $0.content == .subtitle && !$0.isOfOtherProgram }
        guard format == .fmp4, let first = tracks.first, !tracks.contains(where: { $0.flags.contains(.shown) })
        else {
            return nil
        }
        return "warning: \(first.description) is off in the source and on in \(format.title)"
    }

    /// A warning about an arrangement of two views that `st3d` has no number for, such as a checkerboard; Matroska has names.
    private static func arrangement(_ source: MediaReader, _ format: OutputFormat) -> String? {
        guard format != .matroska, let name = source.video.stereoMode,
            !source.video.projection.contains(where: { $0.type == "st3d" })
        else { return nil }
        return
            "warning: the 3D arrangement (\(name.printable(maxBytes: 64))) is not written: \(format.title) holds none"
    }

    /// A warning about a projection and an arrangement that libavformat's muxers of formats with boxes or elements for them cannot
    /// write: a mesh, the right view at the left in fragments, or an arrangement that a mesh describes.
    private static func unwritable(_ source: MediaReader, _ format: OutputFormat) -> String? {
        guard format == .matroska || format == .fmp4, let stream = source.libAV?.demuxer.video else { return nil }
        let lost = source.video.projection.filter { box in
            guard box.type == "st3d" else {
                return box.type == "sv3d"
                    && stream.sideData(AV_PKT_DATA_SPHERICAL, as: AVSphericalMapping.self) == nil
            }
            if Projection.number(box) == 0 { return false }
            return format == .matroska
                ? Projection.stereoMode(box) == nil : ![1, 2].contains(Projection.number(box))
        }
        guard !lost.isEmpty else { return nil }
        let types = lost.map(\.type.description).joined(separator: ", ")
        return
            "warning: the \(FileContent.projection.title) (\(types)) is not written: \(format.title) holds none of its kind"
    }

    /// A line about the titles and flags of sound and subtitles; nil without any.
    ///
    /// libavformat's NUT has titles, and some of the flags.
    private static func tracksLoss(
        _ source: MediaReader, _ format: OutputFormat, because reason: String
    ) -> String? {
        let (isNUT, held): (Bool, Set<TrackFlag>) =
            format == .nut ? (true, [.shown, .commentary, .dubbed]) : (false, [.shown])
        let tracks = source.otherStreams.filter { track in
            guard track.content == .audio || track.content == .subtitle, !track.isOfOtherProgram else {
                return false
            }
            return !isNUT && track.title != nil || !track.flags.subtracting(held).isEmpty
        }
        guard !tracks.isEmpty else { return nil }
        let list = tracks.prefix(4).map { "\($0.index)" }.joined(separator: ", ")
        let streams = "(streams \(list)\(tracks.count > 4 ? ", …" : ""))"
        return isNUT
            ? "flags of tracks are not written \(streams): NUT holds default, commentary and dubbed alone"
            : "titles and flags of tracks are not written \(streams): \(reason)"
    }

    /// Copies a track's disposition and metadata, such as its name and language.
    ///
    /// - Parameter title: the title, which libavformat does not read of .mov and .mp4.
    static func trackMetadata(
        from source: AVStream, to target: UnsafeMutablePointer<AVStream>, title: String? = nil
    ) {
        target.pointee.disposition = withUnsafePointer(to: source) { clibav_disposition($0) }
        if let title { av_dict_set(&target.pointee.metadata, "title", title, 0) }
        av_dict_copy(&target.pointee.metadata, source.metadata, 0)
        for key in trackKeys { av_dict_set(&target.pointee.metadata, key, nil, 0) }
    }

    /// Copies the metadata of the video's track, and sets its timecode.
    static func videoMetadata(
        from source: MediaReader?, to output: UnsafeMutablePointer<AVFormatContext>, timecode: String?
    ) {
        guard let source, let input = source.libAV, let from = input.demuxer.video,
            let stream = output.pointee.streams?[0]
        else { return }
        trackMetadata(from: from, to: stream)
        av_dict_set(&stream.pointee.metadata, "timecode", timecode, 0)
    }

    /// Copies the chapters to a format that stores them, as far as they are in a range of time.
    /// - Returns: a note about those that are not written; nil without any.
    static func chapters(
        from source: MediaReader?, to output: UnsafeMutablePointer<AVFormatContext>, _ format: OutputFormat,
        _ range: TimeRange?
    ) -> String? {
        guard format.storesChapters else { return nil }
        let count = chapters(from: source, to: output, range)
        if format.isMovie { fillChapters(of: output) }
        return chaptersNote(from: source, written: count, range)
    }

    /// Copies the chapters, as far as they are in a range of time.
    /// - Returns: their number.
    private static func chapters(
        from source: MediaReader?, to output: UnsafeMutablePointer<AVFormatContext>, _ range: TimeRange?
    ) -> Int {
        guard let source, let input = source.libAV else { return 0 }
        let from = input.demuxer.context.pointee
        let count = min(Int(from.nb_chapters), maxChapters)
        let end = contentEnd(input.demuxer)
        // libavformat frees the array of pointers, and each chapter, with the context.
        guard count > 0, let chapters = from.chapters,
            let memory = av_calloc(count + 1, MemoryLayout<UnsafeMutablePointer<AVChapter>?>.stride)
        else { return 0 }
        let copies = memory.bindMemory(to: UnsafeMutablePointer<AVChapter>?.self, capacity: count + 1)
        output.pointee.chapters = copies
        for index in 0..<count {
            guard let chapter = chapters[index]?.pointee, chapter.end > chapter.start,
                Ticks.isPossible(chapter.start), Ticks.isPossible(chapter.end),
                let copy = av_mallocz(MemoryLayout<AVChapter>.size)?.bindMemory(to: AVChapter.self, capacity: 1)
            else { continue }
            copy.pointee.id = chapter.id
            copy.pointee.time_base = chapter.time_base
            let base = Rational(positive: chapter.time_base)
            let offset = base.map(input.timeline.initialOffset) ?? 0
            let (first, last) = base.flatMap { range?.ticks(in: $0) } ?? (0, .max)
            // A chapter behind the end would lengthen a movie, whose chapters are a track.
            let limit = min(last, base.flatMap { base in end.map { ticks($0, base) } } ?? .max)
            copy.pointee.start = max(0, chapter.start + offset - first)
            copy.pointee.end = max(copy.pointee.start, min(chapter.end + offset, limit) - first)
            if range != nil || end != nil, copy.pointee.end == copy.pointee.start {
                av_free(copy)
                continue
            }
            av_dict_copy(&copy.pointee.metadata, chapter.metadata, 0)
            copies[Int(output.pointee.nb_chapters)] = copy
            output.pointee.nb_chapters += 1
        }
        return Int(output.pointee.nb_chapters)
    }

    /// Seconds in ticks of a time base, no more than times may have.
    static func ticks(_ seconds: Double, _ base: Rational) -> Int64 {
        Int64(max(0, min((seconds / base.value).rounded(), Double(Ticks.bound))))
    }

    /// Puts a chapter without a title before the first one, if that begins later than the file: the chapters of a movie are a
    /// track whose first sample begins with it.
    ///
    /// Chapters without a title get an empty one: the muxer skips others, and gives their times to the next.
    private static func fillChapters(of output: UnsafeMutablePointer<AVFormatContext>) {
        let count = Int(output.pointee.nb_chapters)
        for index in 0..<count {
            guard let chapter = output.pointee.chapters?[index] else { continue }
            av_dict_set(&chapter.pointee.metadata, "title", "", AV_DICT_DONT_OVERWRITE)
        }
        guard count > 0, let chapters = output.pointee.chapters, let first = chapters[0]?.pointee, first.start > 0,
            let filler = av_mallocz(MemoryLayout<AVChapter>.size)?.bindMemory(to: AVChapter.self, capacity: 1)
        else { return }
        (filler.pointee.time_base, filler.pointee.end) = (first.time_base, first.start)
        av_dict_set(&filler.pointee.metadata, "title", "", 0)
        for index in (0..<count).reversed() { chapters[index + 1] = chapters[index] }
        chapters[0] = filler
        output.pointee.nb_chapters += 1
    }

    /// A note about chapters behind the end of the source's video and sound, which are not written; nil without any.
    private static func chaptersNote(
        from source: MediaReader?, written: Int, _ range: TimeRange?
    ) -> String? {
        let count = source?.libAV.map { min(Int($0.demuxer.context.pointee.nb_chapters), maxChapters) } ?? 0
        guard range == nil, written < count else { return nil }
        return "\(count - written) of \(count) chapters are not written: they are empty, or behind the file's end"
    }

    /// The end of a source's video and sound in seconds on the time line of the output; nil where it is not known.
    private static func contentEnd(_ demuxer: Demuxer) -> Double? {
        var ends: [Double] = []
        for index in 0..<Int(demuxer.context.pointee.nb_streams) {
            guard let stream = demuxer.stream(index)?.pointee, let type = stream.codecpar?.pointee.codec_type,
                [AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO].contains(type), stream.duration > 0,
                Ticks.isPossible(stream.duration)
            else { continue }
            let start = Ticks.isPossible(stream.start_time) ? max(0, stream.start_time) : 0
            ends.append(Double(start + stream.duration) * av_q2d(stream.time_base))
        }
        let duration = demuxer.context.pointee.duration
        // Matroska has no durations of streams.
        return ends.max() ?? (duration > 0 && Ticks.isPossible(duration) ? Double(duration) / 1_000_000 : nil)
    }

    /// The duration of the longest chapter in seconds; 0 without chapters.
    static func longestChapter(_ output: UnsafeMutablePointer<AVFormatContext>) -> Double {
        (0..<Int(output.pointee.nb_chapters)).reduce(0) { longest, index in
            guard let chapter = output.pointee.chapters?[index]?.pointee else { return longest }
            return max(longest, Double(chapter.end - chapter.start) * av_q2d(chapter.time_base))
        }
    }

    /// The timecode of the input's first frame at `start` microseconds or later; nil without one, and where it is invalid
    /// at `rate`.
    static func timecode(from source: MediaReader?, rate: Rational?, start: Int64 = 0) -> String? {
        guard let source, let rate, let input = source.libAV, let video = input.demuxer.video,
            let text = LibAVDictionary.value(video.metadata, "timecode")
                ?? LibAVDictionary.value(input.demuxer.context.pointee.metadata, "timecode")
        else { return nil }
        var timecode = AVTimecode()
        guard av_timecode_init_from_string(&timecode, rate.libAV, text, nil) >= 0 else { return nil }
        let frames = (Double(start) / 1_000_000 * rate.value - 0.01).rounded(.up)
        guard frames > 0 else { return text }
        guard frames < 1e9 else { return nil }
        var moved = [CChar](repeating: 0, count: Int(AV_TIMECODE_STR_SIZE))
        av_timecode_make_string(&timecode, &moved, Int32(frames))
        return moved.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }
}
