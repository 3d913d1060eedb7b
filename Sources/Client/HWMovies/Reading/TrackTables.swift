// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The samples and edits of a track while a movie is opened.
struct TrackTables: Sendable {
    let id: UInt32
    /// Ticks per second.
    let timeScale: UInt32
    private(set) var edited: EditList?
    private(set) var index: SampleIndex?
    /// Why its packets cannot be read; nil where they can.
    private(set) var fault: MovieError?

    /// Reads the tables of a `trak`.
    /// - Throws: an error where the track has no number or no time scale.
    init(_ box: Box, movieScale: UInt32, isFragmented: Bool) throws(BoxError) {
        guard let id = box.trackID.flatMap({ UInt32(exactly: $0) }), id > 0 else {
            throw BoxError("a track has no number")
        }
        guard let media = box.first("mdia", "mdhd"),
            let scale = media.fields.bigEndian(at: media.offsetAfterTimes, 4), scale > 0
        else { throw BoxError("track \(id) has no time scale") }
        (self.id, timeScale) = (id, UInt32(scale))
        do throws(BoxError) {
            guard let table = box.first(path: Box.sampleTablePath), let entries = table.first("stsd")?.children,
                entries.count <= MovieLimits.entries
            else { throw BoxError("it has no sample table, or more than \(MovieLimits.entries) sample entries") }
            edited = try EditList(
                box.first("edts", "elst"), scale: timeScale, movieScale: movieScale, isFragmented: isFragmented)
            index = try SampleIndex(table)
        } catch {
            fail(error)
        }
    }

    private mutating func fail(_ error: BoxError) {
        fault = MovieError(.malformed, "track \(id) cannot be read: \(error.reason)")
        index = nil
    }

    /// Adds the samples of a `traf`, whose boxes `fragment` has read already.
    mutating func append(_ fragment: inout TrackFragment) {
        guard var samples = index else {
            // The next track's samples may follow these.
            _ = try? fragment.runs(from: 0)
            return
        }
        // Without a second copy of the samples.
        index = nil
        do throws(BoxError) {
            try samples.append(try fragment.runs(from: samples.end), fragment.boxes)
            index = samples
        } catch {
            fail(error)
        }
    }
}

/// A `traf`: the samples of a track in a fragment (ISO/IEC 14496-12 8.8.6).
struct TrackFragment {
    let track: UInt32
    /// Its boxes other than the runs of samples.
    private(set) var boxes: [Box] = []
    /// The byte behind its last sample, once its runs are read.
    private(set) var end: UInt64
    /// Whether it has the boxes of encrypted samples (ISO/IEC 23001-7 7).
    private(set) var isEncrypted = false
    /// The number of its runs.
    var runCount: Int { bodies.count }
    private var bodies: [ArraySlice<UInt8>] = []
    private let base: UInt64
    private let defaults: FragmentDefaults
    private var time: Int64?

    /// Reads a `traf`.
    ///
    /// - Parameters:
    ///   - start: the position of its `moof`.
    ///   - previous: the byte behind the samples of the `traf` before; nil for the first.
    ///   - movie: what `trex` states, by track.
    init(
        _ body: ArraySlice<UInt8>, start: UInt64, previous: UInt64?, _ movie: [UInt32: FragmentDefaults]
    ) throws(BoxError) {
        var list = BoxList(body)
        var header: ArraySlice<UInt8>?
        var time: Int64?
        while let (box, body) = try list.next() {
            switch box.type {
            case "tfhd": header = body
            case "trun": bodies.append(body)
            case "tfdt":
                var fields = BoxFields("tfdt", body)
                let (version, _) = try fields.versionAndFlags(upTo: 1)
                time = Int64(exactly: try fields.number(version == 1 ? 8 : 4)) ?? greatestTime
            case "senc", "saiz", "saio": isEncrypted = true
            case "sgpd", "sbgp": boxes.append(Box(box.type, Array(body)))
            default: break
            }
        }
        guard let header else { throw BoxError("a fragment has no header of a track") }
        var fields = BoxFields("tfhd", header)
        let (_, flags) = try fields.versionAndFlags(upTo: 0)
        track = UInt32(try fields.number(4))
        var values = movie[track] ?? FragmentDefaults()
        let explicit = flags & 1 != 0 ? try fields.number(8) : nil
        if flags & 2 != 0 { values.entry = try fields.int(4) }
        if flags & 8 != 0 { values.duration = UInt32(try fields.number(4)) }
        if flags & 0x10 != 0 { values.size = UInt32(try fields.number(4)) }
        if flags & 0x20 != 0 { values.flags = UInt32(try fields.number(4)) }
        // Without either, the data of a later track follows that of the one before (8.8.7.1).
        base = explicit ?? (flags & 0x2_0000 != 0 ? start : previous ?? start)
        guard base < 1 << 62 else { throw BoxError("a fragment begins behind any file") }
        (defaults, end, self.time) = (values, base, time)
    }

    /// Reads the runs; `continuing` is the track's time behind the samples before, for a fragment without one of its own.
    mutating func runs(from continuing: Int64) throws(BoxError) -> [FragmentSamples] {
        var origin = FragmentSamples.Origin(base: base, next: base, time: time ?? continuing)
        var result: [FragmentSamples] = []
        for body in bodies {
            let run = try FragmentSamples(body, defaults, origin)
            (origin.next, origin.time) = (run.endOffset, run.end)
            result.append(run)
        }
        end = origin.next
        return result
    }
}
