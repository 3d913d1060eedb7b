// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
package import HWDControlCommands
internal import HWDModel
package import HWDPlaying
internal import HWOutput

/// Play in a window: at each refresh the frame of the time at which it will be seen.
package struct WindowPlay {
    private let setup: PlaySetup
    private let window: CompositorWindow
    private let clock = HostClock()

    /// Refreshes of the display, by the compositor.
    private var interval: Int64 = 16_666_667
    private var lastPresented: Int64?
    private var size: (width: Int, height: Int)
    private var frame: VideoOutput.Frame?
    private var rate: Double
    private var isPlaying: Bool
    private var isFullscreen: Bool
    private var isOver = false
    /// Whether the user has ended it.
    private var isClosed = false
    private var receipt: PlayReceipt

    private static let second: Int64 = 1_000_000_000

    /// Connects to the compositor.
    package init(_ setup: PlaySetup) throws(CommandFailure) {
        self.setup = setup
        let arguments = setup.arguments
        window = try CompositorWindow()
        guard let format = PixelFormat(rawValue: arguments.format), window.hasFormat(format) else {
            throw CommandFailure(
                .unavailable,
                "the compositor takes no frames of \(arguments.format); \(CompositorWindow.alternatives)")
        }
        size = setup.video.size
        (rate, isPlaying, isFullscreen) = (arguments.rate, !setup.isPaused, arguments.fullscreen)
        receipt = PlayReceipt(file: arguments.file, rate: arguments.rate, format: arguments.format, refreshes: 0)
        if window.reportsPresentation { (receipt.presented, receipt.discarded) = (0, 0) }
    }

    /// Plays until the end of the video, or until the window is closed.
    package func run() throws -> PlayReceipt {
        var play = self
        return try play.play()
    }

    private mutating func play() throws -> PlayReceipt {
        let output = try setup.open(try Daemon.findAndReport(), clock: clock)
        window.map(title: "\(setup.arguments.file) – hwctl play", fullscreen: isFullscreen)
        let limit = setup.arguments.duration.flatMap(PlayArguments.nanoseconds) ?? .max
        let begin = clock.now
        var (isMapped, cadence) = (false, Cadence())
        while !isOver, clock.now - begin < limit {
            // A window that nobody sees gets no callbacks, but ends all the same.
            var isDue = false
            for event in try window.events(waiting: 100) {
                switch event {
                case .frame: isDue = true
                case .configured(let width, let height):
                    resize(width, height)
                    isDue = isDue || !isMapped
                    isMapped = true
                default: handle(event, output)
                }
            }
            try setup.report(output.takeEvents())
            guard isMapped, isDue || frame == nil else { continue }
            if try draw(output) { cadence.show(at: receipt.refreshes) }
            receipt.refreshes += isDue ? 1 : 0
        }
        guard frame != nil || isClosed || !isOver else { throw setup.nothingShown }
        // Frames on their way are still presented.
        let end = clock.now + Self.second / 2
        while let presented = receipt.presented, presented > 0,
            presented + (receipt.discarded ?? 0) < output.counts.shown,
            clock.now < end
        {
            for event in try window.events(waiting: 100) { handle(event, output) }
        }
        // Some announce the protocol and never answer.
        if receipt.presented == 0 { (receipt.presented, receipt.discarded) = (nil, nil) }
        cadence.end(at: receipt.refreshes)
        receipt.displayRate = 1e9 / Double(interval)
        receipt.add(output, setup.video.times)
        receipt.add(cadence, ideal: nil)
        return receipt
    }

    /// Shows the frame of the next refresh, where it is another one.
    private mutating func draw(_ output: VideoOutput) throws(CommandFailure) -> Bool {
        let answer = output.copyFrame(at: nextRefresh)
        switch answer {
        case .frame(let new):
            if frame == nil { resize(size.width, size.height, of: new.buffer) }
            frame = new
            try window.attach(new.buffer)
            window.commit()
            return true
        case .none(let reason):
            let ends: NoFrame = rate < 0 ? .beforeStart : .afterEnd
            if reason == ends, isPlaying, !setup.isPaused { isOver = true }
            if frame != nil { window.commit() }
            return false
        }
    }

    /// When what is drawn now is seen.
    private var nextRefresh: Int64 {
        let now = clock.now
        guard let last = lastPresented, now >= last else { return now + interval }
        return last + ((now - last) / interval + 1) * interval
    }

    /// The largest size of the frame's shape in the window; without a viewporter the frame's own.
    private mutating func resize(_ width: Int, _ height: Int, of new: PixelBuffer? = nil) {
        if width > 0, height > 0 { size = (width, height) }
        guard let buffer = new ?? frame?.buffer, size.width > 0, size.height > 0, window.canScale else { return }
        let ratio = min(Double(size.width) / Double(buffer.width), Double(size.height) / Double(buffer.height))
        window.scale(
            width: max(1, Int((Double(buffer.width) * ratio).rounded())),
            height: max(1, Int((Double(buffer.height) * ratio).rounded())))
    }

    private mutating func handle(_ event: CompositorWindow.Event, _ output: VideoOutput) {
        switch event {
        case .closed: (isOver, isClosed) = (true, true)
        case .presented(let time, let refresh):
            receipt.presented? += 1
            lastPresented = time
            if refresh > 0 { interval = refresh }
        case .discarded: receipt.discarded? += 1
        case .refresh(let nanoseconds): if lastPresented == nil { interval = nanoseconds }
        case .key(let code, let withShift): press(code, withShift, output)
        case .frame, .configured: break
        }
    }

    // MARK: - Keys

    /// Keys by their positions, as linux/input-event-codes.h numbers them.
    private mutating func press(_ code: Int, _ withShift: Bool, _ output: VideoOutput) {
        switch code {
        case 16: (isOver, isClosed) = (true, true)
        case 57: setPlaying(!isPlaying, output)
        case 105: seek(by: withShift ? -10 * Self.second : -Self.second, output)
        case 106: seek(by: withShift ? 10 * Self.second : Self.second, output)
        case 51: step(-1, output)
        case 52: step(1, output)
        case 26: setRate(rate - 0.25, output)
        case 27: setRate(rate + 0.25, output)
        case 38: output.setLooping(!output.isLooping)
        case 33:
            isFullscreen.toggle()
            window.setFullscreen(isFullscreen)
        default: break
        }
    }

    private mutating func setPlaying(_ isOn: Bool, _ output: VideoOutput) {
        isPlaying = isOn
        output.play(rate: isOn ? rate : 0)
    }

    private mutating func setRate(_ wanted: Double, _ output: VideoOutput) {
        // 0 is a pause, which has a key of its own.
        rate = max(-2, min(2, wanted == 0 ? (wanted < rate ? -0.25 : 0.25) : wanted))
        setPlaying(true, output)
    }

    private func seek(by nanoseconds: Int64, _ output: VideoOutput) {
        output.seek(to: max(0, output.itemTime(forHostTime: clock.now) + nanoseconds))
    }

    private mutating func step(_ direction: Int64, _ output: VideoOutput) {
        guard let frame else { return }
        setPlaying(false, output)
        let duration = max(1_000_000, Int64(Double(frame.duration) * setup.video.timeBase.value * 1e9))
        output.seek(to: max(0, frame.displayTime + (direction > 0 ? duration : -duration / 2)))
    }
}
