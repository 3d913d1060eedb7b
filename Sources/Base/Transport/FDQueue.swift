// SPDX-License-Identifier: MIT
internal import HWDWire

/// The file descriptors of one received message, in sending order; the queue closes those that are not taken.
public struct FDQueue: ~Copyable {
    private var numbers = InlineArray<8, Int32>(repeating: -1)
    private var first = 0
    private var end = 0

    init(_ received: some Sequence<Int32>) {
        for number in received {
            guard end < MessageHeader.maxFDCount else {
                _ = OwnedFD(number)
                continue
            }
            numbers[end] = number
            end += 1
        }
    }

    deinit {
        for index in first..<end { _ = OwnedFD(numbers[index]) }
    }

    /// Descriptors not taken yet.
    public var count: Int { end - first }

    /// Takes the next descriptor; nil when there is none.
    public mutating func popFirst() -> OwnedFD? {
        guard first < end else { return nil }
        defer { first += 1 }
        return OwnedFD(numbers[first])
    }
}
