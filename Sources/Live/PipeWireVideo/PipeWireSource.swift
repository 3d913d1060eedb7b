// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPipeWire
internal import CHWDRawPictures
internal import Glibc
package import HWDCapturing
package import HWDControlCommands
internal import HWDModel
internal import HWDTransport
internal import HWDVideoSources

/// Video of a node of PipeWire: a camera, a screen of the portal, or another program.
package final class PipeWireSource: CaptureSource, @unchecked Sendable {
    package let format: CaptureFormat
    /// The node's; empty for one without a name.
    private let name: String
    private let video: OpaquePointer
    private let silence: Duration
    /// What the calls use, which do not overlap; the stream has its address.
    private var receiver: Receiver?

    /// Connects to a node.
    ///
    /// - Parameters:
    ///   - node: its name, serial or id.
    ///   - isByName: whether `node` is a name, and neither a serial nor an id.
    ///   - size: in pixels, which the node sends if it can; nil where it does not matter.
    ///   - rate: frames per second, as `size`.
    ///   - silence: how long nothing may come before the source ends.
    /// - Throws: a failure with the exit code of its cause.
    package convenience init(
        node: String, isByName: Bool = false, size: (width: Int, height: Int)? = nil, rate: CaptureRate? = nil,
        silence: Duration = .seconds(5)
    ) throws(CommandFailure) {
        let found = try PipeWireNode.named(node, isByName: isByName)
        let request = hwd_pw_video_request(
            width: UInt32(clamping: size?.width ?? 0), height: UInt32(clamping: size?.height ?? 0),
            rate: UInt32(clamping: rate?.numerator ?? 0), per: UInt32(clamping: rate?.denominator ?? 1))
        try self.init(
            file: -1, serial: found.serial, id: found.id, name: found.name, request: request, silence: silence)
    }

    /// Connects to a node by the connection that a portal opened.
    ///
    /// - Parameters:
    ///   - file: the connection, which this owns from now on.
    ///   - nodeID: the id that the portal gave.
    ///   - silence: how long the first picture may take, which comes when something changes.
    /// - Throws: a failure with the exit code of its cause.
    package convenience init(
        file: Int32, nodeID: UInt32, silence: Duration = .seconds(30)
    ) throws(CommandFailure) {
        try self.init(
            file: file, serial: 0, id: nodeID, name: "\(nodeID) of the portal", request: hwd_pw_video_request(),
            silence: silence)
    }

    private init(
        file: Int32, serial: UInt64, id: UInt32, name: String, request: hwd_pw_video_request, silence: Duration
    ) throws(CommandFailure) {
        var error: Int32 = 0
        guard let video = hwd_pw_video_open(file, serial, id, request, &error) else {
            throw PipeWireNode.failure(-error)
        }
        var negotiated = hwd_pw_video_format()
        switch hwd_pw_video_wait(video, min(silence, .seconds(5)).milliseconds, &negotiated) {
        case 0: break
        case -ETIMEDOUT:
            hwd_pw_video_close(video)
            throw CommandFailure(
                .unavailable, "the PipeWire node \(name) has no format that can be recorded, or does not answer")
        default:
            hwd_pw_video_close(video)
            throw CommandFailure(.unavailable, "the PipeWire node \(name) refused the connection")
        }
        (self.video, self.silence, self.name) = (video, silence, name)
        format = CaptureFormat(negotiated)
    }

    deinit { hwd_pw_video_close(video) }

    package func start(_ sink: any CaptureSink) throws(CommandFailure) {
        stop()
        let receiver = Receiver(sink, known: format)
        self.receiver = receiver
        let events = hwd_pw_video_events(
            context: Unmanaged.passUnretained(receiver).toOpaque(),
            formatted: { context, format in
                guard let context, let format else { return }
                Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue().take(format.pointee)
            },
            frame: { context, frame in
                guard let context, let frame else { return false }
                return Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue().take(frame.pointee)
            },
            ended: { context, hasFailed, reason in
                guard let context, let reason else { return }
                let text = String(cString: reason)
                Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue().end(
                    hasFailed ? .failed(text) : .gone(text))
            })
        hwd_pw_video_start(video, events, silence.milliseconds)
    }

    package func stop() { hwd_pw_video_stop(video) }

    /// Ends the source, for what another than PipeWire says; from any thread.
    package func end(_ reason: String) { hwd_pw_video_end(video, reason) }
}

extension PipeWireSource {
    /// Nodes as `hwctl capture` has them: `pipewire:NODE`.
    package static var kind: CaptureKind {
        var kind = CaptureKind("pipewire", hasPart: true) { () throws(CommandFailure) in
            try PipeWireNode.all().map { node in
                let name = node.name.isEmpty ? String(node.serial) : node.name
                return CaptureListing(
                    name: "pipewire:\(name)", description: node.description, formats: ["as the node sends"])
            }
        } open: { request throws(CommandFailure) in
            try PipeWireSource(
                node: request.part, isByName: request.isByName, size: request.size, rate: request.rate)
        }
        kind.comesBack = true
        // Another node may get its id, and it gets another serial.
        kind.again = { request, source throws(CommandFailure) in
            guard let name = (source as? PipeWireSource)?.name, !name.isEmpty else {
                throw CommandFailure(
                    .usage,
                    "--reconnect finds a PipeWire node again by its name, and the node \(request.part) has none")
            }
            var again = request
            (again.part, again.isByName) = (name, true)
            return again
        }
        return kind
    }
}

/// Takes a stream's calls, one at a time.
private final class Receiver: @unchecked Sendable {
    private let sink: any CaptureSink
    private var format: CaptureFormat
    private var pictures: RawPictures?
    private var layout = HWD_RAW_NV12
    private var clock = SourceClock()
    private var steps = FrameSteps()

    init(_ sink: any CaptureSink, known: CaptureFormat) { (self.sink, format) = (sink, known) }

    func take(_ negotiated: hwd_pw_video_format) {
        let raw = RawFormat(negotiated.kind)
        layout = raw.layout
        pictures = RawPictures(raw, width: Int(negotiated.width), height: Int(negotiated.height))
        let new = CaptureFormat(negotiated)
        steps = FrameSteps(rate: new.rate)
        guard new != format else { return }
        format = new
        sink.changed(new)
    }

    /// Takes a frame; false for one that is not usable.
    func take(_ frame: hwd_pw_video_frame) -> Bool {
        guard frame.count > 0 || frame.is_damaged else {
            if frame.has_header { clock.damaged(frame.sequence) }
            return false
        }
        let time = clock.time(
            stated: frame.time == 0 ? nil : frame.time, arrival: Int64(clamping: MonotonicTime.now.nanoseconds))
        var next = clock
        let number = frame.has_header ? next.number(frame.sequence) : nil
        if !frame.is_damaged, send(frame, at: time, number) {
            clock = next
            // Only times of the source are steady enough to say that it sent less than it should.
            if frame.has_header, let missed = steps.add(time, number) {
                sink.lost(missed.count, at: missed.time, cause: "not-sent")
            }
            return true
        }
        if frame.has_header { clock.damaged(frame.sequence) }
        sink.lost(1, at: time, cause: "damaged")
        return false
    }

    private func send(_ frame: hwd_pw_video_frame, at time: UInt64, _ number: UInt64?) -> Bool {
        guard let pictures else { return false }
        guard frame.count == 1 else {
            guard Int(frame.count) == hwd_raw_plane_count(layout) else { return false }
            var source = hwd_raw_source()
            (source.base, source.size, source.stride) = (frame.data, frame.size, frame.stride)
            return pictures.send(source, to: sink, at: time, sequence: number)
        }
        let bytes = UnsafeRawBufferPointer(start: frame.data.0, count: Int(clamping: frame.size.0))
        return pictures.send(bytes, stride: frame.stride.0, to: sink, at: time, sequence: number)
    }

    func end(_ end: CaptureEnd) { sink.ended(end) }
}

extension RawFormat {
    fileprivate init(_ kind: hwd_pw_video_kind) {
        switch kind {
        case HWD_PW_I420: self.init(HWD_RAW_YU12, .yu12)
        case HWD_PW_P010: self.init(HWD_RAW_P010, .p010)
        case HWD_PW_YUY2: self.init(HWD_RAW_YUYV, .nv12)
        case HWD_PW_UYVY: self.init(HWD_RAW_UYVY, .nv12)
        case HWD_PW_BGRX: self.init(HWD_RAW_RGBX, .bgra8)
        case HWD_PW_RGBX: self.init(HWD_RAW_RGBX, .rgba8)
        default: self.init(HWD_RAW_NV12, .nv12)
        }
    }
}

extension CaptureFormat {
    /// A format by the numbers of spa/param/video/color.h, as code points of H.273; what is not known there is left out.
    fileprivate init(_ format: hwd_pw_video_format) {
        let raw = RawFormat(format.kind)
        let isRGB = raw.pixelFormat.isRGB
        let primaries: [UInt32: Int] = [1: 1, 3: 5, 4: 6, 7: 9]
        let transfers: [UInt32: Int] = [5: 1, 7: 13, 11: 15, 14: 16, 15: 18]
        let matrices: [UInt32: Int] = [3: 1, 4: 6, 6: 9]
        self.init(
            .raw(pixelFormat: raw.pixelFormat.rawValue), width: Int(format.width), height: Int(format.height),
            rate: format.rate == 0 ? nil : CaptureRate(Int(format.rate), Int(format.per)),
            primaries: primaries[format.primaries], transfer: transfers[format.transfer],
            matrix: isRGB ? nil : matrices[format.matrix], isFullRange: isRGB || format.range == 1)
    }
}

extension Duration {
    fileprivate var milliseconds: Int32 {
        Int32(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}
