// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

extension MediaReader {
    /// A chapter, in seconds.
    package struct Chapter: Hashable {
        package var start: Double
        package var title: String
    }

    /// The timecode of the first frame; nil without one.
    package var timecode: String? {
        guard let demuxer = libAV?.demuxer else { return nil }
        // mov.c copies the timecode of a track to the video that refers to it.
        return LibAVDictionary.value(demuxer.video?.metadata, "timecode")
            ?? LibAVDictionary.value(demuxer.context.pointee.metadata, "timecode")
            ?? (0..<demuxer.streamCount).lazy.compactMap {
                LibAVDictionary.value(demuxer.stream($0)?.pointee.metadata, "timecode")
            }.first
    }

    /// The most chapters that are listed.
    private static let maxChapters = 10_000

    /// The chapters of the file, the first ones of very many.
    package var chapters: [Chapter] {
        guard let source = libAV else { return [] }
        let context = source.demuxer.context.pointee
        return (0..<min(Self.maxChapters, Int(context.nb_chapters))).compactMap { index in
            guard let chapter = context.chapters?[index]?.pointee,
                let base = Rational(positive: chapter.time_base), Ticks.isPossible(chapter.start)
            else { return nil }
            let start = max(0, chapter.start + source.timeline.initialOffset(in: base))
            return Chapter(
                start: Double(start) * base.value, title: LibAVDictionary.value(chapter.metadata, "title") ?? "")
        }
    }
}
