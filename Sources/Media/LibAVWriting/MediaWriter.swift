// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
public import HWDEdits
internal import HWDHEVC
public import HWDLibAVReading
public import HWDMetadata
internal import Synchronization
internal import HWDSystem

/// Writes HEVC to a file or to standard output ("-").
///
/// The file gets its name when `finish` has written all of it, never before. Calls may come from several threads.
public final class MediaWriter: Sendable {
    /// The supported file extensions.
    public static let endings = OutputFormat.fileExtensions

    /// The key of the annotation that makes a file a segment of another.
    public static let partKey = "org.hwdaemon.segment"

    /// The output's format.
    public let format: OutputFormat
    /// The contents of the source that the output lacks, with reasons, one line each.
    public let notes: [String]
    /// The streams of the source that the output gets beside the video.
    public let copiedStreams: [OtherStream]
    /// The sound and text that is converted to another codec, one line each.
    public let conversions: [String]

    private let state: Mutex<State>

    private enum State: Sendable {
        case container(ContainerWriter)
        /// A byte stream whose parameter sets are not known yet.
        case unstarted(ByteSink)
        case annexB(AnnexBWriter)
        /// A complete file, with the warnings about it.
        case finished([String])
        case done
    }

    /// Opens the output, so that what prevents writing it is found before any work is done.
    ///
    /// - Parameters:
    ///   - path: a name with one of `endings`, or "-".
    ///   - stream: the format on standard output; nil is a byte stream of HEVC.
    ///   - source: the input; its metadata are copied. The output must be another file.
    ///   - edits: what a container gets of the input.
    ///   - replaces: whether a file of that name is replaced; otherwise it is an error, also at the end.
    /// - Throws: `usage` for an unknown extension or an output that is the input, `cannotCreate`, `unsupported` where sound
    ///   would be lost.
    public init(
        path: String, stream: OutputFormat? = nil, source: MediaReader? = nil, edits: FileEdits = FileEdits(),
        replaces: Bool = true
    ) throws(MediaError) {
        format = try OutputFormat(path: path, stream: stream)
        let sink: ByteSink =
            path == "-"
            ? try .standardOutputNotTerminal()
            : .file(try AtomicFile(path: path, inputs: source.map { [$0.file.path] } ?? [], replaces: replaces))
        guard format.isByteStream else {
            let writer = try ContainerWriter(sink, format, source: edits.isVideoOnly ? nil : source, edits: edits)
            (notes, copiedStreams, conversions) = (writer.notes, writer.copiedStreams, writer.conversions)
            state = Mutex(.container(writer))
            return
        }
        state = Mutex(.unstarted(sink))
        (copiedStreams, conversions) = ([], [])
        notes = Self.notesOfByteStream(source, edits)
    }

    static func notesOfByteStream(_ source: MediaReader?, _ edits: FileEdits) -> [String] {
        OtherStream.notes(of: source?.otherStreams ?? [], because: ".hevc holds only video")
            + FileCopy.losses(of: source, .hevc, isCopy: edits.isCopy)
    }

    /// Sets the video track; called once, before the first packet.
    /// - Throws: `usage` for a track that cannot be written or a second call, `io`.
    public func start(_ track: VideoTrack) throws(MediaError) {
        let record = try TrackConfiguration(hvcC: track.hvcC).record()
        let boxes = try VideoTrackBoxes(track, record)
        try withState { state throws(MediaError) in
            switch state {
            case .container(let writer): try writer.start(track, boxes, record)
            case .unstarted(let sink): state = .annexB(AnnexBWriter(sink: sink, record: record))
            case .annexB, .finished, .done: throw MediaError(.usage, "the output is already started")
            }
        }
    }

    /// Changes the parameter sets of the packets that follow; a .mov or .mp4 gets another sample entry.
    /// - Throws: `usage` for a damaged record and before `start`, `unsupported` for too many changes.
    public func change(to configuration: TrackConfiguration) throws(MediaError) {
        let record = try configuration.record()
        try withState { state throws(MediaError) in
            switch state {
            case .container(let writer): try writer.change(to: configuration, record)
            case .annexB(var writer):
                writer.change(to: record)
                state = .annexB(writer)
            case .unstarted, .finished, .done:
                throw MediaError(.usage, "a configuration cannot change before the track or after the end")
            }
        }
    }

    /// Makes the file a part of a video; any time before `finish`, which replaces `PartDigest.blank` in the record.
    ///
    /// - Parameters:
    ///   - record: JSON text, the value of the annotation `partKey`.
    ///   - packets: the digest of the packets.
    /// - Throws: `usage` for another format than .mov and .mp4.
    public func annotate(part record: String, packets: PacketDigest) throws(MediaError) {
        let packets = packets.text
        try withState { state throws(MediaError) in
            guard case .container(let writer) = state else {
                throw MediaError(.usage, "only an open .mov or .mp4 can be annotated")
            }
            try writer.annotate(part: record, packets: packets)
        }
    }

    /// The number of sample entries of the video track, 1 in formats that have none; nil for a byte stream, and after the end.
    public var sampleEntryCount: Int? {
        state.withLock { state in if case .container(let writer) = state { writer.entryCount } else { nil } }
    }

    /// Writes one access unit: NAL units with 4-byte lengths, in decoding order.
    ///
    /// - Parameters:
    ///   - pts: presentation time in ticks of the track's time base; not before `dts`.
    ///   - dts: decoding time, after the preceding packet's. The first may be negative.
    ///   - duration: duration in ticks; the container stores it for the last packet alone.
    ///   - isSync: whether decoding can start with it.
    ///   - isShown: whether its picture is shown; others at the end are excluded by the track's edit list.
    /// - Throws: `usage` for packets out of order, `badInput` for times that the container cannot hold, `io`.
    public func write(
        _ accessUnit: UnsafeRawBufferPointer, pts: Int64, dts: Int64, duration: Int64, isSync: Bool,
        isShown: Bool = true
    ) throws(MediaError) {
        try withState { state throws(MediaError) in
            switch state {
            case .container(let writer):
                try writer.write(
                    accessUnit, pts: pts, dts: dts, duration: duration, isSync: isSync, isShown: isShown)
            case .annexB(var writer):
                // Out of the enum while it writes: a second reference would copy its buffer.
                state = .done
                defer { state = .annexB(writer) }
                try writer.write(accessUnit, isSync: isSync)
            case .unstarted, .finished, .done:
                throw MediaError(.usage, "a packet cannot be written before the track or after the end")
            }
        }
    }

    /// Writes a packet of the source; packets of streams that are not copied are ignored.
    /// - Throws: `io`.
    public func write(copied packet: MediaPacket) throws(MediaError) {
        try withState { state throws(MediaError) in
            if case .container(let writer) = state { try writer.write(copied: packet) }
        }
    }

    /// Warnings about damaged sound and text, one line each; none before `finish` has returned.
    public var conversionWarnings: [String] {
        state.withLock { state in if case .finished(let warnings) = state { warnings } else { [] } }
    }

    /// Completes the file and gives it its name; `sync` waits until it is on disk.
    /// - Throws: `usage` without a started track, `io`, `cannotCreate`; then no file remains.
    public func finish(sync: Bool = false) throws(MediaError) {
        try withState { state throws(MediaError) in
            let last = state
            state = .done
            switch last {
            case .container(let writer):
                try writer.finish(sync: sync)
                state = .finished(writer.conversionWarnings)
            case .annexB(let writer): try writer.finish(sync: sync)
            case .unstarted, .finished, .done:
                throw MediaError(.usage, "the output is not started, or already finished")
            }
        }
    }

    /// Discards the output; a file that had its name remains.
    ///
    /// Releasing an unfinished writer does the same.
    public func cancel() {
        state.withLock { state in
            switch state {
            case .container(let writer): writer.discard()
            case .unstarted(let sink): sink.discard()
            case .annexB(let writer): writer.discard()
            case .finished, .done: break
            }
            state = .done
        }
    }

    private func withState(_ body: (inout State) throws(MediaError) -> Void) throws(MediaError) {
        try state.withLock { state throws(MediaError) in try body(&state) }
    }
}
