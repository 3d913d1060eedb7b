// SPDX-License-Identifier: MIT

/// A bounded FIFO queue between threads, from the I/O thread to the codec thread.
public final class WorkQueue<Element: Sendable>: @unchecked Sendable {
    /// The result of waiting for an element.
    public enum Popped: Sendable {
        /// The oldest element.
        case element(Element)
        /// The timeout passed.
        case timedOut
        /// The queue is closed and empty.
        case closed
    }

    /// The most elements that the queue holds.
    public let capacity: Int
    private let lock = Lock()
    private var elements: [Element?] = []
    private var first = 0
    private var held = 0
    private var isClosed = false

    /// Creates an empty queue for `capacity` elements, at least 1.
    public init(capacity: Int) {
        self.capacity = max(1, capacity)
        elements = Array(repeating: nil, count: self.capacity)
    }

    /// The number of elements in the queue.
    public var count: Int {
        lock.lock()
        defer { lock.unlock() }
        return held
    }

    /// Adds an element without waiting; false if the queue is full or closed.
    ///
    /// - Parameter merge: adds it to the newest element that waits, and returns whether it did.
    public func push(_ element: Element, merge: (inout Element) -> Bool = { _ in false }) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard !isClosed else { return false }
        let last = (first + held + capacity - 1) % capacity
        if held > 0, var newest = elements[last] {
            let isMerged = merge(&newest)
            elements[last] = newest
            if isMerged { return true }
        }
        guard held < capacity else { return false }
        elements[(first + held) % capacity] = element
        held += 1
        lock.signal()
        return true
    }

    /// Removes the oldest element and waits up to `timeout` for one; nil waits forever.
    ///
    /// After `close`, the remaining elements are returned before `closed`.
    public func pop(timeout: Duration? = nil) -> Popped {
        let deadline = timeout.map { MonotonicTime.now + $0 }
        lock.lock()
        defer { lock.unlock() }
        while held == 0 {
            if isClosed { return .closed }
            if !lock.wait(until: deadline), held == 0 { return isClosed ? .closed : .timedOut }
        }
        guard let element = takeFirst() else { return .closed }
        return .element(element)
    }

    /// Removes all elements and returns them in order, for a session that was invalidated.
    public func removeAll() -> [Element] {
        lock.lock()
        defer { lock.unlock() }
        var all: [Element] = []
        while held > 0, let element = takeFirst() { all.append(element) }
        return all
    }

    /// Refuses further elements and wakes every waiting thread.
    public func close() {
        lock.lock()
        isClosed = true
        lock.broadcast()
        lock.unlock()
    }

    private func takeFirst() -> Element? {
        let element = elements[first]
        elements[first] = nil
        first = (first + 1) % capacity
        held -= 1
        return element
    }
}
