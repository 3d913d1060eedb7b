// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDPolicy
public import HWDTransport
public import HWDWire

/// Handles the client's messages of one kind of session; called on the I/O thread only.
///
/// `SessionPort` checks each message's sender, session kind and number of descriptors first, and handles the
/// messages that all kinds of session share.
public protocol SessionHandler: AnyObject {
    var port: SessionPort { get }

    /// Called once, before the first message of the client is handled.
    ///
    /// Nothing may be sent earlier: the client could read it together with the Create reply, before it knows that the
    /// connection has changed its protocol.
    func sessionBegan()

    /// Sets properties, all or none; an error becomes a failed reply.
    func setProperties(_ values: [String: PropertyValue]) throws(SessionError)

    /// Returns the values of properties, of all that have one when `names` is empty; errors become failed replies.
    func copyProperties(_ names: [String]) throws(SessionError) -> [String: PropertyValue]

    /// The access with which a pool that the client registers is mapped.
    func access(to pool: borrowing OwnedFD) -> SharedMemory.Access

    /// The frames for which the client may register pictures in dma-bufs.
    var pictureSides: [(use: AddPicture.Uses, frames: TransferSide)] { get }

    /// Whether a pool holds a frame or packet in flight and therefore cannot be removed.
    func isUsing(pool id: UInt32) -> Bool

    /// Called when the client has removed a pool.
    func didRemove(_ pool: SharedMemory)

    /// Adds a table of effects, out of memory that the client may change at any time; errors become failed replies.
    func add(_ table: AddTable, _ memory: SharedMemory) throws(SessionError)

    /// Handles a message of this kind of session.
    ///
    /// Where `opcode.failure` is `isAnswered`, the port sends the reply: after an error a failed one. Elsewhere the
    /// handler sends what answers the message, and an error ends the session.
    func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ pools: PoolLedger<SharedMemory>
    ) throws(SessionError)
}

extension SessionHandler {
    public func sessionBegan() {}

    public func access(to pool: borrowing OwnedFD) -> SharedMemory.Access { .readOnly }

    public func didRemove(_ pool: SharedMemory) {}

    public var pictureSides: [(use: AddPicture.Uses, frames: TransferSide)] { [] }

    public func add(_ table: AddTable, _ memory: SharedMemory) throws(SessionError) {
        throw SessionError(.parameter, "the session has no effects")
    }

    /// Sends a message from any thread; a client that is gone or does not read ends the session.
    public func send(_ payload: some SessionPayload, fds: [Int32] = []) { port.send(payload, fds: fds) }

    /// Ends the session and the process, from any thread.
    public func end(_ status: Status, _ reason: String) -> Never { port.end(status, reason) }
}

/// A task of the I/O thread for the codec thread.
public protocol SessionTask: Sendable {
    /// Takes over the next task; returns false, unchanged, if the two must stay apart.
    ///
    /// Credits bound the frames in flight, but not the other messages, such as completeFrames. What a client may send between
    /// two frames becomes at most two tasks.
    mutating func absorb(_ next: Self) -> Bool
}

extension SessionTask {
    /// Messages that one task answers at most.
    public static var maxReplies: Int { 1024 }

    /// The capacity of a queue for `frames` in flight: each with two tasks after it, and two before the first.
    public static func capacity(frames: Int) -> Int { 3 * frames + 2 }
}

extension WorkQueue where Element: SessionTask {
    /// Queues a task for a message of the client.
    ///
    /// - Throws: `Parameter` when the queue is full, which `SessionTask.capacity` prevents unless more than
    ///   `SessionTask.maxReplies` messages wait for one answer.
    public func enqueue(_ task: Element) throws(SessionError) {
        guard push(task, merge: { $0.absorb(task) }) else {
            throw SessionError(.parameter, "more messages than the session allows at once")
        }
    }
}
