// SPDX-License-Identifier: MIT
internal import HWClient
internal import HWDBoxes
package import HWDHEIF
internal import HWDHEVC
package import HWDModel
internal import HWDTransport
internal import HWDWire

/// Decodes coded items of one kind in this process.
package protocol ItemDecoder: AnyObject {
    /// Decodes one item and calls `body` with its planes.
    ///
    /// - Parameters:
    ///   - format: `yu12` or `i010`.
    ///   - takesAnyChroma: whether planes may come as they are coded, instead of in `format`.
    /// - Throws: an error where the data are damaged; what `body` throws.
    func decode(
        _ data: [UInt8], as format: PixelFormat, takesAnyChroma: Bool, _ body: (CodedPlanes) throws -> Void
    ) throws
}

/// Decodes the coded items of a HEIF file: HEVC through one session for all tiles that share a record, the rest in this process
/// if it can.
package final class StillTiles {
    /// What decoded, for the report.
    package struct Decoder: Sendable {
        package var id: String
        package var isHardware: Bool
        package var reason: String?
    }

    /// What decodes items that no session takes.
    package struct Local: Sendable {
        /// The program's name.
        package var name: String
        /// Makes the decoder of a picture.
        package var decoder: @Sendable (_ picture: PictureDescription, _ path: String) throws -> any ItemDecoder

        package init(
            name: String,
            decoder: @escaping @Sendable (_ picture: PictureDescription, _ path: String) throws -> any ItemDecoder
        ) { (self.name, self.decoder) = (name, decoder) }
    }

    /// One coded item, and what is done with its planes.
    struct Work {
        var item: UInt32
        var paint: (CodedPlanes) throws -> Void
    }

    private let input: StillInput
    private let sessions: PictureSessions
    private let specification: [PropertyKey: PropertyValue]
    private let local: Local?
    /// The record and the format of the open session.
    private var key: Key?
    private var session: DecompressionSession?
    private var itemDecoder: (key: [UInt8], decoder: any ItemDecoder)?
    /// Items that were sent, by the number of their packet, until their pictures come.
    private var pending: [UInt64: Work] = [:]
    /// Tiles that were decoded.
    package private(set) var count = 0
    /// What decoded the first of them.
    package private(set) var decoder: Decoder?
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
    /// Bytes of a coded picture: level 6.2 allows fewer (H.265 A.4.2).
    private static let maxBytes: UInt64 = 256 << 20

    /// - Parameters:
    ///   - specification: what is required of the sessions' decoder.
    ///   - local: decodes the items that no session takes; nil refuses them.
    package init(
        _ input: StillInput, _ specification: [PropertyKey: PropertyValue], _ sessions: PictureSessions,
        local: Local?
    ) {
        (self.input, self.specification, self.sessions, self.local) = (input, specification, sessions, local)
    }

    deinit { session?.invalidate() }

    /// - Throws: `cancelled`.
    func checkCancellation() throws(ImageError) { try sessions.checkCancellation() }

    /// Decodes items in order and paints each.
    ///
    /// - Parameters:
    ///   - format: `yu12` or `i010`.
    ///   - takesAnyChroma: whether items that no session decodes may come as they are coded.
    /// - Throws: what a damaged item, the session and `paint` throw.
    func decode(_ works: [Work], as format: PixelFormat, takesAnyChroma: Bool = false) throws {
        for work in works {
            try sessions.checkCancellation()
            let picture = try input.naming { () throws(HEIFError) in try input.file.picture(work.item) }
            samples += picture.width * picture.height
            guard samples <= HEIFLimits.paintedPixels else {
                throw ImageError(.unsupported, "\(input.path): too many samples would be decoded for one picture")
            }
            let data = try input.naming { () throws(HEIFError) in
                try input.file.data(of: work.item, from: input.source, limit: Self.maxBytes)
            }
            count += 1
            guard let session = try open(picture, format) else {
                try finish()
                try localDecoder(of: picture, work.item)
                    .decode(data, as: format, takesAnyChroma: takesAnyChroma, work.paint)
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
        let daemon = try sessions.daemon()
        do throws(ClientError) {
            let parameters = CreateDecompressionSession.Parameters(
                formatDescription: bytes, timeBase: Rational(1), pixelFormat: format,
                decoderSpecification: specification, properties: sessions.properties)
            let made = try DecompressionSession(daemon, parameters)
            session = made
            if decoder == nil {
                decoder = Decoder(
                    id: made.created.decoderID, isHardware: made.created.usingHardware,
                    reason: made.created.fallbackReason)
            }
        } catch {
            guard error.code == .session(.videoDecoderUnsupportedDataFormat) else { throw error }
        }
        return session
    }

    /// The decoder in this process for an item.
    private func localDecoder(of picture: PictureDescription, _ item: UInt32) throws -> any ItemDecoder {
        guard let local else { throw refusal(picture) }
        if specification[.requireHardwareDecoder] == .bool(true) {
            throw ImageError(
                .noHardware,
                "hardware is required, but item \(item) (\(picture.item.type)) is decoded in this process")
        }
        let configuration =
            Array(picture.item.type.description.utf8) + (picture.recordBytes ?? [])
            + picture.codecConfigurations.flatMap(\.fields)
        let decoder: any ItemDecoder
        if let itemDecoder, itemDecoder.key == configuration {
            decoder = itemDecoder.decoder
        } else {
            decoder = try local.decoder(picture, input.path)
            itemDecoder = (configuration, decoder)
        }
        if self.decoder == nil {
            self.decoder = Decoder(
                id: local.name, isHardware: false,
                reason: "this kind of \(picture.item.type) is decoded by \(local.name) itself")
        }
        return decoder
    }

    private func refusal(_ picture: PictureDescription) -> ImageError {
        let name = "\(input.path): item \(picture.item.id) is of type \"\(picture.item.type)\""
        guard picture.recordBytes != nil else {
            return ImageError(.unsupported, "\(name); only HEVC is decoded")
        }
        return ImageError(.unsupported, "\(name) in a format that sessions do not decode: 4:2:0 of 8 or 10 bits is")
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
        var deadline = MonotonicTime.now + sessions.maxSilence
        while true {
            try sessions.checkCancellation()
            let isFull = isFull(session)
            if let event = try session.nextEvent(timeout: isFull ? PictureSessions.pollInterval : .zero) {
                try take(event, session)
                deadline = MonotonicTime.now + sessions.maxSilence
            } else if !isFull {
                return
            } else if MonotonicTime.now > deadline {
                throw sessions.silence
            }
        }
    }

    /// Waits for the next event and takes it; returns whether everything that was sent is done.
    private func takeEvent(_ session: DecompressionSession) throws -> Bool {
        let deadline = MonotonicTime.now + sessions.maxSilence
        while MonotonicTime.now < deadline {
            try sessions.checkCancellation()
            if let event = try session.nextEvent(timeout: PictureSessions.pollInterval) {
                return try take(event, session)
            }
        }
        throw sessions.silence
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
            throw ImageError(.damaged, "\(input.path): an item has several pictures")
        }
        guard !picture.flags.contains(.damaged) else { throw damaged(work.item, "its coded picture is damaged") }
        guard picture.format == key?.format else {
            throw ImageError(.fault, "the session returned \(picture.format.rawValue) pictures")
        }
        try picture.layout.validate(
            picture.format, width: Int(picture.width), height: Int(picture.height),
            poolSize: UInt64(frame.memory.bytes.count))
        try work.paint(
            CodedPlanes(
                planes: picture.layout.planes(at: base), picture.format,
                size: PixelRect(width: Int(picture.width), height: Int(picture.height))))
    }

    private func damaged(_ item: UInt32?, _ reason: String) -> ImageError {
        let name = item.map { "item \($0)" } ?? "an item"
        return ImageError(.damaged, "\(input.path): \(name) cannot be decoded: \(reason)")
    }
}

extension PictureDescription {
    /// The hvcC record of an HEVC picture; nil for other codecs.
    package var recordBytes: [UInt8]? {
        guard ["hvc1", "hev1"].contains(item.type) else { return nil }
        return try? hevc?.bytes()
    }

    /// Whether sessions decode it: 4:2:0 of 8 or 10 bits.
    package var isForSessions: Bool {
        recordBytes != nil && hevc?.chromaFormatIdc == 1 && (hevc?.bitDepthLumaMinus8 ?? 8) <= 2
    }
}
