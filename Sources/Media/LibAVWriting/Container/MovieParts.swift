// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDEdits
internal import HWDHEVC
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// What a .mov or .mp4 has beside the boxes that libavformat's muxer writes.
struct MovieParts {
    /// The contents of the source that are not written, one line each.
    var notes: [String] { metadata.notes }
    /// Whether metadata has QuickTime's keys, which are arbitrary, instead of its four-character atoms.
    let writesMetadataKeys: Bool

    /// The boxes of tracks of timed metadata by stream number.
    var timedMetadata: [Int32: TimedMetadataBoxes] = [:]

    private let isQuickTime: Bool
    /// Metadata that the muxer does not write.
    private var metadata: MovieMetadata
    /// Boxes of the source's sample entry that a copy keeps.
    private let carried: [Box]
    /// All boxes of that entry.
    private let sourceBoxes: [Box]?
    /// The end of the source's edit list in seconds.
    private let sourceEnd: Double?
    private var entries: SampleEntries?
    private var annotations: PictureAnnotations?
    /// Compatible brands that the muxer does not write.
    private var brands: [FourCC] = []
    private var sampleCount = 0
    private var timeBase = Rational(1)
    /// The latest times of pictures that are shown and hidden, and the end of those that are shown, in ticks.
    private var (lastShown, lastHidden, shownEnd) = (Int64.min, Int64.min, Int64.min)

    /// - Parameter copied: the source's metadata.
    init(_ format: OutputFormat, source: MediaReader?, _ edits: FileEdits, copied: [String: String]) {
        isQuickTime = format == .mov
        (carried, sourceBoxes) = (source?.carriedBoxes ?? [], source?.firstEntryBoxes)
        sourceEnd = edits.range == nil ? source?.editListEnd : nil
        writesMetadataKeys = isQuickTime && copied.keys.contains { $0.hasPrefix("com.") }
        metadata = writesMetadataKeys ? MovieMetadata() : MovieMetadata(copied, isQuickTime: isQuickTime)
    }

    /// The keys of metadata that the muxer would write in another form.
    var withheldKeys: [String] {
        isQuickTime && !writesMetadataKeys ? MovieMetadata.takenFromQuickTimeMuxer : []
    }

    /// Sets the video track.
    mutating func start(_ track: VideoTrack, _ boxes: VideoTrackBoxes, _ record: DecoderConfigurationRecord) {
        var boxes = boxes
        if track.isCopy { boxes.carried = carried }
        // QuickTime movies have no such brand.
        brands = boxes.isDolbyVision && !isQuickTime ? ["dby1"] : []
        entries = SampleEntries(
            boxes, record, hvcC: track.hvcC, source: sourceBoxes, carried: FileContent.carriedTypes,
            isQuickTime: isQuickTime)
        annotations = PictureAnnotations(record, isQuickTime: isQuickTime)
        timeBase = track.timeBase
    }

    /// Changes the configuration of the samples that follow.
    mutating func change(to configuration: TrackConfiguration) throws(MediaError) {
        try entries?.change(to: configuration, atSample: sampleCount)
        annotations?.change(to: try configuration.record())
    }

    /// The number of sample entries of the video track.
    var entryCount: Int { entries?.count ?? 0 }

    /// Notes a sample of the video, with its times in ticks.
    mutating func note(_ accessUnit: UnsafeRawBufferPointer, pts: Int64, duration: Int64, isShown: Bool) {
        annotations?.note(accessUnit)
        if isShown {
            (lastShown, shownEnd) = (max(lastShown, pts), max(shownEnd, pts + max(0, duration)))
        } else {
            lastHidden = max(lastHidden, pts)
        }
        sampleCount += 1
    }

    /// Adds metadata of the file itself.
    mutating func annotate(_ key: String, _ value: String) { metadata.add(key, value) }

    /// A stream without packets gets no track, but keeps its number.
    private func writeTimedMetadata(into movie: inout Box) throws(BoxError) {
        for index in movie.children.indices {
            guard let number = movie.children[index].trackID, let boxes = timedMetadata[Int32(number - 1)] else {
                continue
            }
            try boxes.write(into: &movie.children[index])
        }
    }

    /// Completes the file that the muxer has written.
    ///
    /// - Parameter properties: of the tracks, in their order.
    mutating func finish(_ descriptor: Int32, _ properties: [TrackProperties]) throws(BoxError) {
        let parts = self
        try MovieFile.finish(descriptor, brands: brands) { movie throws(BoxError) in
            try parts.entries?.write(into: &movie, parts.annotations)
            try TrackProperties.write(properties, into: &movie)
            try parts.metadata.write(into: &movie, isQuickTime: parts.isQuickTime)
            try parts.writeTimedMetadata(into: &movie)
            if parts.lastHidden >= parts.lastShown, parts.shownEnd > 0 {
                let end = min(Double(parts.shownEnd) * parts.timeBase.value, parts.sourceEnd ?? .infinity)
                try EditListEnd.write(end, track: 1, into: &movie)
            }
        }
    }
}
