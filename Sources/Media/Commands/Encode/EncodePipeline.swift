// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The loop of `hwctl encode`: frames from the source to the session, packets from the session to the writer.
final class EncodePipeline {
    private let source: any VideoSource
    private let path: String
    private let session: CompressionSession
    private let sender: FrameSender
    /// Nil in the first of two passes, whose packets are not kept.
    private let writer: MediaWriter?
    private let keepsPartial: Bool
    /// The segment that is encoded; nil for a whole video.
    var segment: SegmentWork?

    private var isInputDone = false
    private var isCompleted = false
    /// Why the input ended early, if the frames before that are kept.
    private(set) var earlyEnd: EarlyEnd?
    private(set) var packets = 0
    private(set) var videoBytes = 0

    /// - Parameter path: the input's, for errors.
    init(
        _ source: any VideoSource, path: String, _ session: CompressionSession, _ sender: FrameSender,
        _ writer: MediaWriter?, keepsPartial: Bool
    ) {
        self.source = source
        self.path = path
        self.session = session
        self.sender = sender
        self.writer = writer
        self.keepsPartial = keepsPartial
    }

    /// Runs until the session has coded every frame.
    func run(_ progress: inout Progress, _ interruption: Interruption) throws {
        let before = progress.done
        while !isCompleted {
            if interruption.isSet { throw CommandFailure.interrupted }
            try feed()
            try drain(isInputDone || sender.isFull ? waitForEvent(interruption) : nil)
            progress.update(done: before + packets, bytes: writer == nil ? nil : videoBytes)
        }
        guard packets > 0 else {
            throw earlyEnd?.error ?? MediaError(.badInput, "\(path) has no frames")
        }
    }

    /// The next event; nil if a frame can be sent before one comes.
    private func waitForEvent(_ interruption: Interruption) throws -> CompressionSession.Event? {
        try session.waitForEvent(unless: interruption) { !isInputDone && !sender.isFull }
    }

    /// Reads and sends one item of the input, if there is room for it.
    private func feed() throws {
        guard !isInputDone, !sender.isBusy, try !sender.sendWaiting() else { return }
        switch try nextItem() {
        case .frame(let frame)?: try sender.send(frame)
        case .packet(let packet)?: try writer?.write(copied: packet)
        case nil:
            isInputDone = true
            try session.complete()
        }
    }

    /// The next item; an error after which the frames before it are kept counts as the end.
    private func nextItem() throws -> MediaReader.Item? {
        do {
            return try source.next()
        } catch let error as MediaError {
            earlyEnd = EarlyEnd(error, keepsPartial: keepsPartial, frames: source.report.frames)
            guard earlyEnd != nil else { throw error }
            return nil
        }
    }

    /// Handles `first` and every event that has already arrived.
    private func drain(_ first: CompressionSession.Event?) throws {
        var first = first
        while let event = try first ?? session.nextEvent(timeout: .zero) {
            first = nil
            switch event {
            case .formatDescription(let record): try writer?.change(to: TrackConfiguration(hvcC: record))
            case .frameReleased(let frameID): try sender.release(frameID)
            case .packet(let packet):
                let description = packet.description
                try writer?.write(
                    packet.bytes, pts: description.pts, dts: description.dts, duration: description.duration,
                    isSync: description.flags.contains(.sync))
                segment?.add(packet.bytes)
                try session.release(packet)
                packets += 1
                videoBytes += Int(description.size)
            case .completed: isCompleted = true
            }
        }
    }
}
