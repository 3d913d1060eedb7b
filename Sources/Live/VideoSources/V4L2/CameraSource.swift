// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLinux
internal import CHWDV4L2
internal import Glibc
package import HWDCapturing
package import HWDControlCommands
internal import HWDModel
internal import HWDTransport
internal import Synchronization

/// A camera of Video4Linux2.
package final class CameraSource: CaptureSource {
    package let format: CaptureFormat
    private let device: CameraDevice
    private let setting: CameraSetting
    private let buffers: CameraBuffers
    private let jpeg: MotionJPEG?
    private let silence: Duration
    /// A descriptor that becomes readable when the source shall stop.
    private let wake: OwnedFD
    private let isStopping = Atomic<Bool>(false)
    private let thread = Mutex<HWDTransport.Thread?>(nil)

    /// Opens a camera and sets what it sends.
    ///
    /// - Parameters:
    ///   - path: its device node.
    ///   - size: in pixels; nil for the largest up to 1920x1080. The nearest that there is is taken.
    ///   - rate: frames per second that are wanted.
    ///   - codecs: what the camera codes itself, one of which is to be copied, HEVC first; none for pictures.
    ///   - silence: how long nothing may come before the source ends.
    /// - Throws: a failure with the exit code of its cause.
    package init(
        path: String, size: (width: Int, height: Int)? = nil, rate: Double = 30, codecs: [CaptureCodec] = [],
        silence: Duration = .seconds(5)
    ) throws(CommandFailure) {
        device = try CameraDevice(path: path)
        let (modes, others) = device.modes(nearSize: size)
        guard let mode = CameraMode.best(of: modes, size: size, rate: rate, codecs: codecs) else {
            let names = Set(modes.map(\.fourcc)).sorted() + others
            let isCoded = CameraMode.best(of: modes, size: size, rate: rate, codecs: [.hevc, .h264]) != nil
            throw CommandFailure(
                codecs.isEmpty ? .badInput : .usage,
                "\(path) has no format that "
                    + (codecs.isEmpty
                        ? "can be recorded" : "is \(codecs.map(\.rawValue).joined(separator: " or "))")
                    + (names.isEmpty ? "" : ": it has \(names.joined(separator: ", "))")
                    + (codecs.isEmpty && isCoded ? "; --copy records what it codes itself" : ""))
        }
        setting = try device.set(mode)
        self.silence = silence
        var content: CaptureFormat.Content
        switch setting.content {
        case .raw(let format): content = .raw(pixelFormat: format.pixelFormat.rawValue)
        case .jpeg: content = .raw(pixelFormat: PixelFormat.yu12.rawValue)
        case .coded(let codec): content = .coded(codec)
        }
        jpeg = setting.content == .jpeg ? try MotionJPEG(width: setting.width, height: setting.height) : nil
        format = CaptureFormat(
            content, width: setting.width, height: setting.height, rate: setting.rate ?? mode.rate,
            primaries: setting.color.primaries, transfer: setting.color.transfer, matrix: setting.color.matrix,
            isFullRange: setting.color.isFullRange)
        buffers = try CameraBuffers(device)
        let number = chwd_eventfd()
        guard number >= 0 else { throw CommandFailure(.tryLater, "the limit of open files is reached") }
        wake = OwnedFD(number)
    }

    deinit { stop() }

    package func start(_ sink: any CaptureSink) throws(CommandFailure) {
        let pixels: RawPictures?
        if case .raw(let format) = setting.content {
            pixels = RawPictures(format, width: setting.width, height: setting.height)
        } else {
            pixels = nil
        }
        stop()
        drain()
        isStopping.store(false, ordering: .releasing)
        for index in 0..<buffers.count { try buffers.queue(index) }
        let result = hwd_v4l2_start(device.number)
        guard result >= 0 else { throw CameraDevice.failure(device.path, "cannot be started", result) }
        do {
            let loop = Loop(pixels: pixels, sink: sink)
            let started = try Thread.spawn(name: "camera") { [self] in
                let end = run(loop)
                _ = hwd_v4l2_stop(device.number)
                if let end { sink.ended(end) }
            }
            thread.withLock { $0 = started }
        } catch {
            _ = hwd_v4l2_stop(device.number)
            throw CommandFailure(.tryLater, "a thread for the camera: \(error)")
        }
    }

    package func stop() {
        isStopping.store(true, ordering: .releasing)
        var one: UInt64 = 1
        _ = write(wake.rawValue, &one, 8)
        // The thread itself may be the last that holds the source.
        thread.withLock { held in
            defer { held = nil }
            return held
        }?.join()
    }

    /// Bytes of parameter sets at most.
    private static let greatestHeader = 64 << 10

    /// Forgets an earlier call of `stop`.
    private func drain() {
        var count: UInt64 = 0
        _ = read(wake.rawValue, &count, 8)
    }

    // MARK: - The thread

    private final class Loop: @unchecked Sendable {
        let pixels: RawPictures?
        let sink: any CaptureSink
        var clock = SourceClock()
        /// Parameter sets that came in a buffer of their own, for the next access unit.
        var header: [UInt8] = []

        init(pixels: RawPictures?, sink: any CaptureSink) { (self.pixels, self.sink) = (pixels, sink) }
    }

    /// Sends frames to the sink.
    ///
    /// - Returns: why there are no more; nil where the source was stopped.
    private func run(_ loop: Loop) -> CaptureEnd? {
        var deadline = MonotonicTime.now + silence
        while !isStopping.load(ordering: .acquiring) {
            var waits = [
                pollfd(fd: device.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.rawValue, events: Int16(POLLIN), revents: 0),
            ]
            let ready = poll(&waits, 2, MonotonicTime.pollTimeout(until: deadline))
            if ready < 0, errno != EINTR { return .failed("waiting for \(device.path) failed") }
            var wasSent = false
            if ready > 0, waits[0].revents != 0 {
                var frame = hwd_v4l2_frame()
                switch hwd_v4l2_dequeue(device.number, &frame) {
                case 0:
                    let (isWhole, end) = take(frame, loop)
                    if let end { return end }
                    wasSent = isWhole
                case -EAGAIN, -EIO:
                    // A driver that reports an error, but no reason: it is asked again, though not without a pause.
                    if waits[0].revents & Int16(POLLIN) == 0 { _ = poll(&waits[1], 1, 10) }
                case let result: return end(result)
                }
            }
            if wasSent {
                deadline = MonotonicTime.now + silence
            } else if ready >= 0, MonotonicTime.now >= deadline {
                // Only once the device was asked: a process that was stopped for longer finds its pictures there.
                return .failed("\(device.path) sent no picture for \(silence.components.seconds) s")
            }
        }
        return nil
    }

    /// The end for a failed request.
    ///
    /// A FUSE server's end is that of its device.
    private func end(_ result: Int32) -> CaptureEnd {
        switch -result {
        case ENODEV, ENXIO, ENOTCONN, ECONNABORTED: return .gone("\(device.path) was unplugged")
        default: return .failed(CameraDevice.failure(device.path, "failed", result).reason)
        }
    }

    private func take(_ frame: hwd_v4l2_frame, _ loop: Loop) -> (wasSent: Bool, CaptureEnd?) {
        let arrival = Int64(clamping: MonotonicTime.now.nanoseconds)
        guard let bytes = buffers.take(frame.index, count: frame.bytes) else {
            return (false, .failed("\(device.path) answers with a buffer that it does not have"))
        }
        let time = loop.clock.time(stated: frame.is_timed ? frame.time : nil, arrival: arrival)
        let number = UInt64(frame.sequence)
        var isDamaged = frame.is_damaged || bytes.isEmpty
        // A failed request to take the buffer back ends the source, but not before this picture.
        var result: CaptureEnd??
        if !isDamaged {
            switch setting.content {
            case .raw:
                // The number counts only once it is known that the picture is whole.
                var clock = loop.clock
                let sequence = clock.number(number, bits: 32)
                if loop.pixels?.send(bytes, stride: setting.stride, to: loop.sink, at: time, sequence: sequence)
                    ?? false
                {
                    loop.clock = clock
                } else {
                    isDamaged = true
                }
            case .jpeg:
                guard let jpeg, jpeg.load(bytes) else { return (false, .failed("out of memory for a picture")) }
                result = .some(queue(frame.index))
                switch jpeg.send(to: loop.sink, at: { (time, loop.clock.number(number, bits: 32)) }) {
                case .sent: break
                case .damaged: isDamaged = true
                case .unsupported(let what):
                    return (false, .failed("\(device.path) sends \(what), which cannot be recorded"))
                }
            case .coded(let codec):
                switch send(bytes, codec, at: time, number, loop) {
                case .sent: break
                case .header: return (false, queue(frame.index))
                case .damaged: isDamaged = true
                }
            }
        }
        if isDamaged {
            loop.clock.damaged(number, bits: 32)
            loop.sink.lost(1, at: time, cause: "damaged")
        }
        return (!isDamaged, result ?? queue(frame.index))
    }

    private enum UnitOutcome { case sent, header, damaged }

    /// Sends an access unit.
    private func send(
        _ bytes: UnsafeRawBufferPointer, _ codec: CaptureCodec, at time: UInt64, _ number: UInt64, _ loop: Loop
    ) -> UnitOutcome {
        guard let isKeyFrame = CapturedUnit.isKeyFrame(bytes, codec) else {
            guard CapturedUnit.hasParameterSets(bytes, codec),
                loop.header.count + bytes.count <= Self.greatestHeader
            else { return .damaged }
            loop.header += bytes
            // Its number is no frame's.
            loop.clock.damaged(number, bits: 32)
            return .header
        }
        let sequence = loop.clock.number(number, bits: 32)
        if loop.header.isEmpty {
            loop.sink.coded(bytes, isKeyFrame: isKeyFrame, at: time, sequence: sequence)
        } else {
            (loop.header + bytes).withUnsafeBytes {
                loop.sink.coded($0, isKeyFrame: isKeyFrame, at: time, sequence: sequence)
            }
            loop.header = []
        }
        return .sent
    }

    private func queue(_ index: UInt32) -> CaptureEnd? {
        do throws(CommandFailure) {
            try buffers.queue(Int(index))
            return nil
        } catch {
            return buffers.lastResult.map(end) ?? .failed(error.reason)
        }
    }
}

/// The mapped buffers of a device.
///
/// Used by one thread at a time.
private final class CameraBuffers: @unchecked Sendable {
    /// So many that a picture may be decoded while others are filled.
    private static let wanted: UInt32 = 8
    /// More than a driver has (`VIDEO_MAX_FRAME`).
    private static let most = 32
    private static let maxLength: UInt32 = 1 << 30

    private let device: CameraDevice
    private var memory: [UnsafeMutableRawBufferPointer] = []
    private var isQueued: [Bool] = []
    /// The error of a request that failed.
    private(set) var lastResult: Int32?

    var count: Int { memory.count }

    init(_ device: CameraDevice) throws(CommandFailure) {
        self.device = device
        let count = hwd_v4l2_allocate(device.number, Self.wanted)
        guard count >= 0 else { throw CameraDevice.failure(device.path, "has no buffers", count) }
        guard (2...Self.most).contains(Int(count)) else {
            throw CommandFailure(.ioError, "\(device.path) has \(count) buffers")
        }
        for index in 0..<UInt32(count) {
            var (offset, length): (UInt32, UInt32) = (0, 0)
            let result = hwd_v4l2_buffer(device.number, index, &offset, &length)
            guard result >= 0 else { throw CameraDevice.failure(device.path, "has no buffer \(index)", result) }
            guard length > 0, length <= Self.maxLength,
                let mapping = mmap(nil, Int(length), PROT_READ, MAP_SHARED, device.number, Int(offset)),
                mapping != MAP_FAILED
            else { throw CommandFailure(.ioError, "a buffer of \(device.path) cannot be mapped") }
            memory.append(UnsafeMutableRawBufferPointer(start: mapping, count: Int(length)))
        }
        isQueued = Array(repeating: false, count: memory.count)
    }

    deinit { for buffer in memory { munmap(buffer.baseAddress, buffer.count) } }

    /// Gives a buffer to the driver.
    func queue(_ index: Int) throws(CommandFailure) {
        let result = hwd_v4l2_queue(device.number, UInt32(index))
        lastResult = result < 0 ? result : nil
        guard result >= 0 else { throw CameraDevice.failure(device.path, "takes no buffer", result) }
        isQueued[index] = true
    }

    /// The bytes of a buffer that the driver filled, until it is queued again; no bytes where it says that there are more than the
    /// buffer holds.
    ///
    /// - Returns: nil for a buffer that the driver does not have.
    func take(_ index: UInt32, count: UInt32) -> UnsafeRawBufferPointer? {
        guard Int(index) < memory.count, isQueued[Int(index)] else { return nil }
        isQueued[Int(index)] = false
        let all = UnsafeRawBufferPointer(memory[Int(index)])
        return UnsafeRawBufferPointer(rebasing: all[..<(count > all.count ? 0 : Int(count))])
    }
}

extension CameraSource {
    /// Cameras as `hwctl capture` has them: `v4l2:/dev/video0`.
    package static var kind: CaptureKind {
        var kind = CaptureKind("v4l2", hasPart: true) { () throws(CommandFailure) in
            Camera.all().map { camera in
                let formats = camera.modes.map { mode in
                    "\(mode.fourcc) \(mode.width)x\(mode.height)" + (mode.rate.map { " \($0.text)" } ?? "")
                }
                return CaptureListing(
                    name: "v4l2:\(camera.path)", description: camera.name, formats: formats + camera.otherFormats,
                    recorded: (camera.hasPictures ? ["hevc"] : []) + camera.codecs.map { "\($0.rawValue) (--copy)" }
                )
            }
        } open: { request throws(CommandFailure) in
            try CameraSource(
                path: request.part, size: request.size, rate: request.rate?.perSecond ?? 30,
                codecs: request.copies ? [.hevc, .h264] : [])
        }
        (kind.comesBack, kind.hasCoded) = (true, true)
        return kind
    }
}

extension CaptureRate {
    /// "30", or "29.97".
    fileprivate var text: String {
        if numerator % denominator == 0 { return "\(numerator / denominator)" }
        let hundredths = Int((perSecond * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
