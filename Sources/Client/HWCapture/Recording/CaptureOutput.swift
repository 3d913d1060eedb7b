// SPDX-License-Identifier: MIT
package import HWMovies

/// What takes the packets of a recording, for one thread.
package protocol CaptureOutput {
    var reports: [CaptureFiles.Report] { get }
    /// Frames that were taken, and ticks between the two that are furthest apart.
    var frames: Int { get }
    var longestGap: Int64 { get }

    mutating func configure(_ configuration: CaptureFiles.Configuration) throws(CaptureError)
    mutating func append(_ packet: CaptureFiles.Packet) throws(CaptureError) -> Bool
    mutating func append(sound packet: WrittenPacket) throws(CaptureError) -> Bool
    mutating func mark(_ title: String, at time: Int64)
    mutating func save(at time: Int64)
    mutating func flush() throws(CaptureError)
    /// - Parameter soundEnd: where the recording's sound ends, in samples; nil without sound.
    mutating func finish(soundEnd: Int64?) throws(CaptureError)
}

/// The times of frames that are furthest apart, in the order in which they are shown.
package struct CaptureGaps: Sendable {
    /// The last time that none will precede.
    private var last: Int64?
    private var widest: Int64 = 0
    /// Later times, in order: those of frames that may be shown before them are to come.
    private var pending: [Int64] = []

    package init() {}

    /// Adds a frame in decoding order: those that follow are not shown before it is decoded.
    package mutating func add(_ time: Int64, decodeTime: Int64) {
        pending.insert(time, at: pending.lastIndex { $0 <= time }.map { $0 + 1 } ?? 0)
        while let first = pending.first, first <= decodeTime {
            note(pending.removeFirst())
        }
    }

    private mutating func note(_ time: Int64) {
        if let last { widest = max(widest, time - last) }
        last = max(last ?? time, time)
    }

    /// The longest gap of all frames so far.
    package var longest: Int64 {
        var all = self
        for time in pending { all.note(time) }
        return all.widest
    }

    /// When the last one so far is shown; nil before the first.
    package var end: Int64? { pending.last ?? last }
}
