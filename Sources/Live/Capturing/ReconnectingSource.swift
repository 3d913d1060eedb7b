// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
internal import HWDModel
internal import HWDTransport
internal import Synchronization

/// A source that is opened again when it has gone away and come back: what it sends goes to the same sink.
package final class ReconnectingSource: CaptureSource {
    package let format: CaptureFormat
    /// Nanoseconds for which one that is away is waited for.
    private let wait: UInt64
    private let open: @Sendable () throws(CommandFailure) -> any CaptureSource

    private struct State {
        var source: (any CaptureSource)?
        /// The end that the source has reported, and when its last frame came.
        var gone: (reason: String, last: UInt64)?
        var isStopped = false
        var thread: Thread?
    }

    private let state: Mutex<State>
    private let wake: EventFD

    /// Between two tries.
    private static let pause: Duration = .milliseconds(500)

    /// - Parameters:
    ///   - source: is open.
    ///   - open: opens it again.
    package init(
        _ source: any CaptureSource, wait: UInt64,
        open: @escaping @Sendable () throws(CommandFailure) -> any CaptureSource
    ) throws(CommandFailure) {
        do throws(SystemError) { wake = try EventFD() } catch { throw CommandFailure(.software, "\(error)") }
        (self.wait, self.open, format) = (wait, open, source.format)
        state = Mutex(State(source: source))
    }

    package func start(_ sink: any CaptureSink) throws(CommandFailure) {
        stop()
        state.withLock { ($0.gone, $0.isStopped) = (nil, false) }
        wake.clear()
        guard let source = state.withLock({ $0.source }) else {
            throw CommandFailure(.unavailable, "the source has gone away")
        }
        do throws(SystemError) {
            let started = try Thread.spawn(name: "reconnection") { [self] in run(sink) }
            state.withLock { $0.thread = started }
        } catch { throw CommandFailure(.software, "\(error)") }
        do { try source.start(Relay(sink, self, since: nil)) } catch {
            stop()
            throw CommandFailure(error)
        }
    }

    package func stop() {
        let started = state.withLock { state in
            state.isStopped = true
            defer { state.thread = nil }
            return state.thread
        }
        wake.signal()
        started?.join()
        state.withLock { $0.source }?.stop()
    }

    fileprivate func gone(_ reason: String, last: UInt64) {
        state.withLock { $0.gone = (reason, last) }
        wake.signal()
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Waits until the source has gone, and then until it is back.
    private func run(_ sink: any CaptureSink) {
        guard let epoll = try? Epoll(), (try? epoll.add(wake.fileDescriptor, token: 0, events: .readable)) != nil
        else { return sink.ended(.failed("a source that goes away cannot be waited for")) }
        while !isStopped {
            _ = try? epoll.wait(until: nil)
            wake.clear()
            let gone = state.withLock { state in
                defer { state.gone = nil }
                return state.gone
            }
            guard let gone, !isStopped else { continue }
            let begin = MonotonicTime.now
            let seconds = DecimalText.text(Double(wait) / 1e9, 0)
            Console.note("warning: \(gone.reason): waiting up to \(seconds) s for it")
            close()
            guard let source = again(epoll, begin) else {
                if !isStopped { sink.ended(.gone("\(gone.reason), and was not back within \(seconds) s")) }
                return
            }
            // The source before may have changed it.
            sink.changed(source.format)
            state.withLock { $0.source = source }
            do {
                try source.start(Relay(sink, self, since: gone.last))
                let away = Double(MonotonicTime.now.nanoseconds(since: begin)) / 1e9
                Console.note("the source is back after \(DecimalText.text(away, 1)) s")
            } catch { return sink.ended(.gone(CommandFailure(error).reason)) }
        }
    }

    /// Closes the device or the connection, which may keep the source from being opened again.
    private func close() {
        let source = state.withLock { state in
            defer { state.source = nil }
            return state.source
        }
        source?.stop()
    }

    /// Opens the source as soon as that is possible; nil where it is not in time.
    private func again(_ epoll: Epoll, _ begin: MonotonicTime) -> (any CaptureSource)? {
        while MonotonicTime.now.nanoseconds(since: begin) < wait {
            _ = try? epoll.wait(until: .now + Self.pause)
            if isStopped { return nil }
            if let source = try? open() { return source }
        }
        return nil
    }
}

/// Passes a source's calls on; its calls do not overlap.
private final class Relay: CaptureSink, @unchecked Sendable {
    private let sink: any CaptureSink
    private let owner: ReconnectingSource
    /// The last frame before this source's first; nil once that has come.
    private var since: UInt64?
    private var last: UInt64

    init(_ sink: any CaptureSink, _ owner: ReconnectingSource, since: UInt64?) {
        (self.sink, self.owner, self.since) = (sink, owner, since)
        last = since ?? MonotonicTime.now.nanoseconds
    }

    private func note(_ time: UInt64) {
        if let since { sink.interrupted(from: since, to: max(since, time)) }
        (since, last) = (nil, time)
    }

    func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) {
        note(time)
        sink.frame(planes, at: time, sequence: sequence)
    }

    func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {
        note(time)
        sink.coded(unit, isKeyFrame: isKeyFrame, at: time, sequence: sequence)
    }

    func lost(_ count: Int, at time: UInt64, cause: String) { sink.lost(count, at: time, cause: cause) }
    func changed(_ format: CaptureFormat) { sink.changed(format) }

    func ended(_ end: CaptureEnd) {
        if case .gone(let reason) = end { owner.gone(reason, last: last) } else { sink.ended(end) }
    }
}
