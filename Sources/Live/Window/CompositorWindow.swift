// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDWindow
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport

/// A window whose buffers are the memory of a session's pools.
final class CompositorWindow {
    enum Event: Equatable {
        case closed
        case configured(width: Int, height: Int)
        case frame
        /// Nanoseconds of CLOCK_MONOTONIC, and of a refresh; 0 where that is not known.
        case presented(time: Int64, refresh: Int64)
        case discarded
        case key(Int, withShift: Bool)
        /// Nanoseconds.
        case refresh(Int64)
    }

    private let window: OpaquePointer
    /// Pools that the compositor has mapped.
    private var pools: [(memory: SharedMemory, pool: UnsafeMutableRawPointer)] = []
    /// Buffers that the compositor reads, by their numbers.
    private var shown: [Int64: PixelBuffer] = [:]
    private var count: Int64 = 0
    private static let maxPools = 8

    /// Where a window cannot be had.
    static let alternatives =
        "hwctl decode --at writes a frame, and hwctl play --stats --headless measures without a window"

    /// Connects to the compositor of WAYLAND_DISPLAY.
    init() throws(CommandFailure) {
        var number: Int32 = 0
        guard let window = hwd_window_open(&number) else {
            let reason =
                number == EPROTO
                ? "the compositor lacks xdg-shell or wl_shm"
                : "no Wayland compositor: \(String(cString: strerror(number)))"
            throw CommandFailure(.unavailable, "\(reason); \(Self.alternatives)")
        }
        self.window = window
    }

    deinit { hwd_window_close(window) }

    /// Whether buffers may have a format.
    func hasFormat(_ format: PixelFormat) -> Bool { hwd_window_has_format(window, Self.code(format)) }

    /// wl_shm has numbers of its own for 8 bits: 0 with alpha.
    private static func code(_ format: PixelFormat) -> UInt32 { format == .bgra8 ? 0 : format.fourcc }

    var canScale: Bool { hwd_window_has_viewports(window) }
    var reportsPresentation: Bool { hwd_window_has_presentation(window) }

    func map(title: String, fullscreen: Bool) { hwd_window_map(window, title, fullscreen) }
    func setFullscreen(_ on: Bool) { hwd_window_set_fullscreen(window, on) }
    /// Rotates frames clockwise by quarter turns, 0 to 3.
    func rotate(quarters: Int) { hwd_window_rotate(window, Int32(clamping: quarters)) }
    func scale(width: Int, height: Int) {
        hwd_window_scale(window, Int32(clamping: width), Int32(clamping: height))
    }

    /// Shows a frame with the next commit; its memory stays until the compositor has released it.
    func attach(_ buffer: PixelBuffer) throws(CommandFailure) {
        guard let pool = pool(of: buffer.memory), let plane = buffer.layout.planes.first,
            let offset = Int32(exactly: plane.offset), let stride = Int32(exactly: plane.stride)
        else { throw CommandFailure(.unavailable, "the frames are too large for the compositor") }
        count += 1
        let description = hwd_window_buffer(
            offset: offset, width: Int32(buffer.width), height: Int32(buffer.height), stride: stride,
            format: Self.code(buffer.format), number: count)
        guard hwd_window_attach(window, pool, description) else {
            throw CommandFailure(.tryLater, "no memory for a window's frame")
        }
        shown[count] = buffer
        if pools.count > Self.maxPools { removePools(but: buffer.memory) }
    }

    private func pool(of memory: SharedMemory) -> UnsafeMutableRawPointer? {
        if let known = pools.first(where: { $0.memory === memory }) { return known.pool }
        guard let size = Int32(exactly: memory.size),
            let pool = hwd_window_add_memory(window, memory.file.rawValue, size)
        else { return nil }
        pools.append((memory, pool))
        return pool
    }

    /// Forgets pools of which no buffer is shown, but for the one of a frame: sessions have few, and others with each size.
    private func removePools(but memory: SharedMemory) {
        pools.removeAll { known in
            guard known.memory !== memory, !shown.values.contains(where: { $0.memory === known.memory }) else {
                return false
            }
            hwd_window_remove_memory(known.pool)
            return true
        }
    }

    /// Commits, and asks for the next `frame`.
    func commit() { hwd_window_commit(window) }

    /// What has happened, after waiting up to some milliseconds for it.
    /// - Throws: `unavailable` where the compositor is gone.
    func events(waiting milliseconds: Int) throws(CommandFailure) -> [Event] {
        guard hwd_window_wait(window, Int32(clamping: milliseconds)) else {
            let error = hwd_window_protocol_error(window)
            let code = error == 0 ? "" : ", with the protocol error \(error)"
            throw CommandFailure(.unavailable, "the compositor has closed the connection\(code)")
        }
        var (found, event): ([Event], hwd_window_event) = ([], hwd_window_event())
        while hwd_window_next(window, &event) {
            if event.kind == Int32(HWD_WINDOW_RELEASED.rawValue) { shown[event.value] = nil }
            if let event = translate(event) { found.append(event) }
        }
        return found
    }

    private func translate(_ event: hwd_window_event) -> Event? {
        switch hwd_window_event_kind(UInt32(event.kind)) {
        case HWD_WINDOW_CLOSED: .closed
        case HWD_WINDOW_CONFIGURED: .configured(width: Int(event.value), height: Int(event.other))
        case HWD_WINDOW_FRAME: .frame
        case HWD_WINDOW_PRESENTED: .presented(time: monotonic(event.time), refresh: event.value)
        case HWD_WINDOW_DISCARDED: .discarded
        case HWD_WINDOW_KEY: .key(Int(event.value), withShift: event.other != 0)
        case HWD_WINDOW_REFRESH where event.value > 0: .refresh(1_000_000_000_000 / event.value)
        default: nil
        }
    }

    /// A time of the compositor's clock, such as CLOCK_MONOTONIC_RAW, by CLOCK_MONOTONIC.
    private func monotonic(_ time: Int64) -> Int64 {
        let clock = clockid_t(bitPattern: hwd_window_clock_id(window))
        guard clock != CLOCK_MONOTONIC else { return time }
        return time &+ Self.now(CLOCK_MONOTONIC) &- Self.now(clock)
    }

    private static func now(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
