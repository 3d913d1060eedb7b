// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
package import HWDControlCommands
internal import HWDModel
package import HWDPlaying
internal import HWOutput

/// Play in a window: at each refresh the frame of the time at which it will be seen.
package struct WindowPlay {
    private var setup: PlaySetup
    private let window: CompositorWindow
    private let host = HostClock()
    private let clock: PlayedSoundClock
    private let sound: (any PlayedSound)?

    /// Refreshes of the display, by the compositor.
    private var interval: Int64 = 16_666_667
    private var lastPresented: Int64?
    private var size: (width: Int, height: Int)
    private var frame: VideoOutput.Frame?
    private var rate: Double
    private var isPlaying: Bool
    private var isFullscreen: Bool
    /// Whether the frame of a seek has not been shown yet.
    private var isSeeking = false
    private var isOver = false
    /// Whether the user has ended it.
    private var isClosed = false
    private var receipt: PlayReceipt

    /// The epoch whose sound is heard, and since when; nil for silence.
    private var heard: (epoch: Int, since: Int64, isFollowed: Bool)?
    /// The most by which pictures were off, in nanoseconds.
    private var offset: Int64?
    private var volume = 1.0
    private var isMuted = false
    private var hasToldRate = false

    private static let second: Int64 = 1_000_000_000

    /// Connects to the compositor.
    /// - Parameter sound: what is heard beside the pictures; nil for silence.
    package init(_ setup: PlaySetup, sound: (any PlayedSound)?) throws(CommandFailure) {
        (self.setup, self.sound, clock) = (setup, sound, PlayedSoundClock(HostClock()))
        let arguments = setup.arguments
        window = try CompositorWindow()
        let opened = window
        let deep = [PixelFormat.bgrx10, .rgbx10].first { opened.hasFormat($0) }
        // Formats of 10 bits have no alpha.
        if arguments.format == nil, setup.video.isDeep, !arguments.effectList.leavesAlpha, let deep {
            self.setup.format = deep
        }
        let format = self.setup.format
        guard window.hasFormat(format) else {
            throw CommandFailure(
                .unavailable,
                "the compositor takes no frames of \(format.rawValue); \(CompositorWindow.alternatives)")
        }
        size = setup.video.size
        (rate, isPlaying, isFullscreen) = (arguments.rate, !setup.isPaused, arguments.fullscreen)
        receipt = PlayReceipt(file: arguments.file, rate: arguments.rate, format: format.rawValue, refreshes: 0)
        if window.reportsPresentation { (receipt.presented, receipt.discarded) = (0, 0) }
    }

    /// Plays until the end of the video, or until the window is closed.
    package func run() throws -> PlayReceipt {
        var play = self
        return try play.play()
    }

    private mutating func play() throws -> PlayReceipt {
        let output = try setup.open(try Daemon.findAndReport(), clock: clock)
        map()
        prepareSound(setup.start)
        let limit = setup.arguments.duration.flatMap(PlayArguments.nanoseconds) ?? .max
        let begin = host.now
        var (isMapped, cadence) = (false, Cadence())
        var drawnAt = begin
        while !isOver, host.now - begin < limit {
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
            for note in sound?.takeNotes() ?? [] { Console.note(note) }
            // A window that nobody sees shows the frame of a seek all the same: time stands until then.
            let isOverdue = isSeeking && host.now - drawnAt > Self.second / 10
            guard isMapped, isDue || frame == nil || isOverdue else {
                if host.now - drawnAt > Self.second / 10, hasEnded(output) { isOver = true }
                continue
            }
            drawnAt = host.now
            follow(output)
            let isNew = try draw(output)
            if isNew { cadence.show(at: receipt.refreshes) }
            // The first frame need not wait for a callback, but stays for a refresh.
            receipt.refreshes += isDue || isNew ? 1 : 0
        }
        sound?.stop()
        guard frame != nil || isClosed || !isOver else { throw setup.nothingShown }
        cadence.end(at: receipt.refreshes)
        try finish(output, cadence)
        return receipt
    }

    /// Waits for what the compositor says of the last frames, and completes the receipt.
    private mutating func finish(_ output: VideoOutput, _ cadence: Cadence) throws {
        // Frames on their way are still presented.
        let end = host.now + 2 * Self.second
        while let presented = receipt.presented, presented > 0,
            presented + (receipt.discarded ?? 0) < output.counts.shown,
            host.now < end
        {
            for event in try window.events(waiting: 100) { handle(event, output) }
        }
        // Some announce the protocol and never answer.
        if receipt.presented == 0 { (receipt.presented, receipt.discarded) = (nil, nil) }
        receipt.displayRate = 1e9 / Double(interval)
        receipt.add(output, setup.video.times)
        receipt.add(cadence, ideal: nil)
        receipt.sound = sound?.heard
        receipt.sound?.offset = offset.map { Double($0) / 1e6 }
    }

    private func map() {
        let name = setup.arguments.file.split(separator: "/").last.map(String.init) ?? setup.arguments.file
        window.map(title: "\(name) – hwctl play", fullscreen: isFullscreen)
        if let rotation = setup.video.rotation {
            window.rotate(quarters: rotation / 90)
        } else {
            Console.note("warning: \(setup.arguments.file) is mirrored or distorted, which is not shown")
        }
    }

    /// Shows the frame of the next refresh, where it is another one.
    private mutating func draw(_ output: VideoOutput) throws(CommandFailure) -> Bool {
        let refresh = nextRefresh
        let answer = output.copyFrame(at: clock.moved(refresh))
        switch answer {
        case .frame(let new):
            let isResized = frame?.buffer.width != new.buffer.width || frame?.buffer.height != new.buffer.height
            (frame, isSeeking) = (new, false)
            if isResized { resize(size.width, size.height) }
            try window.attach(new.buffer)
            window.commit()
            startSound(output, new.epoch, at: refresh)
            return true
        case .none(let reason):
            let ends: NoFrame = rate < 0 ? .beforeStart : .afterEnd
            // Where nothing plays, nothing changes the answer but a key, and there is no window yet to press it in.
            let isFinal = reason == .afterEnd || reason == .beforeStart || reason == .same
            if isPlaying ? reason == ends : frame == nil && isFinal { isOver = true }
            if frame != nil { window.commit() }
            return false
        }
    }

    /// Whether the time of a window that is not drawn has passed the end.
    private func hasEnded(_ output: VideoOutput) -> Bool {
        guard isPlaying, !output.isLooping, frame != nil, setup.video.duration > 0 else { return false }
        let time = output.itemTime(forHostTime: clock.now)
        return rate < 0 ? time < 0 : time >= setup.video.duration
    }

    /// When what is drawn now is seen.
    private var nextRefresh: Int64 {
        let now = host.now
        guard let last = lastPresented, now >= last else { return now + interval }
        return last + ((now - last) / interval + 1) * interval
    }

    /// The largest size of the frame's shape in the window; without a viewporter the frame's own.
    private mutating func resize(_ width: Int, _ height: Int) {
        if width > 0, height > 0 { size = (width, height) }
        guard let buffer = frame?.buffer, size.width > 0, size.height > 0, window.canScale else { return }
        // The shape of the track includes that of its samples.
        var shape = setup.video.size
        if shape.width <= 0 || shape.height <= 0 { shape = (buffer.width, buffer.height) }
        let ratio = min(Double(size.width) / Double(shape.width), Double(size.height) / Double(shape.height))
        window.scale(
            width: max(1, Int((Double(shape.width) * ratio).rounded())),
            height: max(1, Int((Double(shape.height) * ratio).rounded())))
    }

    // MARK: - Sound

    /// Whether there is anything to hear: sound is not played faster, slower or in reverse.
    private mutating func wantsSound() -> Bool {
        guard sound != nil, isPlaying else { return false }
        if rate != 1, !hasToldRate {
            Console.note("\(setup.arguments.file) is silent at rates other than 1")
            hasToldRate = true
        }
        return rate == 1
    }

    private mutating func prepareSound(_ item: Int64) {
        heard = nil
        sound?.prepare(item)
    }

    private mutating func silence() {
        heard = nil
        sound?.stop()
    }

    /// Lets the sound begin with the first frame of an epoch.
    private mutating func startSound(_ output: VideoOutput, _ epoch: Int, at refresh: Int64) {
        guard heard?.epoch != epoch else { return }
        guard wantsSound() else { return silence() }
        sound?.start(output.itemTime(forHostTime: clock.moved(refresh)), at: refresh)
        heard = (epoch, refresh, false)
    }

    /// Moves the pictures' clock to the sound.
    private mutating func follow(_ output: VideoOutput) {
        guard let heard, let position = sound?.position else { return }
        let item = output.itemTime(forHostTime: clock.moved(position.host))
        let ahead = Int64(clamping: Int128(position.item) - Int128(item))
        // Where play has just begun again, the last position may be that of before.
        guard ahead.magnitude < 2 * Self.second.magnitude else { return }
        clock.follow(ahead, isFirst: !heard.isFollowed)
        self.heard?.isFollowed = true
        if position.host - heard.since > Self.second { offset = max(offset ?? 0, abs(ahead)) }
    }

    private mutating func changeVolume(to new: Double, isMuted: Bool) {
        (volume, self.isMuted) = (max(0, min(1, new)), isMuted)
        // Loudness is felt as about the cube root of the amplitude.
        sound?.setVolume(isMuted ? 0 : volume * volume * volume)
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
        case 50: changeVolume(to: volume, isMuted: !isMuted)
        case 103: changeVolume(to: volume + 0.1, isMuted: false)
        case 108: changeVolume(to: volume - 0.1, isMuted: false)
        case 33:
            isFullscreen.toggle()
            window.setFullscreen(isFullscreen)
        default: break
        }
    }

    private mutating func setPlaying(_ isOn: Bool, _ output: VideoOutput) {
        let wasPlaying = isPlaying
        isPlaying = isOn
        output.play(rate: isOn ? rate : 0)
        let now = host.now
        let item = output.itemTime(forHostTime: clock.moved(now))
        if !wantsSound() {
            silence()
            if rate == 1 { prepareSound(item) }
        } else if frame != nil, !wasPlaying || heard == nil {
            sound?.start(item, at: now)
            heard = frame.map { ($0.epoch, now, false) }
        }
    }

    private mutating func setRate(_ wanted: Double, _ output: VideoOutput) {
        // 0 is a pause, which has a key of its own.
        rate = max(-2, min(2, wanted == 0 ? (wanted < rate ? -0.25 : 0.25) : wanted))
        setPlaying(true, output)
    }

    private mutating func seek(by nanoseconds: Int64, _ output: VideoOutput) {
        let item = Int128(output.itemTime(forHostTime: clock.now)) + Int128(nanoseconds)
        seek(to: Int64(clamping: item), output)
    }

    private mutating func seek(to time: Int64, _ output: VideoOutput) {
        let time = max(0, time)
        output.seek(to: time)
        isSeeking = true
        prepareSound(time)
    }

    private mutating func step(_ direction: Int64, _ output: VideoOutput) {
        guard let frame else { return }
        setPlaying(false, output)
        // A file may say any duration.
        let duration = max(1e6, min(1e18, Double(frame.duration) * setup.video.timeBase.value * 1e9))
        let distance = Int128(direction > 0 ? duration : -duration / 2)
        seek(to: Int64(clamping: Int128(frame.displayTime) + distance), output)
    }
}
