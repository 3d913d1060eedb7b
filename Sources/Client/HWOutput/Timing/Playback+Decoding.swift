// SPDX-License-Identifier: MIT

extension Playback {
    /// What is to be done next.
    enum Work: Hashable {
        /// The decoder forgets what it has, and the source goes to the key frame at or before a time: `didSeek` follows.
        case seek(Int64)
        /// Reads a packet: `read` or `sourceEnded` follows.
        case read
        /// The decoder returns every picture: `didFinish` follows.
        case finish
        case wait
    }

    /// What becomes of a packet.
    enum Decision: Hashable {
        case skip
        case decode(id: UInt64, isOutput: Bool)
    }

    /// The stretch that is being filled.
    private var filling: FrameQueue<Picture> {
        get { upcoming.flatMap { $0.number == run.number ? $0 : nil } ?? current }
        set { if upcoming?.number == run.number { upcoming = newValue } else { current = newValue } }
    }

    /// Times real time.
    private var speed: Double { max(0.001, Double(abs(map.wantedRate)) / Double(TimeMap.one)) }

    /// Pictures that are decoded ahead: a tenth of a second, three at least, and no more than fit the bound.
    private var aheadCount: Int {
        let rate = plan.pace?.decoded ?? 30
        let wanted = max(3, Int(min(1000, (0.1 * rate * max(1, speed)).rounded(.up))))
        return max(2, min(wanted, bounds.bytes / max(1, pictureBytes)))
    }

    private var waitingCount: Int { current.waitingCount + (upcoming?.waitingCount ?? 0) }
    private var waitingBytes: Int { current.byteCount + (upcoming?.byteCount ?? 0) }

    /// Whether the present run is the one of a number, and not of a seek that came meanwhile.
    func isAt(_ number: Int) -> Bool { run.number == number && run.isOpen }

    /// Whether pictures are decoded ahead, and not enough wait yet.
    var readsAhead: Bool { waitingCount < aheadCount }

    mutating func nextWork() -> Work {
        if !run.isOpen {
            run.isOpen = true
            run.state = .seek(run.target, then: direction > 0 ? .read : .scan)
            // In reverse the frame of the time itself is the first.
            if direction < 0 { run.groupEnd = max(run.target, tick(of: scale.nanoseconds(run.target))) &+ 1 }
        }
        switch run.state {
        case .seek(let time, _): return .seek(time)
        case .scan, .readPart: return .read
        case .read:
            if readsAhead { return .read }
            pauseWork()
            return .wait
        case .nextPart:
            guard let part = run.parts.first else { return .wait }
            // One part is shown while the next is decoded.
            let (bytes, isTooLarge) = part.pictureCount.multipliedReportingOverflow(by: run.pictureBytes)
            // Two pictures wait in any case: the one that is shown next, and the one ahead.
            guard
                waitingCount == 0 || waitingCount + part.pictureCount <= 2
                    || !isTooLarge && bytes <= bounds.reverseBytes - waitingBytes
            else {
                pauseWork()
                return .wait
            }
            run.state = .seek(run.groupKey, then: .readPart(index: 0))
            return .seek(run.groupKey)
        case .finish:
            run.state = .draining
            work = nil
            return .finish
        case .draining: return .wait
        case .done:
            work = nil
            beginUpcoming()
            return run.state == .done ? .wait : nextWork()
        }
    }

    /// Decodes ahead behind the end of a loop.
    private mutating func beginUpcoming() {
        guard isLooping, upcoming == nil, run.number == current.number, let start, let end, end > start,
            readsAhead
        else { return }
        let next = restarted()
        upcoming = next
        run = DecodeRun(number: next.number, target: direction > 0 ? start : end - 1)
    }

    /// The source has gone to a key frame.
    /// - Parameters:
    ///   - key: its time; nil where the source has no packets.
    ///   - next: the time of the key frame behind the time that was asked for.
    ///   - isFirst: whether it is the stream's first.
    /// - Returns: where it must go instead.
    mutating func didSeek(_ key: Int64?, next: Int64? = nil, isFirst: Bool = false) -> Int64? {
        guard case .seek(let time, let state) = run.state else { return nil }
        work = nil
        guard let key else {
            sourceEnded()
            return nil
        }
        run.state = state
        run.key = key
        // Where a movie is trimmed, the first packets only serve for decoding: play begins at 0.
        if isFirst { start = max(0, key) }
        (run.skipsLeading, run.skipsToKey) = (true, false)
        switch state {
        case .read:
            if let landed = landing(time, key, next) {
                map.hold(at: scale.nanoseconds(landed))
                filling.asked = landed
                run.target = landed
                run.mode = .exact
                if landed != key {
                    run.state = .seek(landed, then: .read)
                    return landed
                }
            }
            filling.begin = run.target
        case .scan:
            run.isFirstGroup = isFirst
            if key >= run.groupEnd { completeReverse() }
            (run.group, run.groupKey, run.nextKey) = ([], key, nil)
        default: break
        }
        return nil
    }

    /// The key frame at which a seek lands; nil where it goes to the time itself.
    private func landing(_ time: Int64, _ key: Int64, _ next: Int64?) -> Int64? {
        switch run.mode {
        case .exact: return nil
        case .key: return key
        case .tolerance(let duration):
            let (seconds, attoseconds) = duration.components
            let limit = Int128(seconds) * 1_000_000_000 + Int128(attoseconds / 1_000_000_000)
            func isNear(_ other: Int64) -> Bool {
                let distance = Int128(scale.nanoseconds(other)) - Int128(scale.nanoseconds(time))
                return distance.magnitude <= limit.magnitude
            }
            return isNear(key) ? key : next.flatMap { isNear($0) ? $0 : nil }
        }
    }

    // MARK: - Packets

    /// Decides about a packet that was read.
    /// - Parameter host: the present time.
    mutating func read(_ packet: PacketFacts, at host: Int64) -> Decision {
        switch run.state {
        case .read: return readForward(packet, at: host)
        case .scan:
            scan(packet)
            return .skip
        case .readPart(let index): return readPart(packet, index, at: host)
        default: return .skip
        }
    }

    /// Notes what a packet says of the stream.
    private mutating func note(_ packet: PacketFacts) {
        plan.read(packet, scale)
        durations.read(packet)
        current.trustsDurations = durations.isTrusted
        upcoming?.trustsDurations = durations.isTrusted
    }

    private mutating func readForward(_ packet: PacketFacts, at host: Int64) -> Decision {
        note(packet)
        filling.horizon = max(filling.horizon, packet.decodeTime)
        if packet.isKey {
            if run.skipsToKey { (run.skipsToKey, run.skipsLeading) = (false, true) }
            if run.key != packet.time, !run.skipsLeading { run.key = nil }
            if run.skipsLeading { run.key = packet.time }
        } else if let key = run.key, run.skipsLeading {
            // Leading pictures may refer to what is not decoded.
            if packet.time < key { return .skip }
            if packet.isReference || packet.decodeTime >= key { run.skipsLeading = false }
        }
        let late = lateness(packet, at: host)
        let interval = 1e9 / max(1, plan.pace?.all ?? 30)
        let refreshes = grid.map { 1e9 / Double($0.nanoseconds) }
        plan.choose(
            speed: speed, isLate: plan.isStrained && late > interval, atKey: packet.isKey, refreshes: refreshes,
            scale)
        if plan.isStrained, late > 0, !packet.isKey, isBehind(late, packet, at: host) { run.skipsToKey = true }
        guard !run.skipsToKey, plan.thinning.keeps(packet, highest: plan.highestLevel) else {
            if packet.isShown, packet.time >= run.target {
                filling.skip(packet.time)
                counts.skipped += 1
            }
            return .skip
        }
        return expect(packet, isOutput: packet.isShown, at: host)
    }

    /// How much after its time a packet would be decoded, in nanoseconds of the host's time.
    private func lateness(_ packet: PacketFacts, at host: Int64) -> Double {
        guard !map.isHeld, map.rate != 0, upcoming == nil, packet.isShown else { return 0 }
        let now = Double(map.item(at: host)) - Double(scale.nanoseconds(packet.time))
        return now / speed + plan.cost * Double(filling.pending.count + 1)
    }

    /// Whether decoding continues with the next key frame: half a second late, or where it is near and nothing else can be left out.
    private func isBehind(_ late: Double, _ packet: PacketFacts, at host: Int64) -> Bool {
        let kept = plan.density(plan.thinning, scale) ?? 0
        let load = kept * speed * plan.cost / 1e9
        // How long it takes to catch up, if that is possible.
        if late > 500_000_000, load >= 1 || late * load / (1 - load) > 500_000_000 { return true }
        guard load > 0.95, let lastKey = run.latestKey, let interval = plan.keyInterval else { return false }
        let wait = (Double(scale.nanoseconds(lastKey &+ interval)) - Double(map.item(at: host))) / speed
        return wait > 0 && wait < 500_000_000 && late > 1e9 / max(1, kept * speed)
    }

    /// Notes that the decoder has to wait.
    ///
    /// What it does between two waits says little of its speed, because it works ahead.
    private mutating func pauseWork() {
        if work != nil { plan.keepUp() }
        work = nil
    }

    private mutating func expect(_ packet: PacketFacts, isOutput: Bool, at host: Int64) -> Decision {
        if work == nil { work = (host, 0) }
        let id = nextID
        nextID += 1
        if packet.isKey { run.latestKey = packet.time }
        if isOutput { filling.expect(id, at: packet.time) }
        return .decode(id: id, isOutput: isOutput)
    }

    /// Gathers a group of pictures, up to the first packet that no picture of it needs.
    private mutating func scan(_ packet: PacketFacts) {
        note(packet)
        if let next = run.nextKey {
            // Pictures behind the key frame in decoding order may precede it.
            guard packet.time < min(run.groupEnd, next) else { return planGroup() }
        } else if packet.isKey, packet.time > run.groupKey, packet.time >= run.groupEnd || run.groupEnd == .max {
            run.nextKey = packet.time
        }
        run.group.append(packet)
    }

    private mutating func planGroup() {
        let packets = run.group
        let shown = packets.filter { $0.isShown && $0.time < run.groupEnd }.map(\.time)
        let first = scale.nanoseconds(shown.min() ?? 0)
        let last = scale.nanoseconds(min(run.groupEnd, packets.map { $0.time &+ $0.duration }.max() ?? 0))
        // The pictures that were decoded last may be of another size.
        let largest = packets.reduce(0) { max($0, $1.time < run.groupEnd ? $1.pictureBytes : 0) }
        run.pictureBytes = largest > 0 ? largest : max(1, pictureBytes)
        let planned = ReversePlan(
            packets, before: run.groupEnd, capacity: max(1, bounds.reverseBytes / 2 / run.pictureBytes),
            cost: plan.cost, available: Double(max(0, last - first)) / speed, highest: plan.highestLevel)
        (run.parts, run.thinning) = (planned.parts[...], planned.thinning)
        counts.skipped += planned.skipped
        if run.parts.isEmpty { nextGroup() } else { run.state = .nextPart }
    }

    private mutating func readPart(_ packet: PacketFacts, _ index: Int, at host: Int64) -> Decision {
        guard let part = run.parts.first else { return .skip }
        if index == 0 { filling.pendingPart = part.times }
        run.state = index + 1 >= part.packetCount ? .finish : .readPart(index: index + 1)
        guard run.thinning.keeps(packet, highest: plan.highestLevel) else { return .skip }
        let isOutput = packet.isShown && part.times.contains(packet.time)
        // What no picture refers to and nobody sees.
        if !isOutput, !packet.isReference, packet.level >= plan.highestLevel { return .skip }
        if index > 0, packet.time < run.groupKey { return .skip }
        return expect(packet, isOutput: isOutput, at: host)
    }

    /// The source has no more packets.
    mutating func sourceEnded() {
        switch run.state {
        case .read: run.state = .finish
        case .scan:
            if run.group.contains(where: \.isShown) {
                end = run.group.reduce(Int64.min) { max($0, $1.time &+ max(1, $1.duration)) }
            }
            planGroup()
        case .readPart: run.state = .finish
        case .seek:
            filling.complete()
            run.state = .done
        default: break
        }
    }

    /// Every picture that was sent before `finish` has come.
    mutating func didFinish(_ number: Int) {
        guard isAt(number), run.state == .draining else { return }
        if direction > 0 {
            filling.complete()
            if let last = filling.end { end = last }
            run.state = .done
            return
        }
        filling.closePart()
        _ = run.parts.popFirst()
        if run.parts.isEmpty { nextGroup() } else { run.state = .nextPart }
    }

    private mutating func nextGroup() {
        if run.isFirstGroup {
            completeReverse()
        } else {
            run.groupEnd = run.groupKey
            run.state = .seek(run.groupKey - 1, then: .scan)
        }
    }

    private mutating func completeReverse() {
        filling.complete()
        run.state = .done
    }

    // MARK: - Pictures

    /// Whether pictures of a stretch are still wanted.
    func awaits(_ number: Int) -> Bool { number == current.number || number == upcoming?.number }

    /// A picture has come; false if nothing waits for it.
    mutating func didDecode(_ facts: DecodedFacts, _ picture: Picture, at host: Int64) -> Bool {
        if let begun = work { work = (begun.since, begun.count + 1) }
        if let begun = work, begun.count >= (plan.isMeasured ? 8 : 4) {
            plan.measure((host &- begun.since) / Int64(begun.count))
            work = (host, 0)
        }
        pictureBytes = facts.byteCount
        let isAdded: Bool
        if facts.number == current.number {
            isAdded = current.add(facts, picture)
        } else if facts.number == upcoming?.number {
            isAdded = upcoming?.add(facts, picture) ?? false
        } else {
            return false
        }
        counts.peakBytes = max(counts.peakBytes, waitingBytes)
        return isAdded
    }

    /// No picture comes of a packet: it is damaged, or the decoder refuses it.
    mutating func didLose(_ id: UInt64) {
        counts.lost += 1
        current.lose(id)
        upcoming?.lose(id)
    }
}
