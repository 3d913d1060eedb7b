// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDaemon
import Glibc
import Testing

extension EndToEnd {
    /// The C library of Clients/c, as an app calls it.
    @Suite struct CLibrary {
        /// The cause of the last failure.
        private var lastError: String { String(cString: hwd_last_error()) }

        @Test("The C library encodes frames of its own memory")
        func compression() throws {
            let server = try TestDaemon()
            var daemon: OpaquePointer?
            try #require(hwd_open(server.socket, 0, &daemon) == 0, "\(lastError)")
            defer { hwd_close(daemon) }
            var config = hwd_compression_config()
            config.size = MemoryLayout<hwd_compression_config>.size
            (config.width, config.height, config.pixel_format) = (64, 48, 0x3231_564E)
            config.time_base = hwd_rational(numerator: 1, denominator: 30)
            var session: OpaquePointer?
            try #require(hwd_compression_create(daemon, &config, &session) == 0, "\(lastError)")
            defer { hwd_destroy(session) }
            for number in 0..<12 {
                var frame = hwd_frame()
                frame.size = MemoryLayout<hwd_frame>.size
                try #require(hwd_acquire_frame(session, &frame, 10_000) == 0, "\(lastError)")
                for plane in [frame.planes.0, frame.planes.1] {
                    memset(plane.data, 16 + Int32(number) * 8, Int(plane.stride * plane.rows))
                }
                (frame.pts, frame.duration) = (Int64(number), 1)
                try #require(hwd_encode(session, &frame, 10_000) == 0, "\(lastError)")
            }
            try #require(hwd_complete(session, Int64.max, 10_000) == 0, "\(lastError)")
            #expect(try times(session) == Array(0..<12))
        }

        /// The pts of the packets up to the end, in ascending order.
        private func times(_ session: OpaquePointer?) throws -> [Int64] {
            var times: [Int64] = []
            var event = hwd_event()
            event.size = MemoryLayout<hwd_event>.size
            let limit = Int32(hangLimit.components.seconds * 1000)
            while true {
                try #require(hwd_next_event(session, &event, limit) == 1, "\(lastError)")
                if event.type == UInt32(HWD_EVENT_COMPLETED) { return times.sorted() }
                if event.type == UInt32(HWD_EVENT_PACKET) { times.append(event.pts) }
                try #require(hwd_release(session, &event) == 0, "\(lastError)")
            }
        }
    }
}
