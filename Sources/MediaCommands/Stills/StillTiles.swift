// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDBoxes
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDMediaFile
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Decodes the coded items of a HEIF file: HEVC through one session for all tiles that share a record, the rest in this process.
final class StillTiles {
    /// What decoded, for the report.
    struct Decoder {
        var id: String
        var isHardware: Bool
        var reason: String?
    }

    /// One coded item, and what is done with its planes.
    struct Work {
        var item: UInt32
        var paint: (_ planes: [PlaneView], _ size: PixelRect) throws -> Void
    }

    private let input: StillInput
    private let daemon: () throws -> Daemon
    private let specification: [PropertyKey: PropertyValue]
    private let isInterrupted: () -> Bool
    /// The record and the format of the open session.
    private var key: Key?
    private var session: DecompressionSession?
    private var local: (key: [UInt8], decoder: StillItemDecoder)?
    /// Items that were sent, by the number of their packet, until their pictures come.
    private var pending: [UInt64: Work] = [:]
    /// Tiles that were decoded.
    private(set) var count = 0
    private(set) var decoder: Decoder?
    /// Bytes of the last `ahead` packets that were sent.
    private var sizes: [Int] = []
    /// Samples that were decoded, those of an item that is decoded again included.
    private var samples = 0

    private struct Key: Hashable {
        var record: [UInt8]
        var format: PixelFormat
    }

    /// The most packets that the session has not read: a decoder with many threads returns no picture until each has a packet.
    private static let ahead = 24
    /// How often a wait checks for signals and its deadline.
    private static let pollInterval = Duration.milliseconds(100)
    /// Bytes of a coded picture: level 6.2 allows fewer (H.265 A.4.2).
    private static let maxBytes: UInt64 = 256 << 20

    init(
        _ input: StillInput, _ specification: [PropertyKey: PropertyValue], daemon: @escaping () throws -> Daemon,
        isInterrupted: @escaping () -> Bool
    ) {
        (self.input, self.specification, self.daemon) = (input, specification, daemon)
        self.isInterrupted = isInterrupted
    }

    deinit { session?.invalidate() }

    /// Decodes items in order and paints each.
    ///
    /// - Parameter format: `yu12` or `i010`.
    /// - Throws: what a damaged item, the session and `paint` throw.
    func decode(_ works: [Work], as format: PixelFormat) throws {
        for work in works {
            if isInterrupted() { throw CommandFailure.interrupted }
            let picture = try input.naming { () throws(HEIFError) in try input.file.picture(work.item) }
            samples += picture.width * picture.height
            guard samples <= HEIFLimits.paintedPixels else {
                throw MediaError(.unsupported, "\(input.path): too many samples would be decoded for one picture")
            }
            let data = try input.naming { () throws(HEIFError) in
                try input.file.data(of: work.item, from: input.source, limit: Self.maxBytes)
            }
            count += 1
            guard let session = try open(picture, format) else {
                try finish()
                try decodeHere(work, picture, data, format)
                continue
            }
            guard !data.isEmpty else { throw damaged(work.item, "it has no data") }
            try waitForRoom(session)
            let number = try data.withUnsafeBytes { try session.decode($0, pts: Int64(count)) }
            pending[number] = work
            sizes = sizes.suffix(Self.ahead - 1) + [data.count]
        }
        try finish()
    }

    /// The session for a picture's record; nil where this process decodes it.
    private func open(_ picture: PictureDescription, _ format: PixelFormat) throws -> DecompressionSession? {
        guard let bytes = picture.recordBytes else { return nil }
        let wanted = Key(record: bytes, format: format)
        if key == wanted { return session }
        try finish()
        session?.invalidate()
        (session, key) = (nil, wanted)
        guard picture.isForSessions else { return nil }
        let daemon = try daemon()
        do throws(ClientError) {
            let parameters = CreateDecompressionSession.Parameters(
                formatDescription: bytes, timeBase: Rational(1), pixelFormat: format,
                decoderSpecification: specification, properties: SessionRequest.properties)
            let made = try SessionRequest.create(daemon, parameters) { (parameters) throws(ClientError) in
                try DecompressionSession(daemon, parameters)
            }
            session = made
            decoder = Decoder(
                id: made.created.decoderID, isHardware: made.created.usingHardware,
                reason: made.created.fallbackReason)
        } catch {
            guard error.code == .session(.videoDecoderUnsupportedDataFormat) else { throw error }
        }
        return session
    }

    private func decodeHere(
        _ work: Work, _ picture: PictureDescription, _ data: [UInt8], _ format: PixelFormat
    ) throws {
        if specification[.requireHardwareDecoder] == .bool(true) {
            throw CommandFailure(
                .unavailable,
                "hardware is required, but item \(work.item) (\(picture.item.type)) is decoded in this process")
        }
        let configuration =
            Array(picture.item.type.description.utf8) + (picture.recordBytes ?? [])
            + picture.codecConfigurations.flatMap(\.fields)
        let decoder: StillItemDecoder
        if let local, local.key == configuration {
            decoder = local.decoder
        } else {
            decoder = try StillItemDecoder(picture, path: input.path)
            local = (configuration, decoder)
        }
        if self.decoder == nil {
            self.decoder = Decoder(
                id: "hwctl", isHardware: false,
                reason: "this kind of \(picture.item.type) is decoded by hwctl itself")
        }
        try decoder.decode(data, as: format, work.paint)
    }

    /// Waits for all pictures that were sent.
    private func finish() throws {
        guard !pending.isEmpty, let session else { return }
        try session.finishDelayedFrames()
        while try !takeEvent(session) {}
        if let item = pending.values.first?.item { throw damaged(item, "it gives no picture") }
    }

    /// Whether as many packets, or bytes of them, are unread as may be.
    private func isFull(_ session: DecompressionSession) -> Bool {
        let unread = session.packetsInFlight
        return unread >= Self.ahead || sizes.suffix(unread).reduce(0, +) >= Self.maxBytes
    }

    /// Takes the events that have arrived, then waits until another packet may be sent.
    ///
    /// Pictures are not counted: how many packets a decoder takes before it returns the first depends on its threads.
    private func waitForRoom(_ session: DecompressionSession) throws {
        var deadline = MonotonicTime.now + SessionTimeout.limit
        while true {
            if isInterrupted() { throw CommandFailure.interrupted }
            let isFull = isFull(session)
            if let event = try session.nextEvent(timeout: isFull ? Self.pollInterval : .zero) {
                try take(event, session)
                deadline = MonotonicTime.now + SessionTimeout.limit
            } else if !isFull {
                return
            } else if MonotonicTime.now > deadline {
                throw SessionTimeout.failure
            }
        }
    }

    /// Waits for the next event and takes it; returns whether everything that was sent is done.
    private func takeEvent(_ session: DecompressionSession) throws -> Bool {
        let deadline = MonotonicTime.now + SessionTimeout.limit
        while MonotonicTime.now < deadline {
            if isInterrupted() { throw CommandFailure.interrupted }
            if let event = try session.nextEvent(timeout: Self.pollInterval) { return try take(event, session) }
        }
        throw SessionTimeout.failure
    }

    /// Takes an event; returns whether everything that was sent is done.
    @discardableResult private func take(
        _ event: DecompressionSession.Event, _ session: DecompressionSession
    ) throws -> Bool {
        switch event {
        case .finished: return true
        case .report(let report):
            guard report.status == .ok else { throw damaged(pending[report.frameID]?.item, report.reason) }
        case .frame(let frame):
            try take(frame)
            try session.release(frame)
        }
        return false
    }

    private func take(_ frame: DecompressionSession.ReceivedFrame) throws {
        let picture = frame.description
        guard let work = pending.removeValue(forKey: picture.frameID), let base = frame.memory.bytes.baseAddress
        else {
            throw MediaError(.badInput, "\(input.path): an item has several pictures")
        }
        guard !picture.flags.contains(.damaged) else { throw damaged(work.item, "its coded picture is damaged") }
        guard picture.format == key?.format else {
            throw CommandFailure(.software, "the session returned \(picture.format.rawValue) pictures")
        }
        try picture.layout.validate(
            picture.format, width: Int(picture.width), height: Int(picture.height),
            poolSize: UInt64(frame.memory.bytes.count))
        try work.paint(
            picture.layout.planes(at: base), PixelRect(width: Int(picture.width), height: Int(picture.height)))
    }

    private func damaged(_ item: UInt32?, _ reason: String) -> MediaError {
        let name = item.map { "item \($0)" } ?? "an item"
        return MediaError(.badInput, "\(input.path): \(name) cannot be decoded: \(reason)")
    }
}
