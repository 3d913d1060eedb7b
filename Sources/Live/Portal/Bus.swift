// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDSystemd
internal import Glibc
internal import HWDTransport

/// A connection to the session bus, for one thread at a time.
///
/// It waits in `run` alone, so that each wait has an end: sd-bus's own calls wait for 25 seconds.
final class Bus: @unchecked Sendable {
    private let bus: OpaquePointer

    /// - Throws: `system` where there is no bus.
    init() throws(BusError) {
        var bus: OpaquePointer?
        let result = sd_bus_open_user(&bus)
        guard result >= 0, let bus else { throw .system(-result) }
        self.bus = bus
    }

    // Without a flush, which would wait for the bus.
    deinit { sd_bus_close_unref(bus) }

    /// The name of this connection, once something was received.
    var uniqueName: String? {
        var name: UnsafePointer<CChar>?
        guard sd_bus_is_ready(bus) > 0, sd_bus_get_unique_name(bus, &name) >= 0 else { return nil }
        return name.map { String(cString: $0) }
    }

    /// A call without arguments.
    func call(
        _ member: String, of interface: String, at path: String, _ destination: String
    ) throws(BusError) -> BusMessage {
        var message: OpaquePointer?
        let result = sd_bus_message_new_method_call(bus, &message, destination, path, interface, member)
        guard result >= 0, let message else { throw .system(-result) }
        return BusMessage(adopting: message)
    }

    /// Sends a call and waits for its reply.
    /// - Throws: `refused` for a reply that is an error; `silent` at the deadline.
    func send(_ call: BusMessage, until deadline: MonotonicTime) throws(BusError) -> BusMessage {
        final class Reply { var message: BusMessage? }
        let reply = Reply()
        let slot = try BusSlot {
            reply.message = reply.message ?? $0
        } register: { slot, context in
            sd_bus_call_async(bus, slot, call.pointer, receive, context, .max)
        }
        defer { withExtendedLifetime(slot) {} }
        try run(until: deadline) { reply.message != nil }
        guard let message = reply.message else { throw .silent }
        if let error = message.error { throw error }
        return message
    }

    /// Calls `body` with each signal of an object, as long as what is returned exists.
    /// - Parameter sender: a unique name, which no other process has.
    func watch(
        _ member: String, of interface: String, at path: String, _ sender: String,
        _ body: @escaping (BusMessage) -> Void
    ) throws(BusError) -> BusSlot {
        try BusSlot(body) { slot, context in
            sd_bus_match_signal_async(bus, slot, sender, path, interface, member, receive, nil, context)
        }
    }

    /// Calls `body` when the process of a unique name ends.
    func watchEnd(of name: String, _ body: @escaping () -> Void) throws(BusError) -> BusSlot {
        let rule =
            "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
            + "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'"
        // Any process can send this one a signal; only the bus sends with this name.
        return try BusSlot { message in
            if message.sender == "org.freedesktop.DBus" { body() }
        } register: { slot, context in
            sd_bus_add_match_async(bus, slot, rule, receive, nil, context)
        }
    }

    /// Handles what comes until `isDone`.
    ///
    /// - Parameters:
    ///   - deadline: nil to wait without an end.
    ///   - wake: a descriptor whose data has `isDone` called.
    /// - Throws: `silent` at the deadline; `system` where the connection ends.
    func run(until deadline: MonotonicTime?, wake: Int32 = -1, _ isDone: () -> Bool) throws(BusError) {
        while !isDone() {
            let result = sd_bus_process(bus, nil)
            guard result >= 0 else { throw .system(-result) }
            if isDone() { return }
            // Also where messages come without end.
            if let deadline, MonotonicTime.now >= deadline { throw .silent }
            if result == 0 { wait(until: deadline, wake) }
        }
    }

    private func wait(until deadline: MonotonicTime?, _ wake: Int32) {
        let (file, events) = (sd_bus_get_fd(bus), sd_bus_get_events(bus))
        // The connection has ended, as the next call says.
        guard file >= 0, events >= 0 else { return }
        var end = deadline
        var microseconds = UInt64.max
        if sd_bus_get_timeout(bus, &microseconds) > 0, microseconds < .max / 1000 {
            let own = MonotonicTime(nanoseconds: microseconds * 1000)
            end = deadline.map { min($0, own) } ?? own
        }
        var entries = [
            pollfd(fd: file, events: Int16(truncatingIfNeeded: events), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&entries, 2, MonotonicTime.pollTimeout(until: end))
    }
}

/// What is called with messages, as long as this object exists.
final class BusSlot {
    private var slot: OpaquePointer?
    private let body: (BusMessage) -> Void

    /// - Parameter register: asks sd-bus to call `receive` with the context.
    fileprivate init(
        _ body: @escaping (BusMessage) -> Void,
        register: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32
    ) throws(BusError) {
        self.body = body
        var slot: OpaquePointer?
        let result = register(&slot, Unmanaged.passUnretained(self).toOpaque())
        guard result >= 0 else { throw .system(-result) }
        self.slot = slot
    }

    deinit { sd_bus_slot_unref(slot) }

    fileprivate func take(_ message: BusMessage) { body(message) }
}

/// Hands a message to the slot that is the context.
private func receive(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let context, let message = sd_bus_message_ref(message) else { return 0 }
    Unmanaged<BusSlot>.fromOpaque(context).takeUnretainedValue().take(BusMessage(adopting: message))
    return 0
}
