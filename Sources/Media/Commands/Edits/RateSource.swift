// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// A video at another frame rate: frames are left out or repeated by their times.
///
/// As with ffmpeg's filter fps: each frame takes the nearest time of the new rate, the last of those with one time is shown,
/// and it is repeated until the next. Times are counted in frames of the new rate.
final class RateSource: VideoSource {
    var report: SourceReport { source.report }
    /// Frames that were left out and repeated.
    private(set) var (dropped, repeated) = (0, 0)

    private let source: any VideoSource
    private let path: String
    /// Frames of the new rate in a tick of the source.
    private let framesPerTick: Double
    private var held: (frame: SourceFrame, slot: Int64)?
    /// A frame that is being emitted, at times from `next` on.
    private var emitted: (frame: SourceFrame, next: Int64, end: Int64)?
    private var count = 0
    private var isEnded = false
    /// Captions of frames that were left out.
    private var lostCaptions = 0

    /// The longest gap between frames that is filled: seconds, and frames of the new rate.
    private static let longestGap = (seconds: 600.0, frames: 36_000.0)
    private let longestGap: Int64

    init(_ source: any VideoSource, _ timeBase: Rational, rate: Rational, path: String) {
        (self.source, self.path) = (source, path)
        framesPerTick = timeBase.value * rate.value
        longestGap = Int64(max(1, min(Self.longestGap.seconds * rate.value, Self.longestGap.frames)))
    }

    func next() throws -> MediaReader.Item? {
        while true {
            if let frame = emit() { return .frame(frame) }
            guard !isEnded else { return nil }
            switch try source.next() {
            case .packet(let packet)?: return .packet(packet)
            case .frame(let frame)?: try take(frame)
            case nil:
                isEnded = true
                if let held { try begin(held.frame, held.slot, until: end(of: held.frame, held.slot)) }
                held = nil
            }
        }
    }

    /// The number of the nearest time of the new rate; clamped, for files with impossible times, whose gaps are refused.
    private func slot(_ ticks: Int64) -> Int64 {
        Int64(min(max((Double(ticks) * framesPerTick).rounded(), -1e18), 1e18))
    }

    /// The end of the last frame, which is shown once where nothing else is known or shown.
    private func end(of frame: SourceFrame, _ first: Int64) -> Int64 {
        let end = slot(frame.pts + frame.duration)
        return frame.duration > 0 && count > 0 ? end : max(end, first + 1)
    }

    private func take(_ frame: SourceFrame) throws {
        let slot = slot(frame.pts)
        if let held { try begin(held.frame, held.slot, until: slot) }
        held = (frame, max(slot, held?.slot ?? slot))
    }

    /// Begins to emit a frame, once for each time before `end`, or leaves it out.
    private func begin(_ frame: SourceFrame, _ slot: Int64, until end: Int64) throws {
        guard end > slot else {
            dropped += 1
            if frame.sideData.contains(where: { $0.kind == .closedCaptions }) { lostCaptions += 1 }
            return try frame.release()
        }
        guard end - slot <= longestGap else {
            throw MediaError(
                .badInput,
                "\(path): --output-frame-rate would repeat a frame \(end - slot - 1) times, \(longestGap) times at most: "
                    + "leave it out, or cut the file with --start and --end")
        }
        let uses = Uses(Int(end - slot), frame.release)
        var shared = frame
        shared.info.duration = 1
        shared.release = { try uses.end() }
        emitted = (shared, slot, end)
    }

    /// The next use of a frame that is being emitted.
    private func emit() -> SourceFrame? {
        guard let (frame, time, end) = emitted else { return nil }
        emitted = nil
        guard time < end else { return nil }
        var rest = frame
        rest.info.sideData.removeAll { $0.kind == .closedCaptions }
        if time + 1 < end {
            emitted = (rest, time + 1, end)
            repeated += 1
        }
        var copy = frame
        (copy.index, copy.info.pts) = (count, time)
        count += 1
        return copy
    }

    /// Releases a frame after its last use.
    private final class Uses {
        private var left: Int
        private let release: () throws -> Void

        init(_ count: Int, _ release: @escaping () throws -> Void) { (left, self.release) = (count, release) }

        func end() throws {
            left -= 1
            if left == 0 { try release() }
        }
    }

    /// A warning about captions of frames that were left out; nil without any.
    var warning: String? {
        guard lostCaptions > 0 else { return nil }
        return
            "warning: the closed captions of \(Console.count(lostCaptions, "frame")) are left out with their frames"
    }

    /// What was left out and repeated, in one line; nil where every frame was kept.
    var summary: String? {
        guard dropped > 0 || repeated > 0 else { return nil }
        return "frame rate: \(dropped) frames were left out, \(repeated) were repeated"
    }
}

/// Where a video's frame rate changes: before other changes if frames are left out, after them if frames are repeated, so that
/// no frame is converted in vain or twice.
final class RateSelection {
    private let rate: Rational?
    private let reader: MediaReader
    private let comesFirst: Bool
    private var source: RateSource?

    init(_ rate: Rational?, _ reader: MediaReader) {
        (self.rate, self.reader) = (rate, reader)
        comesFirst = rate.map { $0.value <= (reader.video.averageFrameRate?.value ?? .infinity) } ?? false
    }

    private func changed(_ input: any VideoSource) -> any VideoSource {
        guard let rate else { return input }
        let made = RateSource(input, reader.video.timeBase, rate: rate, path: reader.path)
        source = made
        return made
    }

    /// The source of frames that are not converted yet.
    func before(_ input: any VideoSource) -> any VideoSource { comesFirst ? changed(input) : input }

    /// The source of converted frames.
    func after(_ input: any VideoSource) -> any VideoSource { comesFirst ? input : changed(input) }

    /// The number of the output's frames, where it is known.
    ///
    /// - Parameter part: of the input; nil is all of it.
    func frames(of part: TimeRange?) -> Int? {
        let count = part.map { $0.frames(of: reader) } ?? reader.video.frameCount
        guard let count, let rate, let own = reader.video.averageFrameRate?.value, own > 0 else { return count }
        return Int((Double(count) * rate.value / own).rounded())
    }

    /// What became of frames, once all were sent.
    var lines: [String] { [source?.warning, source?.summary].compactMap { $0 } }
}
