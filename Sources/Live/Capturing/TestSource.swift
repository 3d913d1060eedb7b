// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
internal import HWDModel
internal import HWDTransport
internal import Synchronization

/// The pictures of the test source: NV12 with the frame's number, for programs to read.
package struct TestPicture: Sendable {
    package let width: Int
    package let height: Int
    /// Width and height of a block of the number.
    package let block: Int
    private let ramp: [UInt8]

    /// Columns and rows of blocks.
    package static let (columns, rows) = (8, 4)
    private static let (black, white): (UInt8, UInt8) = (16, 235)

    /// - Precondition: 64 pixels at least in both directions.
    package init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        block = min(32, width / Self.columns, height / Self.rows / 2) & ~1
        // Up and down in 256 steps, so that rows are parts of it.
        ramp = (0..<width + 512).map { UInt8(56 + abs($0 % 256 - 128)) }
    }

    /// Paints a frame.
    /// - Parameter flashes: whether the bar at the right is white.
    package func paint(
        _ number: UInt32, flashes: Bool, luma: UnsafeMutableRawBufferPointer, chroma: UnsafeMutableRawBufferPointer
    ) {
        ramp.withUnsafeBytes { ramp in
            for row in 0..<height {
                let begin = (row + 2 * Int(number % 128)) % 256
                UnsafeMutableRawBufferPointer(rebasing: luma[row * width..<(row + 1) * width]).copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: ramp[begin..<begin + width]))
            }
        }
        let bar = width / 16
        fill(luma, x: width - bar, y: 0, width: bar, height: height, flashes ? Self.white : Self.black)
        for bit in 0..<Self.columns * Self.rows {
            let isSet = number >> UInt32(Self.columns * Self.rows - 1 - bit) & 1 == 1
            fill(
                luma, x: bit % Self.columns * block, y: bit / Self.columns * block, width: block, height: block,
                isSet ? Self.white : Self.black)
        }
        chroma.initializeMemory(as: UInt8.self, repeating: 128)
    }

    private func fill(
        _ luma: UnsafeMutableRawBufferPointer, x: Int, y: Int, width: Int, height: Int, _ value: UInt8
    ) {
        for row in y..<y + height {
            let start = row * self.width + x
            UnsafeMutableRawBufferPointer(rebasing: luma[start..<start + width])
                .initializeMemory(as: UInt8.self, repeating: value)
        }
    }
}

/// Numbered frames at a rate by the clock.
package final class TestSource: CaptureSource {
    package let format: CaptureFormat
    private let rate: CaptureRate
    private let begin = Mutex<UInt64?>(nil)
    private let stopping = Mutex(false)
    private let thread = Mutex<Thread?>(nil)
    private let wake: EventFD

    /// The kind `test`.
    package static let kind = CaptureKind(
        "test",
        list: { () throws(CommandFailure) in
            [
                CaptureListing(
                    name: "test", description: "numbered frames by the clock, of any size and rate",
                    formats: ["NV12 1280x720 30"])
            ]
        },
        open: { (request) throws(CommandFailure) in try TestSource(request) })

    package init(_ request: CaptureRequest) throws(CommandFailure) {
        rate = request.rate ?? CaptureRate(30)
        format = CaptureFormat(
            .raw(pixelFormat: "NV12"), width: request.width ?? 1280, height: request.height ?? 720, rate: rate,
            primaries: 1, transfer: 1, matrix: 1)
        do throws(SystemError) { wake = try EventFD() } catch { throw CommandFailure(.software, "\(error)") }
    }

    package func start(_ sink: any CaptureSink) throws(CommandFailure) {
        stop()
        stopping.withLock { $0 = false }
        wake.clear()
        begin.withLock { $0 = nil }
        do throws(SystemError) {
            let started = try Thread.spawn(name: "test-source") { [self] in run(sink) }
            thread.withLock { $0 = started }
        } catch { throw CommandFailure(.software, "\(error)") }
    }

    package func stop() {
        stopping.withLock { $0 = true }
        wake.signal()
        let started = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        started?.join()
    }

    private func run(_ sink: any CaptureSink) {
        let picture = TestPicture(width: format.width, height: format.height)
        let size = picture.width * picture.height
        let chromaStride = (picture.width + 1) / 2 * 2
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: size + chromaStride * ((picture.height + 1) / 2), alignment: 64)
        defer { memory.deallocate() }
        let luma = UnsafeMutableRawBufferPointer(rebasing: memory[..<size])
        let chroma = UnsafeMutableRawBufferPointer(rebasing: memory[size...])
        guard let epoll = try? Epoll(), (try? epoll.add(wake.fileDescriptor, token: 0, events: .readable)) != nil
        else { return sink.ended(.failed("the test source cannot wait")) }
        let begin = MonotonicTime.now
        self.begin.withLock { $0 = begin.nanoseconds }
        let perSecond = flashDistance
        for number in 0..<UInt64(UInt32.max) {
            let time = begin.nanoseconds + offset(number)
            // Painted ahead, so that the frame is sent at its time.
            picture.paint(
                UInt32(number), flashes: number % perSecond == 0, luma: luma, chroma: chroma)
            while MonotonicTime.now.nanoseconds < time, !stopping.withLock({ $0 }) {
                _ = try? epoll.wait(until: MonotonicTime(nanoseconds: time))
            }
            if stopping.withLock({ $0 }) { return }
            sink.frame(
                [
                    CapturePlane(UnsafeRawBufferPointer(luma), stride: picture.width),
                    CapturePlane(UnsafeRawBufferPointer(chroma), stride: chromaStride),
                ], at: time, sequence: number)
        }
        sink.ended(.finished)
    }

    /// Frames from flash to flash.
    private var flashDistance: UInt64 { max(1, UInt64(rate.perSecond.rounded())) }

    /// Clicks with the flashes.
    package var sound: any CaptureSoundSource {
        TestSound(begin: { [self] in begin.withLock { $0 } }, period: offset(flashDistance))
    }

    /// Nanoseconds from the first frame to this one.
    private func offset(_ number: UInt64) -> UInt64 {
        let (whole, part) = (number * UInt64(rate.denominator)).quotientAndRemainder(
            dividingBy: UInt64(rate.numerator))
        return whole * 1_000_000_000 + part * 1_000_000_000 / UInt64(rate.numerator)
    }
}
