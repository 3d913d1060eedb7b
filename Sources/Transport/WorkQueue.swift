// SPDX-License-Identifier: MIT

/// A bounded first-in-first-out queue between threads, from the I/O thread to the codec thread.
public final class WorkQueue<Element: Sendable>: @unchecked Sendable {
    /// What a wait for an element found.
    public enum Popped: Sendable {
        /// The oldest element.
        case element(Element)
        /// None came in time.
        case timedOut
        /// The queue is closed and empty.
        case closed
    }

    /// Elements it holds at most.
    public let capacity: Int
    private let lock = Lock()
    private var elements: [Element?] = []
    private var first = 0
    private var held = 0
    private var isClosed = false

    /// Makes an empty queue for `capacity` elements, at least 1.
    public init(capacity: Int) {
        self.capacity = max(1, capacity)
        elements = Array(repeating: nil, count: self.capacity)
    }

    /// Elements waiting now.
    public var count: Int {
        lock.lock()
        defer { lock.unlock() }
        return held
    }

    /// Adds an element without waiting; false when the queue is full or closed.
    public func push(_ element: Element) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard !isClosed, held < capacity else { return false }
        elements[(first + held) % capacity] = element
        held += 1
        lock.signal()
        return true
    }

    /// Takes the oldest element, waiting for one as long as `timeout` (nil: for ever).
    ///
    /// After `close` what was pushed before still comes out, then `closed`.
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

    /// Takes back everything that waits, in order: what an invalidated session will not do any more.
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
