// SPDX-License-Identifier: MIT
public import HWClient
public import HWDModel
internal import HWDTransport
public import HWDWire
internal import Synchronization

/// CLOCK_MONOTONIC, as display servers and Vulkan's presentation times use it.
public struct HostClock: OutputClock {
    public init() {}
    public var now: Int64 { Int64(clamping: MonotonicTime.now.nanoseconds) }
}

/// Frames of a video for a display: at each refresh, the frame of that time, or none and why.
///
/// The app demuxes (`VideoSource`); a decompression session of the daemon decodes ahead, and a pixel-transfer session converts the frame
/// that is shown next and the one behind it, no others. Times of the host and the item are integers in nanoseconds. The frame of a time
/// is the last one at or before it, with a tolerance of 0.1 ms in the direction of play, 0.5 ms with a refresh interval. Within an epoch no
/// frame is given twice, and none behind a later one; seeks, changes of direction and loops begin another epoch.
///
/// Any thread may call it, a task as well: no method waits, except `copyFrame` where it is asked to. Where a worker fails, its session
/// continues in another process three times; the picture stands for that time, which `counts` shows. An output ends with its last reference.
public final class VideoOutput: Sendable {
    /// What an output can be asked for.
    public struct Options: Sendable {
        /// The frames that the app wants; nil for those of the decoder, as they are.
        ///
        /// Half floats of Display P3: `.init(pixelFormat: "AB4H", primaries: "p3")`. Each picture's own color is converted.
        public var target: CreateTransferSession.Image?
        /// Their size; nil for the pictures' own.
        ///
        /// In samples; it needs a target.
        public var size: (width: Int, height: Int)?
        /// Effects, tone mapping and scaling; it needs a target.
        public var conversion: CreateTransferSession.Options?
        /// `EnableHardwareAcceleratedVideoDecoder` and others.
        public var decoderSpecification: [PropertyKey: PropertyValue] = [:]
        /// How long a refresh of the display lasts: host times are then taken to a grid, which frees them from jitter.
        ///
        /// Above 0 and below an hour.
        public var refreshInterval: Duration?
        /// Whether play begins again behind the end, without a gap.
        public var isLooping = false
        /// The most bytes of decoded pictures that wait; two pictures always may.
        public var queueBytes = 256 << 20
        /// The same for play in reverse, where a group of pictures is decoded in parts.
        public var reverseBytes = 512 << 20

        /// The decoder's own frames, at any refresh rate.
        public init() {}

        /// - Throws: `Parameter` for what would have no effect.
        func check() throws(ClientError) {
            func refuse(_ reason: String) -> ClientError { ClientError(SessionError(.parameter, reason)) }
            if target == nil, size != nil || conversion != nil {
                throw refuse("a size or a conversion needs a target")
            }
            if let refreshInterval, RefreshGrid(refreshInterval) == nil {
                throw refuse("a refresh interval of \(refreshInterval) is not above 0 and below an hour")
            }
        }
    }

    /// A frame to show.
    public struct Frame: Sendable {
        /// The samples; keep few of them, because their memory is used again once nothing refers to it.
        public let buffer: PixelBuffer
        /// When it is shown, in nanoseconds of the item's time.
        public let displayTime: Int64
        /// The same in ticks of the source.
        public let time: Int64
        /// How long it lasts, in ticks of the source; 0 where that is not known.
        public let duration: Int64
        /// Which stretch of play it belongs to.
        public let epoch: Int
        /// The picture as it was decoded: size, color, metadata.
        public let description: FrameDecoded
    }

    /// The answer to a question for a frame.
    public enum Answer: Sendable {
        /// Another frame than before.
        case frame(Frame)
        /// The app keeps what it shows.
        case none(NoFrame)

        /// Nil where there is none.
        public var frame: Frame? { if case .frame(let frame) = self { frame } else { nil } }
        /// Why there is no frame; nil where there is one.
        public var reason: NoFrame? { if case .none(let reason) = self { reason } else { nil } }
    }

    private let state: OutputState
    private let clock: any OutputClock

    /// Opens the decoder; the output stands at time 0 until `play`.
    ///
    /// - Parameters:
    ///   - daemon: of `Daemon.find()`.
    ///   - source: is read on the output's own thread.
    ///   - options: what frames the app wants, and the bounds of what waits for it.
    ///   - clock: what play goes by.
    /// - Throws: `Parameter` for options that have no effect, the decompression session's error, or why the daemon cannot be reached.
    ///   A conversion that cannot be made is an event.
    public init(
        _ daemon: Daemon, _ source: some VideoSource, options: Options = Options(),
        clock: any OutputClock = HostClock()
    ) throws(ClientError) {
        self.clock = clock
        try options.check()
        do throws(SystemError) {
            state = try OutputState(source.timeBase, options)
        } catch { throw ClientError(.connectionFailed, "the output cannot be started: \(error)") }
        guard let started = StartResult() else {
            throw ClientError(.connectionFailed, "the output cannot be started: no descriptor is left")
        }
        let (state, format) = (state, source.formatDescription)
        do throws(SystemError) {
            _ = try Thread.spawn(name: "hwoutput") {
                do throws(ClientError) {
                    var engine = try OutputEngine(daemon, source, format, options, clock, state)
                    started.finish(nil)
                    engine.run()
                } catch { started.finish(error) }
            }
        } catch { throw ClientError(.connectionFailed, "the output's thread cannot be started: \(error)") }
        if let error = started.wait() { throw error }
    }

    deinit { state.stop() }

    // MARK: - Commands

    /// Plays from the present position on.
    /// - Parameter rate: −2 to 2; values outside are limited. 0 is `pause`. Another direction begins another epoch.
    public func play(rate: Double = 1) {
        let bounded = rate.isFinite ? max(-2, min(2, rate)) : 0
        let millionths = Int64((bounded * Double(TimeMap.one)).rounded())
        let now = clock.now
        state.change { $0.playback.setRate(millionths, at: now) }
    }

    /// Stops time; a seek still shows its frame.
    public func pause() { play(rate: 0) }

    /// Goes to a time, in nanoseconds of the item's time; rate and direction stay.
    ///
    /// Frames of earlier seeks do not come any more. Times before 0 are 0; behind the end there is `afterEnd`.
    public func seek(to time: Int64, _ mode: SeekMode = .exact) {
        state.change { $0.playback.seek(to: time, mode) }
    }

    /// Sets whether play begins again behind the end.
    public func setLooping(_ isLooping: Bool) { state.change { $0.playback.isLooping = isLooping } }

    /// Whether play begins again behind the end.
    public var isLooping: Bool { state.look { $0.playback.isLooping } }

    /// The rate that is played at, or that play continues with after a seek.
    public var rate: Double { state.look { Double($0.playback.map.wantedRate) / Double(TimeMap.one) } }

    // MARK: - Frames

    /// The item time of a host time, both in nanoseconds; pass the time at which the refresh is seen.
    public func itemTime(forHostTime host: Int64) -> Int64 { state.look { $0.playback.itemTime(at: host) } }

    /// Whether a frame that was not given belongs to a host time, converted or not.
    public func hasNewFrame(at host: Int64) -> Bool { state.look { $0.playback.hasNewFrame(at: host) } }

    /// The frame of a host time, which counts as given then.
    ///
    /// - Parameters:
    ///   - host: nanoseconds of the clock; nil for now.
    ///   - limit: how long to wait for a picture that is not there yet, by CLOCK_MONOTONIC; the wait blocks its thread.
    public func copyFrame(at host: Int64? = nil, waiting limit: Duration = .zero) -> Answer {
        let time = host ?? clock.now
        let deadline = MonotonicTime.now + limit
        while true {
            let answer = state.ask(at: time, registering: limit > .zero)
            guard case .waits(let reason, let waiter) = answer else {
                guard case .answer(let known) = answer else { return .none(.notDecodedYet) }
                return known
            }
            if let waiter, waiter.wait(until: deadline) { continue }
            return state.giveUp(reason, waiter)
        }
    }

    // MARK: - What happened

    /// Frames that were shown, late, dropped, skipped, …, since the output was opened.
    public var counts: OutputCounts { state.look { $0.playback.allCounts } }

    /// What decodes and converts.
    public var devices: OutputDevices { state.look { $0.devices } }

    /// What happened since the last call, in order.
    public func takeEvents() -> [OutputEvent] {
        state.look { content in
            defer { content.playback.events = [] }
            return content.playback.events
        }
    }
}

/// How the start of the output's thread went.
private final class StartResult: Sendable {
    private let result = Mutex<ClientError?>(nil)
    private let waiter: OutputWaiter

    init?() {
        guard let waiter = OutputWaiter() else { return nil }
        self.waiter = waiter
    }

    func finish(_ error: ClientError?) {
        result.withLock { $0 = error }
        waiter.resume()
    }

    /// Creating a session has limits of its own.
    func wait() -> ClientError? {
        while !waiter.wait(until: MonotonicTime.now + .seconds(3600)) {}
        return result.withLock { $0 }
    }
}
