// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDComparison
internal import HWDControlCommands
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// One session that encoded the whole clip: the stream, its speed and its cost.
struct BenchSession {
    private static let poolID: UInt32 = 1
    /// As many as `hwctl encode` has in flight.
    private static let maxFramesInFlight = 6

    let created: CreateCompressionSession.Reply
    private(set) var record: [UInt8] = []
    /// In decoding order.
    private(set) var pictures: [(bytes: [UInt8], isSync: Bool)] = []
    /// Seconds from the first frame sent to the last packet.
    private(set) var seconds = 0.0
    /// Milliseconds from sending a frame to its packet, sorted.
    private(set) var latencies: [Double] = []
    private(set) var worker: ProcessUsage?
    private(set) var ownCPUSeconds = 0.0

    /// Encodes the clip.
    ///
    /// - Parameter onPacket: called for each packet.
    init(
        _ daemon: Daemon, _ clip: BenchClip, specification: [PropertyKey: PropertyValue],
        properties: [PropertyKey: PropertyValue], interruption: Interruption, onPacket: () -> Void
    ) throws {
        var properties = properties
        properties[.expectedFrameRate] = .string(clip.frameRate.description)
        let session = try CompressionSession(
            daemon, clip.parameters(specification: specification, properties: properties))
        defer { session.invalidate() }
        created = session.created
        let pid = try daemon.call(ListSessions.self, Empty()).sessions.first { $0.session == created.session }?.pid
        // Every frame has a slot of its own.
        try session.addPool(clip.pool, id: Self.poolID, sparing: .max)
        try session.prepare()
        try encode(clip, session, interruption, onPacket)
        // Before the session ends: proc(5) has no entry of a process that is gone.
        worker = pid.flatMap { ProcessUsage(pid: $0) }
        latencies.sort()
    }

    private mutating func encode(
        _ clip: BenchClip, _ session: CompressionSession, _ interruption: Interruption, _ onPacket: () -> Void
    ) throws {
        let cpu = ProcessUsage.ownCPUSeconds
        let start = MonotonicTime.now
        var sent: [MonotonicTime] = []
        var last = start
        var isCompleted = false
        while !isCompleted {
            if interruption.isSet { throw CommandFailure.interrupted }
            while sent.count < clip.frames.count, session.framesInFlight < Self.maxFramesInFlight {
                try send(clip, &sent, session)
            }
            var event = try session.waitForEvent(unless: interruption) {
                sent.count < clip.frames.count && session.framesInFlight < Self.maxFramesInFlight
            }
            while let next = event {
                switch next {
                case .formatDescription(let bytes): record = bytes
                case .frameReleased: break
                case .packet(let packet):
                    last = .now
                    try take(packet, at: last, sent)
                    try session.release(packet)
                    onPacket()
                case .completed: isCompleted = true
                }
                event = isCompleted ? nil : try session.nextEvent(timeout: .zero)
            }
        }
        seconds = Double(last.nanoseconds(since: start)) / 1e9
        ownCPUSeconds = ProcessUsage.ownCPUSeconds - cpu
    }

    /// Sends the next frame, and completes the session after the last one.
    private func send(_ clip: BenchClip, _ sent: inout [MonotonicTime], _ session: CompressionSession) throws {
        let frame = clip.frames[sent.count]
        sent.append(.now)
        try session.encode(
            EncodeFrame(
                frameID: UInt64(sent.count - 1), pts: frame.pts, duration: frame.duration, poolID: Self.poolID,
                layout: frame.layout))
        if sent.count == clip.frames.count { try session.complete() }
    }

    private mutating func take(
        _ packet: CompressionSession.ReceivedPacket, at time: MonotonicTime, _ sent: [MonotonicTime]
    ) throws {
        let description = packet.description
        guard description.frameID < UInt64(sent.count) else {
            throw CommandFailure(.software, "the session returned a packet of a frame that was never sent")
        }
        latencies.append(Double(time.nanoseconds(since: sent[Int(description.frameID)])) / 1e6)
        pictures.append((Array(packet.bytes), description.flags.contains(.sync)))
    }

    /// Decodes the stream and compares it with the clip.
    ///
    /// - Throws: what is wrong with the stream.
    func quality(_ clip: BenchClip, _ interruption: Interruption) throws -> PictureQuality {
        var quality = PictureQuality()
        do {
            let decoder = try ReferenceDecoder(record: record)
            for picture in pictures {
                if interruption.isSet { throw CommandFailure.interrupted }
                try add(try decoder.decode(picture.bytes), to: &quality, clip)
            }
            try add(try decoder.finish(), to: &quality, clip)
        } catch let error as LibAVError {
            throw CommandFailure(.software, "the coded stream cannot be decoded: \(error)")
        }
        guard quality.pictures == clip.frames.count else {
            throw CommandFailure(
                .software, "\(quality.pictures) pictures were decoded of \(clip.frames.count) frames")
        }
        return quality
    }

    private func add(_ decoded: [DecodedPicture], to quality: inout PictureQuality, _ clip: BenchClip) throws {
        for picture in decoded {
            guard quality.pictures < clip.frames.count else {
                throw CommandFailure(.software, "more pictures were decoded than frames were sent")
            }
            try add(picture, to: &quality, clip)
        }
    }

    /// Adds a picture and the frame it was coded from.
    ///
    /// - Throws: when the picture is smaller than the frame or has fewer bits.
    private func add(_ picture: DecodedPicture, to quality: inout PictureQuality, _ clip: BenchClip) throws {
        guard picture.width >= clip.video.width, picture.height >= clip.video.height,
            picture.bitDepth >= clip.video.format.bitDepth
        else {
            throw CommandFailure(
                .software,
                "the decoded pictures are \(picture.width)x\(picture.height) with \(picture.bitDepth) bits")
        }
        let view = try clip.view(quality.pictures)
        let frame = (0..<3).compactMap { PicturePlane($0, of: view) }
        try picture.planes[0].withUnsafeBufferPointer { luma in
            try picture.planes[1].withUnsafeBufferPointer { cb in
                try picture.planes[2].withUnsafeBufferPointer { cr in
                    let coded = [luma, cb, cr].enumerated().compactMap { component, words in
                        words.baseAddress.map { start in
                            let (width, height) =
                                component == 0
                                ? (picture.width, picture.height)
                                : ((picture.width + 1) / 2, (picture.height + 1) / 2)
                            return PicturePlane(
                                words: start, stride: width, width: width, height: height,
                                bitDepth: picture.bitDepth)
                        }
                    }
                    try quality.add(Array(zip(frame, coded)))
                }
            }
        }
    }

    /// Bytes of all packets.
    var byteCount: Int { pictures.reduce(0) { $0 + $1.bytes.count } }

    /// The latency that `percentile` percent of the frames did not exceed, in milliseconds; nil without frames.
    func latency(percentile: Int) -> Double? {
        guard !latencies.isEmpty else { return nil }
        return latencies[min(latencies.count - 1, (latencies.count * percentile + 99) / 100 - 1)]
    }
}
