// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDSessions
public import HWDTransport
public import HWDWire

/// Handles the client's messages in one kind of session; called on the I/O thread only.
///
/// `SessionPort` has checked a message's sender, kind of session and descriptors, and handles the messages that all
/// kinds of session share.
public protocol SessionHandler: AnyObject {
    var port: SessionPort { get }

    /// Called once, before the first message of the client is handled.
    ///
    /// Nothing may be sent earlier: the client could read it together with the Create reply, before it knows that the
    /// connection has changed its protocol.
    func sessionBegan()

    /// Sets properties, all or none; a failure is answered.
    func setProperties(_ values: [String: PropertyValue]) throws(SessionError)

    /// Returns the values of properties, of all that have one when `names` is empty; a failure is answered.
    func copyProperties(_ names: [String]) throws(SessionError) -> [String: PropertyValue]

    /// How a pool that the client registers is mapped.
    func access(to pool: borrowing OwnedFD) -> SharedMemory.Access

    /// Whether a pool holds something in flight, so that it cannot be removed.
    func isUsing(pool id: UInt32) -> Bool

    /// Called when the client has removed a pool.
    func didRemove(_ pool: SharedMemory)

    /// Handles a message of this kind of session.
    ///
    /// A failure ends the session or is answered, as `opcode.failure` says; in the latter case the port sends the
    /// reply of a success as well.
    func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ pools: PoolLedger<SharedMemory>
    ) throws(SessionError)
}

extension SessionHandler {
    public func sessionBegan() {}

    public func access(to pool: borrowing OwnedFD) -> SharedMemory.Access { .readOnly }

    public func didRemove(_ pool: SharedMemory) {}

    /// Sends a message from any thread; a client that is gone or does not read ends the session.
    public func send(_ payload: some SessionPayload, fds: [Int32] = []) { port.send(payload, fds: fds) }

    /// Ends the session and the process, from any thread.
    public func end(_ status: Status, _ reason: String) -> Never { port.end(status, reason) }
}

extension WorkQueue {
    /// Queues a task of the client's.
    ///
    /// - Throws: `Parameter` when the queue is full: it holds more than the credits allow a client to send.
    public func enqueue(_ task: Element) throws(SessionError) {
        guard push(task) else { throw SessionError(.parameter, "more messages than the session allows at once") }
    }
}
