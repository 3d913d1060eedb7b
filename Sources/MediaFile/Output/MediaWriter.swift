// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDHEVC
public import HWDModel
internal import Synchronization

/// The video track a `MediaWriter` writes.
public struct VideoTrack: Hashable, Sendable {
    /// Samples a row of the picture that is to be seen; the stream may code one more, never fewer.
    public var width: Int
    /// Rows of the picture that is to be seen; the stream may code one more, never fewer.
    public var height: Int
    /// The HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 8.3.2.1), for NAL unit lengths of 4 bytes.
    public var hvcC: [UInt8]
    /// Seconds a tick of the packets' timestamps stands for.
    public var timeBase: Rational
    /// Written as `colr` where any of its code points is specified.
    public var color: ColorDescription
    /// Frames per second, for readers that want to be told; nil when not known.
    public var frameRate: Rational?
    /// Width over height of one sample, written as `pasp`; nil writes none.
    public var sampleAspectRatio: Rational?
    /// The display matrix of the track header (ISO/IEC 14496-12 8.3.2); nil is the identity.
    public var displayMatrix: [Int32]?
    /// What is to be seen of the picture; nil is its first `width`×`height` samples.
    public var cleanAperture: CleanAperture?
    /// The body of an `mdcv` box, the payload of SEI message 137 (H.265 D.2.28); nil writes none.
    public var masteringDisplay: [UInt8]?
    /// The body of a `clli` box, the payload of SEI message 144 (H.265 D.2.35); nil writes none.
    public var contentLight: [UInt8]?

    /// Whether the samples are the source's own, so that what its sample entry says of them holds (`dvvC`, `amve`, …).
    public var isCopy = false

    /// Describes a track.
    public init(
        width: Int, height: Int, hvcC: [UInt8], timeBase: Rational, color: ColorDescription = ColorDescription(),
        frameRate: Rational? = nil, sampleAspectRatio: Rational? = nil, displayMatrix: [Int32]? = nil
    ) {
        self.width = width
        self.height = height
        self.hvcC = hvcC
        self.timeBase = timeBase
        self.color = color
        self.frameRate = frameRate
        self.sampleAspectRatio = sampleAspectRatio
        self.displayMatrix = displayMatrix
    }

    /// The track that a reader's video becomes once it is encoded: same time base, colour, aspect, rotation and light.
    public init(_ video: VideoDescription, hvcC: [UInt8]) {
        self.init(
            width: video.width, height: video.height, hvcC: hvcC, timeBase: video.timeBase, color: video.color,
            frameRate: video.averageFrameRate ?? video.baseFrameRate, sampleAspectRatio: video.sampleAspectRatio,
            displayMatrix: video.displayMatrix)
        cleanAperture = video.cleanAperture
        masteringDisplay = video.masteringDisplay
        contentLight = video.contentLight
    }
}

/// Writes HEVC to a .mov, .mp4 or .hevc file, or as Annex B to standard output ("-").
///
/// The file appears under its name when `finish` returns, whole, and not at all otherwise. Calls may come from
/// several threads.
public final class MediaWriter: Sendable {
    /// The endings that are known.
    public static let endings = ["mov", "mp4", "hevc"]

    /// What of the source is not in the output and why, one line each.
    public let notes: [String]
    /// The streams of the source whose packets are copied.
    public let copiedStreams: [OtherStream]

    private let output: Mutex<Output>

    private enum Output: Sendable {
        case container(ContainerWriter)
        case waiting(ByteSink)
        case annexB(AnnexBWriter)
        case done
    }

    /// Opens the output so that everything that could refuse it does so before work begins.
    ///
    /// - Parameters:
    ///   - path: a name that ends in .mov, .mp4 or .hevc, or "-".
    ///   - source: the input; its audio and metadata are copied, and it may not be the output.
    /// - Throws: `usage` for an unknown ending or an output that is the input, `cannotCreate`.
    public init(path: String, source: MediaReader? = nil) throws(MediaError) {
        let ending = path == "-" ? "hevc" : Self.ending(of: path)
        guard Self.endings.contains(ending) else {
            let known = Self.endings.map { ".\($0)" }.joined(separator: ", ")
            throw MediaError(.usage, "\(path): the ending of an output must be one of \(known)")
        }
        if path == "-" {
            guard isatty(STDOUT_FILENO) == 0 else {
                throw MediaError(.usage, "standard output is a terminal; send it to a file or a program")
            }
            output = Mutex(.waiting(.standardOutput))
        } else {
            let file = try OutputFile(path: path, inputs: source.map { [$0.path] } ?? [])
            guard ending == "hevc" else {
                let writer = try ContainerWriter(file, ending: ending, source: source)
                (notes, copiedStreams) = (writer.notes, writer.copiedStreams)
                output = Mutex(.container(writer))
                return
            }
            output = Mutex(.waiting(.file(file)))
        }
        copiedStreams = []
        var notes = (source?.otherStreams ?? []).map { "\($0.description) is not copied: .hevc holds video alone" }
        if let video = source?.video, video.width % 2 != 0 || video.height % 2 != 0 || video.cleanAperture != nil {
            notes.append(
                "warning: a raw .hevc stream cannot cut single samples off: it shows "
                    + "\((video.width + 1) / 2 * 2)x\((video.height + 1) / 2 * 2), not \(video.shownSize)")
        }
        self.notes = notes
    }

    /// Says what the video is; comes once, before the first packet.
    /// - Throws: `usage` for a track that cannot be written or a second call, `io`.
    public func start(_ track: VideoTrack) throws(MediaError) {
        let record: DecoderConfigurationRecord
        do throws(BitstreamError) {
            record = try DecoderConfigurationRecord(bytes: track.hvcC)
        } catch {
            throw MediaError(.usage, "the hvcC record is damaged: \(error.reason)")
        }
        guard record.lengthSize == 4 else {
            throw MediaError(.usage, "the hvcC record is for NAL unit lengths of \(record.lengthSize) bytes, not 4")
        }
        let boxes = try VideoTrackBoxes(track, record)
        try withOutput { output throws(MediaError) in
            switch output {
            case .container(let writer): try writer.start(track, boxes, record)
            case .waiting(let sink): output = .annexB(AnnexBWriter(sink: sink, record: record))
            case .annexB, .done: throw MediaError(.usage, "the output was started before")
            }
        }
    }

    /// Writes one access unit: NAL units with 4-byte lengths, in decoding order.
    ///
    /// - Parameters:
    ///   - pts: when it is shown, in ticks of the track's time base; not before `dts`.
    ///   - dts: when it is decoded; after that of the packet before. The first may be negative.
    ///   - duration: how long it is shown; of use for the last one.
    ///   - isSync: whether decoding can begin with it.
    /// - Throws: `usage` for packets out of order, `io`.
    public func write(
        _ accessUnit: UnsafeRawBufferPointer, pts: Int64, dts: Int64, duration: Int64, isSync: Bool
    ) throws(MediaError) {
        try withOutput { output throws(MediaError) in
            switch output {
            case .container(let writer):
                try writer.write(accessUnit, pts: pts, dts: dts, duration: duration, isSync: isSync)
            case .annexB(var writer):
                // Out of the enum while it writes, so that its buffer stays its own.
                output = .done
                defer { output = .annexB(writer) }
                try writer.write(accessUnit, isSync: isSync)
            case .waiting, .done: throw MediaError(.usage, "a packet came before the track or after the end")
            }
        }
    }

    /// Writes a packet that the source's `next()` handed out; one of a stream that is not copied is passed over.
    /// - Throws: `io`.
    public func write(copied packet: MediaPacket) throws(MediaError) {
        try withOutput { output throws(MediaError) in
            if case .container(let writer) = output { try writer.write(copied: packet) }
        }
    }

    /// Writes the end and gives the file its name; `sync` waits until the disk has it.
    /// - Throws: `usage` when nothing was started, `io`, `cannotCreate`; then nothing is left behind.
    public func finish(sync: Bool = false) throws(MediaError) {
        try withOutput { output throws(MediaError) in
            let ending = output
            output = .done
            switch ending {
            case .container(let writer): try writer.finish(sync: sync)
            case .annexB(let writer): try writer.finish(sync: sync)
            case .waiting, .done: throw MediaError(.usage, "the output was never started, or finished before")
            }
        }
    }

    /// Gives the output up: nothing is left behind, and what had its name stays; a writer that is let go does the same.
    public func cancel() {
        output.withLock { output in
            switch output {
            case .container(let writer): writer.discard()
            case .waiting(let sink): sink.discard()
            case .annexB(let writer): writer.discard()
            case .done: break
            }
            output = .done
        }
    }

    private func withOutput(_ body: (inout Output) throws(MediaError) -> Void) throws(MediaError) {
        try output.withLock { output throws(MediaError) in try body(&output) }
    }

    private static func ending(of path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }
}
