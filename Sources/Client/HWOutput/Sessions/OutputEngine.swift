// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWClient
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// An output's thread: reads the source, decodes ahead and converts what is shown next.
struct OutputEngine: ~Copyable {
    private let daemon: Daemon
    private var source: any VideoSource
    private let options: VideoOutput.Options
    private let clock: any OutputClock
    private let state: OutputState
    private let session: DecompressionSession
    private let returned: ReturnedPictures
    private var pools = PicturePools()

    /// The record of the packets that were sent last.
    private var format: [UInt8]
    /// The record of the packet that was read last, and the bytes of its pictures.
    private var measured: (format: [UInt8], bytes: Int) = ([], 0)
    /// Packets of the decoder, by its numbers: those of the playback, and their stretch.
    private var sent: [UInt64: (id: UInt64, number: Int)] = [:]
    /// The stretches whose pictures the decoder was asked to finish, nil for those that nobody waits for.
    private var finishes: [Int?] = []
    /// Whether the decoder has packets that it was not asked to finish.
    private var isFed = false

    private var converter: Converter?
    /// Conversions that are under way, by their numbers.
    private var conversions: [UInt64: (id: UInt64, picture: HeldPicture, target: PixelBuffer)] = [:]
    private var conversionCount: UInt64 = 0
    private var targets = PicturePools()
    private var earlierRestarts = 0

    /// A session for pictures of one size and format.
    private struct Converter {
        var key: [Int]
        var session: TransferSession
        var pools = SessionPools()
    }

    /// Packets that the decoder has not read: as few as keep it busy, so that a seek does not wait for more.
    private static let packetsAhead = 2
    /// Pictures that stay in the decoder's memory; the others are copied, so that the decoder never waits for a credit.
    private static let creditsLeft = 2
    /// Frames of a pool for the app: the one that is shown, the next one, one ahead, and some that the app keeps.
    private static let targetSlots = 6
    private static let targetPools = 2
    /// Answers to a format after which the session continues with the one before.
    private static let refusals: [Status] = [
        .formatDescriptionChangeNotSupported, .videoDecoderUnsupportedDataFormat, .videoDecoderBadData, .parameter,
    ]

    init(
        _ daemon: Daemon, _ source: any VideoSource, _ format: [UInt8], _ options: VideoOutput.Options,
        _ clock: any OutputClock, _ state: OutputState
    ) throws(ClientError) {
        (self.daemon, self.source, self.options) = (daemon, source, options)
        (self.clock, self.state, self.format) = (clock, state, format)
        returned = ReturnedPictures(state.wakeUp)
        session = try DecompressionSession(
            daemon,
            CreateDecompressionSession.Parameters(
                formatDescription: format, timeBase: source.timeBase,
                decoderSpecification: options.decoderSpecification))
        let created = session.created
        state.look {
            $0.devices.decoder = .init(
                name: created.decoderID, isHardware: created.usingHardware, fallbackReason: created.fallbackReason)
        }
        if let pixelFormat = PixelFormat(rawValue: created.pixelFormat) {
            let size = FrameLayout.packed(pixelFormat, width: created.width, height: created.height).size
            state.change { $0.playback.pictureBytes = size }
        }
    }

    /// Works until the output goes or its session ends for good.
    mutating func run() {
        do throws(ClientError) {
            while !state.look({ $0.isStopped }) {
                state.wakeUp.clear()
                var isBusy = try step()
                if try receive() { isBusy = true }
                if try convert() { isBusy = true }
                if isBusy {
                    state.resumeWaiters()
                } else {
                    wait()
                }
            }
        } catch { fail(error) }
        session.invalidate()
        converter?.session.invalidate()
        state.resumeWaiters()
    }

    private func fail(_ error: ClientError) {
        state.look { content in
            content.hasFailed = true
            content.playback.events.append(.failed(error.reason))
        }
    }

    /// Sleeps until there is something to do.
    private func wait() {
        var entries = [
            pollfd(fd: state.wakeUp.fileDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: session.fileDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: converter?.session.fileDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        // A session that restarts has no other way to say that time has passed.
        _ = poll(&entries, nfds_t(entries.count), 200)
    }

    // MARK: - Packets

    /// Does what the playback asks for next; false if that is nothing.
    private mutating func step() throws(ClientError) -> Bool {
        for picture in returned.take() { try session.release(picture) }
        for memory in pools.shrink() + targets.shrink() {
            if let session = converter?.session { try converter?.pools.remove(memory, from: session) }
        }
        guard session.packetsInFlight <= Self.packetsAhead else { return false }
        // A seek may come at any time: what this leads to counts only for the run that asked for it.
        let (work, number) = state.look { ($0.playback.nextWork(), $0.playback.run.number) }
        switch work {
        case .wait: return false
        case .seek(let time):
            try flush(for: nil)
            seek(to: time, number)
        case .finish: try flush(for: number)
        case .read: try read(number)
        }
        return true
    }

    /// Lets the decoder return every picture; the packet behind is a key frame.
    private mutating func flush(for number: Int?) throws(ClientError) {
        guard isFed else {
            if let number { state.look { $0.playback.didFinish(number) } }
            return
        }
        try session.finishDelayedFrames()
        finishes.append(number)
        isFed = false
    }

    private mutating func seek(to time: Int64, _ number: Int) {
        var target = time
        while true {
            let point: VideoSeekPoint?
            do { point = try source.seek(to: target) } catch {
                end(number, "\(error)")
                return
            }
            let next = source.seekPoint(after: target)
            let again = state.look { content in
                guard content.playback.isAt(number) else { return Int64?.none }
                return content.playback.didSeek(point?.time, next: next, isFirst: point?.isFirst ?? true)
            }
            guard let again else { return }
            target = again
        }
    }

    /// The source has no more packets, or fails.
    private func end(_ number: Int, _ fault: String?) {
        state.look { content in
            guard content.playback.isAt(number) else { return }
            if let fault { content.playback.events.append(.cutShort(fault)) }
            content.playback.sourceEnded()
        }
    }

    private mutating func read(_ number: Int) throws(ClientError) {
        let packet: VideoPacket
        do {
            guard let next = try source.next() else {
                end(number, nil)
                return
            }
            packet = next
        } catch {
            end(number, "\(error)")
            return
        }
        var facts = PacketFacts(packet)
        if packet.formatDescription != measured.format {
            measured = (packet.formatDescription, PacketFacts.pictureBytes(packet.formatDescription))
        }
        facts.pictureBytes = measured.bytes
        let now = clock.now
        let decision = state.look { content in
            content.playback.isAt(number) ? content.playback.read(facts, at: now) : .skip
        }
        guard case .decode(let id, let isOutput) = decision else { return }
        guard (1...DecodeFrame.maxSize).contains(packet.bytes.count) else {
            state.look { $0.playback.didLose(id) }
            return
        }
        if packet.formatDescription != format {
            guard try change(to: packet.formatDescription, for: number) else {
                state.look { $0.playback.didLose(id) }
                return
            }
        }
        isFed = true
        let result: Result<UInt64, ClientError> = packet.bytes.withUnsafeBytes { bytes in
            do throws(ClientError) {
                return .success(
                    try session.decode(bytes, pts: packet.time, duration: facts.duration, isOutput: isOutput))
            } catch { return .failure(error) }
        }
        let sent = try result.get()
        if isOutput { self.sent[sent] = (id, number) }
    }

    /// Announces another format; where the decoder refuses it, the source ends with what came before.
    private mutating func change(to record: [UInt8], for number: Int) throws(ClientError) -> Bool {
        do throws(ClientError) {
            try session.changeFormat(record)
        } catch {
            guard case .session(let status) = error.code, Self.refusals.contains(status) else { throw error }
            end(number, error.reason)
            return false
        }
        format = record
        return true
    }

    // MARK: - Pictures

    /// Takes what the sessions have sent; false if that is nothing.
    private mutating func receive() throws(ClientError) -> Bool {
        var isBusy = false
        while let event = try session.nextEvent(timeout: .zero) {
            isBusy = true
            switch event {
            case .frame(let frame): try take(frame)
            case .report(let report):
                guard report.flags.contains(.dropped), let lost = sent.removeValue(forKey: report.frameID) else {
                    break
                }
                state.look { $0.playback.didLose(lost.id) }
            case .finished:
                guard !finishes.isEmpty else { break }
                // What was sent before has come, or never comes.
                if let number = finishes.removeFirst() { state.look { $0.playback.didFinish(number) } }
                if finishes.isEmpty, !isFed { sent = [:] }
            }
        }
        let restarts = earlierRestarts + session.restartCount + (converter?.session.restartCount ?? 0)
        state.look { $0.playback.counts.restarts = restarts }
        return isBusy
    }

    private mutating func take(_ frame: DecompressionSession.ReceivedFrame) throws(ClientError) {
        let description = frame.description
        guard let sent = sent.removeValue(forKey: description.frameID),
            state.look({ $0.playback.awaits(sent.number) })
        else {
            try session.release(frame)
            return
        }
        let returned = returned
        var buffer = PixelBuffer(
            description.format, width: Int(description.width), height: Int(description.height), in: frame.memory,
            description.layout
        ) { returned.add(frame) }
        if session.framesHeld > session.created.maxFramesInFlight - Self.creditsLeft { buffer = try copy(buffer) }
        let picture = HeldPicture(description, buffer)
        if options.target == nil { picture.shown = buffer }
        let now = clock.now
        state.look { content in
            let facts = DecodedFacts(
                id: sent.id, number: sent.number, time: description.pts, duration: description.duration,
                byteCount: picture.byteCount)
            _ = content.playback.didDecode(facts, picture, at: now)
        }
    }

    /// A copy in this process's own memory.
    private mutating func copy(_ buffer: PixelBuffer) throws(ClientError) -> PixelBuffer {
        do {
            let copy = try pools.next(
                buffer.format, width: buffer.width, height: buffer.height, wakes: state.wakeUp)
            try buffer.withPlanes { from in
                try copy.withMutablePlanes { to in
                    for (source, target) in zip(from, to) {
                        for row in 0..<min(source.rowCount, target.rowCount) {
                            target[row].copyMemory(from: source[row])
                        }
                    }
                }
            }
            return copy
        } catch { throw ClientError(.connectionFailed, "no memory for pictures: \(error)") }
    }

    // MARK: - Conversion

    /// Converts what is shown next; false if nothing was done.
    private mutating func convert() throws(ClientError) -> Bool {
        guard let target = options.target else { return false }
        var isBusy = false
        while let event = try converter?.session.nextEvent(timeout: .zero) {
            guard case .frame(let answer) = event, let done = conversions.removeValue(forKey: answer.frameID) else {
                continue
            }
            isBusy = true
            state.look { content in
                if answer.status == .ok {
                    done.picture.shown = done.target
                    content.playback.counts.converted += 1
                } else {
                    content.playback.events.append(.notConverted(answer.reason))
                    content.playback.didNotConvert(done.id)
                }
            }
        }
        let now = clock.now
        let wanted = state.look { content in
            content.playback.expected(at: now)
                .compactMap { id in content.playback.picture(id).map { (id: id, picture: $0) } }
                .filter { $0.picture.shown == nil && !$0.picture.isConverting }
        }
        for (id, picture) in wanted where targets.hasRoom(limit: Self.targetPools) {
            guard try prepare(picture, target) else { break }
            try send(picture, id, target)
            isBusy = true
        }
        return isBusy
    }

    /// Makes the session for a picture; false while another one is still at work.
    private mutating func prepare(
        _ picture: HeldPicture, _ target: CreateTransferSession.Image
    ) throws(ClientError) -> Bool {
        let buffer = picture.decoded
        let key = [buffer.width, buffer.height, Int(buffer.format.fourcc)]
        if converter?.key == key { return true }
        guard conversions.isEmpty else { return false }
        earlierRestarts += converter?.session.restartCount ?? 0
        converter?.session.invalidate()
        converter = nil
        let parameters = CreateTransferSession.Parameters(
            width: buffer.width, height: buffer.height, targetWidth: options.size?.width,
            targetHeight: options.size?.height, source: .init(pixelFormat: buffer.format.rawValue), target: target,
            options: options.conversion)
        let session = try TransferSession(daemon, parameters)
        let created = session.created
        state.look {
            $0.devices.converter = .init(
                name: created.device, isHardware: created.usingGPU, fallbackReason: created.fallbackReason)
        }
        converter = Converter(key: key, session: session)
        return true
    }

    private mutating func send(
        _ picture: HeldPicture, _ id: UInt64, _ target: CreateTransferSession.Image
    ) throws(ClientError) {
        guard let format = PixelFormat(rawValue: target.pixelFormat) else {
            throw ClientError(.session(.parameter), "the pixel format \(target.pixelFormat) is unknown")
        }
        let buffer: PixelBuffer
        do throws(SystemError) {
            buffer = try targets.next(
                format, width: options.size?.width ?? picture.decoded.width,
                height: options.size?.height ?? picture.decoded.height, slots: Self.targetSlots, wakes: state.wakeUp
            )
        } catch { throw ClientError(.connectionFailed, "no memory for frames: \(error)") }
        guard var converter else { return }
        conversionCount += 1
        let frame = TransferFrame(
            frameID: conversionCount,
            source: .init(
                poolID: try converter.pools.id(of: picture.decoded.memory, in: converter.session),
                layout: picture.decoded.layout),
            target: .init(
                poolID: try converter.pools.id(of: buffer.memory, in: converter.session), layout: buffer.layout),
            color: picture.description.color)
        self.converter = converter
        try converter.session.transfer(frame)
        picture.isConverting = true
        conversions[conversionCount] = (id, picture, buffer)
    }
}
